"""The built site as files: no link in it is dead, and each page is there in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from minuend.language import Language, languages


@dataclass
class Links(HTMLParser):
    """What a page links to, and the anchors that it has."""

    targets: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        stated = dict(attrs)
        self.targets += [value for name in ("href", "src") if (value := stated.get(name)) and tag != "base"]
        self.anchors |= {value for name in ("id", "name") if (value := stated.get(name))}


def read(pages: Iterator[Path]) -> dict[Path, Links]:
    found = {}
    for page in pages:
        found[page.resolve()] = links = Links()
        links.feed(page.read_text("utf-8"))
    return found


def dead(pages: dict[Path, Links]) -> list[str]:
    """Links within the site that lead nowhere."""
    found = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or target.startswith("//"):
                continue
            goal = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = unquote(parts.fragment)
            if not goal.exists() or (place and goal in pages and place not in pages[goal].anchors):
                found.append(f"{page.name}: {target}")
    return found


def test_no_link_inside_the_site_is_dead(site: Path) -> None:
    pages = read(site.glob("[!.]*/**/*.html")) | read(site.glob("index.html"))
    assert len(pages) > 200
    assert dead(pages) == []


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">b</a><a href="b.html#gone">b</a><img src="no.png">')
    (tmp_path / "b.html").write_text('<p id="there"></p><a href="https://example.org">elsewhere</a>')
    assert dead(read(tmp_path.glob("*.html"))) == ["a.html: b.html#gone", "a.html: no.png"]


def test_every_page_is_there_in_every_language(site: Path) -> None:
    by_language = [{path.relative_to(site / name) for path in (site / name).glob("**/*.html")} for name in languages()]
    assert by_language[0] == by_language[1]
    assert (site / "en" / "matrix.json").read_bytes() == (site / "zh_TW" / "matrix.json").read_bytes()


@pytest.mark.filterwarnings("default")  # of Sphinx's own extensions
@pytest.mark.parametrize("text", ["Type constraints", "Convert it"], ids=["a page from tables", "the tutorial"])
def test_the_build_fails_where_a_sentence_is_not_translated(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sphinx")
    import build
    from sitepages import catalogues

    known = catalogues.untranslated
    missing = Language.missing
    monkeypatch.setattr(Language, "missing", lambda self: [*missing(self), *(self.asked & {text})])
    monkeypatch.setattr(catalogues, "untranslated", lambda name, texts: [*known(name, texts), *({text} & set(texts))])
    assert build.build(tmp_path, "zh_TW") == 1
    assert capsys.readouterr().out == (
        f"zh_TW lacks 1 translations; run python docs/build.py --catalogues, and fill in:\n  {text}\n"
    )
    assert not (tmp_path / "zh_TW").exists()
