"""XML of an IR as elements that know their line; no document type, no entities of its own, bounded in depth."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from minuend.errors import FileFormatError, SpecError

MAX_DEPTH = 200
"""Levels of nesting; a model has 6, and 4 more for each If or Loop around a body."""

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Element(ET.Element):
    """An element of a file, or one to be written (whose line is 0)."""

    line: int = 0


def parse(data: bytes, source: str) -> Element:
    """Parse a document.

    Args:
        data: the document's bytes. source: what messages call it.

    Raises:
        FileFormatError: XML that is broken, with line, column and byte offset; a document type, which could define
            entities; too deep a nesting.
    """
    if not data:
        raise FileFormatError(f"{source} is empty; expected the XML of a model")
    reader = _Reader(source)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        at = f"line {error.lineno}, column {error.offset + 1} (byte {reader.parser.ErrorByteIndex})"
        raise FileFormatError(f"{source}, {at}: this is no XML: {expat.ErrorString(error.code)}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python has not, or that is not one byte a letter
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{source}, line 1: this XML cannot be decoded: {error}; expected UTF-8") from None
    root = reader.builder.close()
    assert isinstance(root, Element)
    return root


class _Reader:
    """Hands what expat finds to a tree builder, and keeps count."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.depth = 0
        self.builder = ET.TreeBuilder(element_factory=Element)
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.builder.data
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FileFormatError(f"{self._place()}: elements nest deeper than {MAX_DEPTH} levels; no model needs that")
        element: Any = self.builder.start(tag, attributes)
        element.line = self.parser.CurrentLineNumber

    def _end(self, tag: str) -> None:
        self.depth -= 1
        self.builder.end(tag)

    def _doctype(self, *_: object) -> None:
        raise FileFormatError(
            f"{self._place()}: the file has a document type (<!DOCTYPE …>), which can define entities that expand "
            "without end; a model needs none, remove it"
        )

    def _place(self) -> str:
        return f"{self.source}, line {self.parser.CurrentLineNumber}"


def element(tag: str, attributes: Mapping[str, str]) -> Element:
    """Make an element to be written; a text that XML cannot hold is a SpecError."""
    for name, text in attributes.items():
        if found := _ILLEGAL.search(text):
            message = f"{text!r} holds the character {found.group()!r}, which XML cannot; take it out"
            raise SpecError("names", message, where=f"attribute {name!r} of <{tag}>")
    return Element(tag, dict(attributes))


def to_bytes(root: Element) -> bytes:
    ET.indent(root, "\t")
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"
