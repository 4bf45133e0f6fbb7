"""The Python functions, from their docstrings: a page for the package and one for each dialect."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType

import minuend
from minuend.language import Language
from minuend.standards.dialects import dialects
from sitepages import markup
from sitepages.page import Page


def pages(language: Language) -> Iterator[Page]:
    """The index, the package's own names, and each dialect's."""
    tr = language.tr
    modules = {"minuend": minuend, **{f"minuend.{name}": getattr(minuend, name) for name in dialects()}}
    yield Page(
        "reference/index.md",
        markup.paragraphs(
            f"# {tr('Python functions')}",
            tr(
                "Shapes, element types, errors and the source of each rule stand with every name. This part is in "
                "English."
            ),
            "\n".join(f"- [{name}]({name}.md)" for name in modules),
            markup.fence("{toctree}", ":hidden:\n\n" + "\n".join(modules)),
        ),
    )
    for name, module in modules.items():
        yield Page(f"reference/{name}.md", _page(name, module))


def _page(name: str, module: ModuleType) -> str:
    about = inspect.getdoc(module) or ""
    parts = [f"# {name}", markup.fence("{eval-rst}", about)]
    members = {member: getattr(module, member) for member in sorted(module.__all__)}
    parts += [_member(name, member, members[member]) for member in sorted(members, key=lambda one: _rank(one, members))]
    return markup.paragraphs(*parts)


FIRST = ("subtract", "check", "fix", "convert", "run", "prove")
"""The functions that people call, in the order in which they need them."""


def _rank(name: str, members: Mapping[str, object]) -> tuple[int, str]:
    """The functions that people call, other functions and modules, classes, errors."""
    member = members[name]
    if name in FIRST:
        return FIRST.index(name), ""
    kind = inspect.isclass(member) + (inspect.isclass(member) and issubclass(member, Exception))
    return len(FIRST) + kind, name


def _member(module: str, name: str, member: object) -> str:
    if inspect.ismodule(member):
        return f"`{module}.{name}`"
    kind = (
        "exception"
        if inspect.isclass(member) and issubclass(member, Exception)
        else "class"
        if inspect.isclass(member)
        else "function"
    )
    options = "   :members:\n   :show-inheritance:\n" if kind != "function" else ""
    return markup.paragraphs(f"## {name}", markup.fence("{eval-rst}", f".. auto{kind}:: {module}.{name}\n{options}"))
