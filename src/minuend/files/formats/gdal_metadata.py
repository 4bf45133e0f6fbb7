"""GDAL's metadata of a TIFF: what its tag, and the ``.aux.xml`` beside it, say of the file and of each band.

What describes the operands' values (statistics, how they are scaled) is not of their difference. In the tag, texts are
escaped twice, as XML and by GDAL.
"""

from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape, unescape

import numpy as np

from minuend.files.base import clipped, quoted
from minuend.files.formats.cf_scaling import SCALE
from minuend.files.formats.conventions import NOT_OF_A_DIFFERENCE
from minuend.files.formats.coordinates import Attributes

WHOLE = -1
"""The band under which stands what is said of the whole file."""

_ITEM = re.compile(r"<Item\b([^<>]*)>([^<>]*)</Item>")
_STATED = re.compile(r'(\w+)="([^"]*)"')
_QUOTES = {"&quot;": '"', "&apos;": "'"}
_IN_QUOTES = {'"': "&quot;"}
_STRUCTURE = {"IMAGE_STRUCTURE", "RPC", "COLOR_PROFILE", "SUBDATASETS", "DERIVED_SUBDATASETS"}
"""Domains of what GDAL reads from other tags."""

_ROLES = {"scale": "scale_factor", "offset": "add_offset"}
_NAMED = {"unittype": "units", "description": "long_name"}
"""Roles, and the attributes of the CF conventions that say the same."""

_REFERENCES = ("coordinates", "grid_mapping")
_UNREAD = ("CategoryNames", "ColorTable", "GDALRasterAttributeTable")


class Item(NamedTuple):
    """What is said: a name in a domain, "" for GDAL's own, or a role."""

    domain: str
    name: str
    role: str = ""


Items = Mapping[Item, str]


@functools.lru_cache(maxsize=2)
def of_tag(text: str) -> dict[int, dict[Item, str]]:
    """Return what the tag says, by band; a file of many bands has one for all."""
    found: dict[int, dict[Item, str]] = {}
    for stated, value in _ITEM.findall(text):
        about = {key: unescape(one, _QUOTES) for key, one in _STATED.findall(stated)}
        item = Item(about.get("domain", ""), about.get("name", ""), about.get("role", ""))
        sample = about.get("sample", "0" if item.role in _ROLES else "")
        band = int(sample) if sample.isdigit() else WHOLE
        found.setdefault(band, {})[item] = unescape(unescape(value, _QUOTES), _QUOTES)
    return found


def of_sidecar(root: ET.Element) -> dict[int, dict[Item, str]]:
    """Return what an ``.aux.xml`` says, by band."""
    found: dict[int, dict[Item, str]] = {}
    for band, said in _bands(root):
        items = {
            Item(domain.get("domain", ""), one.get("key", "")): one.text or ""
            for domain in said.findall("Metadata")
            for one in domain.findall("MDI")
        }
        for name, role in (("UnitType", "unittype"), ("Description", "description")):
            if text := said.findtext(name):
                items[Item("", role.upper(), role)] = text
        if items:
            found[band] = items
    return found


def unread(root: ET.Element) -> tuple[str, ...]:
    """Return the names of what an ``.aux.xml`` says besides, which goes to no other file."""
    names = [name for _, said in _bands(root) for name in _UNREAD if said.find(name) is not None]
    names += [
        domain.get("domain", "")
        for _, said in _bands(root)
        for domain in said.findall("Metadata")
        if domain.get("format")
    ]
    return tuple(dict.fromkeys(names))


def _bands(root: ET.Element) -> Iterator[tuple[int, ET.Element]]:
    yield WHOLE, root
    for band in root.findall("PAMRasterBand"):
        if (number := band.get("band", "")).isdigit():
            yield int(number) - 1, band


def packing(items: Items) -> dict[str, str]:
    """Return the scale and the offset of a band, by the names of the CF conventions."""
    return {_ROLES[item.role]: text for item, text in items.items() if item.role in _ROLES}


def of_difference(items: Items) -> dict[Item, str]:
    """Return what is said of a difference too."""
    return {item: text for item, text in items.items() if _is_kept(item)}


def _is_kept(item: Item) -> bool:
    if item.domain in _STRUCTURE or item.role not in ("", *_NAMED):
        return False
    name = item.name.rpartition("#")[2]  # GDAL calls an attribute of a netCDF variable t#units
    return not (
        name.startswith(("STATISTICS_", "TIFFTAG_")) or name in NOT_OF_A_DIFFERENCE or name in (SCALE, "AREA_OR_POINT")
    )


def as_attributes(items: Items) -> dict[str, str]:
    """Return items as attributes of the CF conventions; those of other domains have no such name."""
    found = {item.name: text for item, text in items.items() if not item.domain and not item.role}
    roles = {_NAMED[item.role]: text for item, text in items.items() if item.role in _NAMED}
    return roles | found | {name: text for name, text in roles.items() if name == "units"}


def in_domains(items: Iterable[Item]) -> list[str]:
    """Return what other formats lack, in words: items of domains other than GDAL's own.

    >>> in_domains([Item("", "OWNER"), Item("OURS", "deep")])
    ["the items 'deep' of the domain 'OURS'"]
    """
    found: dict[str, list[str]] = {}
    for item in items:
        if item.domain:
            found.setdefault(item.domain, []).append(item.name)
    return [f"the items {quoted(names)} of the domain {clipped(domain)}" for domain, names in found.items()]


def of_attributes(attributes: Attributes) -> dict[Item, str]:
    """Return the items that attributes of another format become: texts, and single numbers."""
    roles = {name: role for role, name in _NAMED.items()}
    found = {}
    for name, value in attributes.items():
        if name not in _REFERENCES and not lack_of(value):
            role = roles.get(name, "")
            found[Item("", role.upper() or name, role)] = str(value)
    return of_difference(found)


def lack_of(value: object) -> str:
    """Say why an attribute of another format does not become an item: those are texts, and single numbers as such.

    >>> lack_of(4), lack_of("a text"), lack_of(""), lack_of([1, 2])
    ('', '', 'an empty text, which TIFF lacks', 'of a type that TIFF lacks')
    """
    if isinstance(value, str) and not value:
        return "an empty text, which TIFF lacks"
    return "" if isinstance(value, str | int | float | np.integer | np.floating) else "of a type that TIFF lacks"


def as_tag(said: Iterable[tuple[int, Item, str]]) -> bytes:
    """Return the tag that says what is given: the band, an item, and its text."""
    items = []
    for band, item, text in said:
        stated = {"name": item.name, "sample": "" if band == WHOLE else str(band)}
        stated |= {"domain": item.domain, "role": item.role}
        shown = "".join(f' {key}="{escape(one, _IN_QUOTES)}"' for key, one in stated.items() if one)
        items.append(f"<Item{shown}>{escape(escape(text, _IN_QUOTES))}</Item>")
    return f"<GDALMetadata>{''.join(items)}</GDALMetadata>".encode(errors="replace")
