"""The built site as files: no link in it is dead, and each page is there in both languages."""

from __future__ import annotations

import re
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


def test_the_sidebar_and_the_ends_of_a_page_are_in_chinese(site: Path) -> None:
    page = (site / "zh_TW" / "gate.html").read_text("utf-8")
    sidebar = page[page.index('class="sidebar-tree"') : page.index("</aside>")]
    shown = re.findall(r'caption-text">([^<]*)<|toctree-l1[^>]*><a[^>]*>([^<]*)<', sidebar)
    assert len(shown) > 30
    assert [text for pair in shown for text in pair if text and not re.search("[\u3400-\u9fff]", text)] == []
    ends = page[page.index('class="related-pages"') :]
    assert re.search(r"Next|Previous|Copyright|Made with|On this page", ends) is None


EXCEPT = {"files": ["xarray dask 0.86"]}
"""Cells with names and figures alone."""


@pytest.mark.parametrize("page", ["gate", "files", "deltas", "policies", "tutorial"])
def test_a_translated_page_has_no_english_sentence(page: str, site: Path) -> None:
    article = (site / "zh_TW" / f"{page}.html").read_text("utf-8").partition("<article")[2].partition("</article>")[0]
    parts = re.findall(r"<(?:p|h\d|li|td|th)\b[^>]*>(.*?)</(?:p|h\d|li|td|th)>", article, re.DOTALL)
    plain = [
        re.sub(r"<code.*?</code>|<a class=\"headerlink.*?</a>|<[^>]+>", "", part, flags=re.DOTALL) for part in parts
    ]
    assert len(plain) > 10
    english = [
        text for text in plain if re.search(r"[a-z]{3,} [a-z]{2,}", text) and not re.search("[\u3400-\u9fff]", text)
    ]
    assert english == EXCEPT.get(page, [])


@pytest.mark.parametrize("page", ["arrays", "changelog"])
def test_a_page_in_english_says_so_and_has_a_title_in_chinese(page: str, site: Path) -> None:
    text = (site / "zh_TW" / f"{page}.html").read_text("utf-8")
    assert "本頁只有英文版。" in text
    assert re.search("<h1>[^<]*[\u3400-\u9fff]", text)
    assert "本頁只有英文版。" not in (site / "zh_TW" / "gate.html").read_text("utf-8")


def test_every_page_is_there_in_every_language(site: Path) -> None:
    by_language = [{path.relative_to(site / name) for path in (site / name).glob("**/*.html")} for name in languages()]
    assert by_language[0] == by_language[1]
    assert (site / "en" / "matrix.json").read_bytes() == (site / "zh_TW" / "matrix.json").read_bytes()


@pytest.mark.filterwarnings("default")  # of Sphinx's own extensions
@pytest.mark.parametrize(
    "texts",
    [["Type constraints"], ["Convert it", "Before a commit", "raised", "Glossary"]],
    ids=["a page from tables", "the tutorial, the gate, a table of the policies, a title in the sidebar"],
)
def test_the_build_fails_where_a_sentence_is_not_translated(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sphinx")
    from sitepages import catalogues

    import build

    known = catalogues.untranslated
    missing = Language.missing
    monkeypatch.setattr(Language, "missing", lambda self: [*missing(self), *sorted(self.asked & set(texts))])
    monkeypatch.setattr(
        catalogues, "untranslated", lambda name, said: [*known(name, said), *(one for one in texts if one in said)]
    )
    assert build.build(tmp_path, "zh_TW") == 1
    listed = "".join(f"\n  {text}" for text in texts)
    assert capsys.readouterr().out == (
        f"zh_TW lacks {len(texts)} translations; run python docs/build.py --catalogues, and fill in:{listed}\n"
    )
    assert not (tmp_path / "zh_TW").exists()
