"""What ``--as`` says: whose rules a subtraction follows, a version of a dialect and its attributes."""

from __future__ import annotations

from minuend.errors import SpecError, listed, shown
from minuend.standards.dialects import Dialect, dialect
from minuend.standards.validation import check_attributes
from minuend.standards.version import Attr, OpVersion
from minuend.text import whole_number


def parse_rules(text: str) -> tuple[OpVersion, dict[str, object]]:
    """Read ``DIALECT[:VERSION][,NAME=VALUE]…``; a bare word is the value of the attribute that has it.

    Raises:
        SpecError: no such dialect, version, attribute or value.

    >>> op, attributes = parse_rules("openvino:pdpd,axis=1")
    >>> str(op), attributes
    ('Subtract-1', {'auto_broadcast': 'pdpd', 'axis': 1})
    """
    name, colon, rest = text.partition(":")
    home = dialect(name)
    items = rest.split(",") if colon else []
    version = items.pop(0) if items and _is_version(home, items[0]) else None
    op = home.resolve(version)
    attributes: dict[str, object] = {}
    for item in items:
        key, value = _parse_item(op, home, item)
        if key in attributes:
            raise SpecError("attributes", f"--as {text} states {key!r} twice; state it once")
        attributes[key] = value
    check_attributes(op, attributes)
    return op, attributes


def _is_version(home: Dialect, word: str) -> bool:
    """Whether a first item is a version: neither name=value nor the value of an attribute."""
    values = [value for version in home.versions() for attr in version.attributes for value in attr.values]
    return "=" not in word and word.lower() not in values


def _parse_item(op: OpVersion, home: Dialect, item: str) -> tuple[str, object]:
    key, equals, value = item.partition("=")
    if equals:
        check_attributes(op, {key: None} if key not in op.attributes.names else {})
        return key, _parse_value(op, op.attributes[key], value)
    for attr in op.attributes:
        if item.lower() in attr.values:
            return attr.name, item
    words = [value for attr in op.attributes for value in attr.values if isinstance(value, str)]
    expected = listed([f"the {home.counted} in first place", "NAME=VALUE", *words])
    raise SpecError("attributes", f"{shown(item)} says nothing to {home.title} {op}; expected {expected}")


def _parse_value(op: OpVersion, attr: Attr, value: str) -> object:
    if attr.type == "string":
        return value
    try:
        return [whole_number(part) for part in value.split("/")] if attr.type == "INTS" else whole_number(value)
    except ValueError:
        wanted = "whole numbers with a / between them" if attr.type == "INTS" else "a whole number"
        raise SpecError(
            "attributes", f"attribute {attr.name!r} of {op} is {shown(value)}; expected {wanted} ({attr.type})"
        ) from None
