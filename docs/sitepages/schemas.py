"""The JSON that each verb prints with ``--json``: its fields in a table, and the schema itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from minuend.cli import schemas
from minuend.language import Language
from sitepages import markup
from sitepages.page import Page


def pages(language: Language) -> Iterator[Page]:
    """The index, and a page for each verb that has a schema."""
    tr = language.tr
    verbs = schemas.names()
    yield Page(
        "schemas/index.md",
        markup.paragraphs(
            f"# {tr('JSON that the verbs print')}",
            tr("Every verb that reports takes --json. Schemas are JSON Schema, and `minuend schema VERB` prints them."),
            "\n".join(f"- [{verb}]({verb}.md)" for verb in verbs),
            markup.fence("{toctree}", ":hidden:\n\n" + "\n".join(verbs)),
        ),
    )
    for verb in verbs:
        yield Page(f"schemas/{verb}.md", _page(verb, schemas.schema_of(verb), language))


def _page(verb: str, schema: Mapping[str, Any], language: Language) -> str:
    tr = language.tr
    rows = [(markup.code(path), markup.text(kind), markup.text(about)) for path, kind, about in fields(schema)]
    return markup.paragraphs(
        f"# minuend {verb} --json",
        tr("`[]` stands for each item of an array, `*` for each name of an object."),
        markup.table([tr("field"), tr("type"), tr("meaning")], rows),
        f"## {tr('The schema')}",
        markup.fence("json", json.dumps(schema, indent=2, ensure_ascii=False)),
    )


def fields(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Every field below a schema: its path, its type, and what it means; a field that stands twice comes once."""
    seen = set()
    for found in _walk(schema, path):
        if found not in seen:
            seen.add(found)
            yield found


def _walk(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    for name, child in schema.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        yield below, _type(child), child.get("description", "")
        yield from _walk(child, below)
    for key, step in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), Mapping):
            yield from _walk(schema[key], f"{path}{step}")
    for key in ("oneOf", "anyOf", "allOf"):
        for child in schema.get(key, ()):
            yield from _walk(child, path)


def _type(schema: Mapping[str, Any]) -> str:
    """A field's type in words: its JSON type, or the values that it can have."""
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    kind = schema.get("type", "")
    if not kind:
        kinds = [_type(child) for key in ("oneOf", "anyOf") for child in schema.get(key, ())]
        return " | ".join(dict.fromkeys(filter(None, kinds)))
    return " | ".join(kind) if isinstance(kind, list) else str(kind)
