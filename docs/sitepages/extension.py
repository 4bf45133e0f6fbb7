"""What Sphinx and its theme lack: a search in Chinese, pages in English within it, boxes that scroll by keyboard."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes  # type: ignore[import-untyped,unused-ignore]
from sphinx.search import SearchLanguage
from sphinx.transforms import SphinxTransform

from sitepages import staging

_WORD = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")


class ChineseSearch(SearchLanguage):  # type: ignore[misc,unused-ignore]
    """Chinese has no spaces: a run of characters is looked up by its pairs, in the index and in what is typed alike."""

    lang = "zh_TW"
    language_name = "Traditional Chinese"
    js_splitter_code = r"""
function splitQuery(query) {
  const found = query.match(/[\u3400-\u9fff]+|[\p{L}\p{N}_]+/gu) || [];
  return found.flatMap((word) =>
    word.length > 2 && /[\u3400-\u9fff]/.test(word)
      ? Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2))
      : [word]);
}
"""

    def split(self, input: str) -> list[str]:  # noqa: A002 (Sphinx names it so)
        """Words as they are, runs of Chinese as pairs.

        >>> ChineseSearch({}).split("保留次正規數 of float32")
        ['保留', '留次', '次正', '正規', '規數', 'of', 'float32']
        """
        return [part for word in _WORD.findall(input) for part in _parts(word)]

    def word_filter(self, word: str) -> bool:
        """Whether a word is worth finding: a pair is, however short."""
        return not word.isdigit()


def _parts(word: str) -> list[str]:
    chinese = "\u3400" <= word[0] <= "\u9fff"
    return [word[at : at + 2] for at in range(len(word) - 1)] if chinese and len(word) > 2 else [word]


class EnglishText(SphinxTransform):  # type: ignore[misc,unused-ignore]
    """On a page that is in English only the title alone is translated, for the sidebar."""

    default_priority = 5  # before Sphinx translates

    def apply(self, **kwargs: Any) -> None:
        """Exclude the page's texts from translation."""
        if self.env.docname in staging.english_only():
            for text in self.document.findall(nodes.TextElement):
                text["translatable"] = isinstance(text, nodes.title) and text.parent.parent is self.document


_MENDED = (
    ("<pre>", '<pre tabindex="0">'),  # a long line scrolls, so the keyboard has to get there
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ('role="heading">', 'role="heading" aria-level="2">'),
)
"""What the theme writes, and what a reader without a mouse needs."""


def mend(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Make a page's boxes reachable, before it is written."""
    for part in ("body", "furo_navigation_tree"):
        for theirs, ours in _MENDED:
            if part in context:
                context[part] = context[part].replace(theirs, ours)


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_search_language(ChineseSearch)
    app.add_transform(EnglishText)
    app.connect("html-page-context", mend, priority=900)  # behind the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
