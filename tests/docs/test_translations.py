"""The catalogue of Traditional Chinese: Taiwan's words, full-width punctuation, and nothing lost from the English."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from sitepages import catalogues, spoken, staging

FORBIDDEN = (
    "等級", "截斷", "類型", "域名", "發行版", "默認", "數據", "信息", "內存", "文件夾", "程序", "軟件", "硬件", "網絡",
    "字符", "字節", "數組", "函數", "變量", "調用", "服務器", "緩存", "線程", "進程", "代碼", "支持", "兼容", "命令行",
    "缺省", "異常", "坐標系", "運行", "你",
)  # fmt: skip
"""Words of other regions, words for other things, and the second of two spellings."""

ALLOWED = ("坐標系統", "壓縮等級")
"""Words that hold a forbidden one, and are right."""

WORDS = {
    r"ranks?": ("階數", "維度數", "秩"),  # the last is a matrix's
    r"clamps?": ("箝制", "飽和"),
    r"domain": ("領域",),
    r"releases?": ("版本",),
    r"types?": ("型別",),
    r"runtimes?": ("執行環境",),
    r"verdicts?": ("判定",),
    r"checkpoints?": ("檢查點",),
    r"overflows?": ("溢位", "超出"),
    r"folders?": ("資料夾",),
    r"threads?": ("執行緒",),
}
"""A word of an English sentence, and what its translation has to have one of."""

CODE = re.compile(r"`[^`]*`")
PLACE = re.compile(r"\{\w*\}")
LINK = re.compile(r"\]\(([^)]*)\)")
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
HAN = "[\u3400-\u9fff]"
HALF_WIDTH = re.compile(rf"{HAN}\s*[,.:;?!(]|{HAN}\)|[,;?!(]\s*{HAN}|[.:)]{HAN}")

MESSAGES = [
    pytest.param(str(message.id), str(message.string), id=str(message.id)[:60])
    for message in catalogues.read("zh_TW") if message.id
]  # fmt: skip
every_message = pytest.mark.parametrize(("english", "chinese"), MESSAGES)


def prose(text: str) -> str:
    """Return a sentence without code and without the targets of its links."""
    return PLACE.sub("", LINK.sub("]", CODE.sub("", text)))


def faults(english: str, chinese: str) -> list[str]:
    """Return what is wrong with a translation."""
    words = prose(chinese)
    allowed = re.sub("|".join(ALLOWED), "", words)
    found = [f"forbidden: {word}" for word in FORBIDDEN if word in allowed]
    found += [f"half-width: {mark}" for mark in HALF_WIDTH.findall(words)]
    if re.search(HAN, words):
        found += [
            f"{word}: one of {chosen}" for word, chosen in WORDS.items()
            if re.search(rf"(?<![-\w]){word}(?![-\w(=])", prose(english)) and not any(one in chinese for one in chosen)
        ]  # fmt: skip
    for name, pattern in (("code", CODE), ("links", LINK), ("places", PLACE)):
        if set(pattern.findall(english)) != set(pattern.findall(chinese)):
            found.append(f"other {name}")
    if lost := Counter(FIGURE.findall(prose(english))) - Counter(FIGURE.findall(prose(chinese))):
        found.append(f"lost figures: {sorted(lost)}")
    return found


@every_message
def test_a_translation_keeps_to_the_words_and_the_punctuation(english: str, chinese: str) -> None:
    assert faults(english, chinese) == []


@pytest.mark.parametrize(
    ("english", "chinese", "expected"),
    [
        ("the rank of B", "B 的等級", ["forbidden: 等級", "ranks?: one of ('階數', '維度數', '秩')"]),
        ("it clamps, then", "先飽和, 然後", ["half-width: 和,"]),
        ("see `A` (B)", "見 `B`（乙)", ["half-width: 乙)", "other code"]),
        ("3.5 s of 12", "12 秒中的 3 秒", ["lost figures: ['3.5']"]),
        ("[the file](a.md).", "[檔案](b.md)。", ["other links"]),
        ("a level of zstd", "zstd 的壓縮等級", []),
        ("rank(A) and a (B)", "rank(A) 與 a(乙)", ["half-width: (乙"]),
        ("{rank} with overflow=", "{rank} 以 overflow= 指定", []),
    ],
)
def test_what_is_wrong_with_a_translation_is_named(english: str, chinese: str, expected: list[str]) -> None:
    assert faults(english, chinese) == expected


def test_every_title_of_the_sidebar_is_translated() -> None:
    assert {"arrays", "changelog"} < staging.english_only().keys()
    assert catalogues.untranslated("zh_TW", staging.english_only().values()) == []


def test_every_text_of_check_is_translated() -> None:
    texts = set(spoken.verdicts()) - {""}
    assert {"{values} differ", "as expected on {targets}", "{what} ({result})"} < texts
    assert catalogues.untranslated("zh_TW", texts) == []


@pytest.mark.parametrize("page", staging.TRANSLATED)
def test_a_page_is_translated_or_says_that_it_is_in_english(page: str) -> None:
    assert page not in staging.english_only()
    assert (staging.DOCS / f"{page}.md").exists()
