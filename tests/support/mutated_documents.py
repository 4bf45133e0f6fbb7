"""Files that are almost models: JSON and XML with values dropped, doubled, swapped or changed, by a seed."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import Any

from minuend.errors import MinuendError

NUMBERS = (
    "0", "1", "-1", "2", "3", "7", "64", "65", "255", "256", "4294967295", "4294967296", "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "-9223372036854775808", "1_0", "١", " 1", "1.5", "1e400", "nan",
    "inf", "9" * 5000,
)  # fmt: skip
"""Numbers at the edges, and what Python's int and float take and no format means."""

WORDS = (
    "", "x", "\x1b[31m", "a\nb", "ÿ", "\u202e", "n" * 5000, "f32", "FLOAT32", "nf4", "u1", "boolean", "string",
    "dynamic",
    "...", "?", "1..2", "5..2", "0,9223372036854775807", "9223372036854775807,9223372036854775807,0", "1,2,3",
    ",".join(["1"] * 65), ",".join(["0"] * 65), "[1,2]", "true", "pdpd", "none", "numpy", "bidirectional", "Subtract",
    "Const", "Parameter", "Result", "Reshape", "Broadcast", "Clamp", "If", "opset1", "opset99", "../x", "deferred",
)  # fmt: skip
"""Texts that mean something somewhere, and texts that mean nothing."""


def mutated_json(source: random.Random, value: Any) -> Any:
    """Change a few places of a JSON value."""
    value = copy.deepcopy(value)
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        places = list(_json_places(value))
        if not places:
            return value
        holder, key = source.choice(places)
        other_holder, other_key = source.choice(places)
        match source.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 1:
                holder[f"{key}2"] = copy.deepcopy(holder[key])
            case 2:
                one, other = copy.deepcopy(holder[key]), copy.deepcopy(other_holder[other_key])
                holder[key], other_holder[other_key] = other, one
            case 3:
                holder[key] = copy.deepcopy(other_holder[other_key])
            case _:
                holder[key] = _json_value(source)
    return value


def _json_value(source: random.Random) -> Any:
    number = source.choice(NUMBERS[:16])
    return source.choice([
        int(number), int(number), float(number), number, source.choice(WORDS), None, True, False, [], {}, [[]], [{}],
        {"": 1}, [int(number)] * 9, [1, "x"], 1e300, 5e-324, -0.0, 10**30,
    ])  # fmt: skip


def _json_places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, inner in items:
            found.append((one, key))
            waiting.append(inner)
    return found


def mutated_xml(source: random.Random, text: bytes) -> bytes:
    """Change a few elements or attributes of an XML document."""
    root = ET.fromstring(text)
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        parents = [one for one in root.iter() if len(one)]
        parent = source.choice(parents)
        at = source.randrange(len(parent))
        every = list(root.iter())
        one, other = source.choice(every), source.choice(every)
        match source.randrange(9):
            case 0:
                del parent[at]
            case 1:
                parent.insert(at, copy.deepcopy(parent[at]))
            case 2:
                parent[at] = copy.deepcopy(source.choice(every[1:]))
            case 3:
                one.tag, other.tag = other.tag, one.tag
            case 4 if one.attrib:
                del one.attrib[source.choice(list(one.attrib))]
            case 5 if one.attrib and other.attrib:
                one.attrib[source.choice(list(one.attrib))] = source.choice(list(other.attrib.values()))
            case 6:
                one.text = source.choice([*NUMBERS, *WORDS])
            case _ if one.attrib:
                one.attrib[source.choice(list(one.attrib))] = source.choice([*NUMBERS, *WORDS])
            case _:
                one.attrib["id"] = source.choice(NUMBERS)
    return ET.tostring(root)


def every_change(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a document with one change each: elements gone, doubled, moved or renamed, values written otherwise."""
    for i, one in enumerate(ET.fromstring(text).iter()):
        for what, change in (*(_ELEMENTS.items() if i else ()), *_of_values(one)):
            root = ET.fromstring(text)
            parents = {child: parent for parent in root.iter() for child in parent}
            element = list(root.iter())[i]
            change(parents.get(element, root), element)
            yield f"{what} of {one.tag} {i}", ET.tostring(root)


def _moved(parent: Any, element: Any, at: int) -> None:
    parent.remove(element)
    parent.insert(at, element)


_ELEMENTS: dict[str, Callable[[Any, Any], object]] = {
    "nothing": lambda parent, element: parent.remove(element),
    "two": lambda parent, element: parent.insert(list(parent).index(element), copy.deepcopy(element)),
    "the last": lambda parent, element: _moved(parent, element, len(parent)),
    "the first": lambda parent, element: _moved(parent, element, 0),
    "capitals": lambda parent, element: setattr(element, "tag", element.tag.upper()),
    "another name": lambda parent, element: setattr(element, "tag", "x"),
}


def _of_values(one: Any) -> Iterator[tuple[str, Callable[[Any, Any], object]]]:
    """Changes of an element's attributes and of its text."""
    for name, value in one.attrib.items():
        yield f"no {name}", lambda _, element, name=name: element.attrib.pop(name)
        yield f"capitals in {name}", lambda _, element, name=name: element.set(name.upper(), element.attrib.pop(name))
        for form in _forms(value):
            yield f"{name} {form!r}", lambda _, element, name=name, form=form: element.set(name, form)
    for form in _forms(one.text.strip()) if (one.text or "").strip() else ():
        yield f"text {form!r}", lambda _, element, form=form: setattr(element, "text", form)


def _forms(value: str) -> list[str]:
    """Other ways to write a value, some of which mean the same."""
    found = (
        value.upper(), value.lower(), value.swapcase(), value.capitalize(), f" {value}", f"{value} ", f"\t{value}\n",
        f"+{value}", f"-{value}", f"0{value}", f"{value}.0", f"{value}x", f"{value},", f",{value}", f"[{value}]",
        value * 2, value[:-1], "", "x",
    )  # fmt: skip
    return [form for form in dict.fromkeys(found) if form != value]


def mutated_bytes(source: random.Random, data: bytes) -> bytes:
    """Cut a file off, or change, drop or double some of its bytes."""
    harmed = bytearray(data)
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(harmed) + 1)
        match source.randrange(5):
            case 0:
                del harmed[at:]
            case 1:
                del harmed[at : at + source.randint(1, 40)]
            case 2:
                harmed[at:at] = harmed[at : at + source.randint(1, 40)]
            case 3:
                harmed[at:at] = source.choice(
                    [b"\0", b"\xff", b"\xef\xbb\xbf", b"<!--", b"&amp;", b"&#0;", b"[", b"{", b'"', b"\\ud800"]
                )
            case _ if at < len(harmed):
                harmed[at] = source.randrange(256)
    return bytes(harmed)


def harmed_json(source: random.Random, text: str) -> bytes:
    """A JSON text with values or bytes changed."""
    if source.random() < 0.2:
        return mutated_bytes(source, text.encode())
    return json.dumps(mutated_json(source, json.loads(text))).encode("utf-8", "surrogatepass")


def harmed_xml(source: random.Random, text: bytes) -> bytes:
    """An XML text with elements, attributes or bytes changed."""
    return mutated_bytes(source, text) if source.random() < 0.2 else mutated_xml(source, text)


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Let errors pass that this package raises on purpose, in a message that is short and that no terminal obeys."""
    try:
        yield
    except (MinuendError, OSError) as error:
        text = str(error)
        if not 0 < len(text) < 20_000 or not text.replace("\n", "").isprintable():
            raise AssertionError(f"no message for a terminal: {text[:1000]!r}") from error
