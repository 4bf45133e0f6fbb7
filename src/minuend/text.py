"""Numbers in texts from outside, read as formats and command lines mean them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")

_SIGNS = "'\\"
"""What has a meaning between ``$'`` and ``'``."""

INT64 = (-(2**63), 2**63 - 1)


def whole_number(text: str, lowest: int = INT64[0], highest: int = INT64[1]) -> int:
    """Read a whole number in ASCII digits; Python's ``int`` also takes ``1_0``, other scripts' digits and spaces.

    Raises:
        ValueError: something else, or a number outside of the limits.

    >>> whole_number("-12")
    -12
    """
    if _WHOLE.fullmatch(text) is None or not lowest <= (value := int(text)) <= highest:
        raise ValueError(f"{text[:40]!r} is no whole number from {lowest} to {highest}")
    return value


def shell_word(text: str) -> str:
    r"""Return a word as a shell reads it; what is not printed as bash, zsh and POSIX 2024 write it.

    >>> print(shell_word("a b"), shell_word("line\nend"))
    'a b' $'line\x0aend'
    """
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(one if one.isprintable() and one not in _SIGNS else _bytes(one) for one in text)}'"


def _bytes(character: str) -> str:
    """The escapes of a character; of a byte that is no UTF-8 as well, as Python has it in names of files."""
    handler = "surrogateescape" if "\udc80" <= character <= "\udcff" else "replace"
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors=handler))


def shell_path(path: str) -> str:
    """Return a path as a shell reads it, and as no program takes it for an option.

    >>> shell_path("-a b.onnx"), shell_path("a.onnx")
    ("'./-a b.onnx'", 'a.onnx')
    """
    return shell_word(f"./{path}" if path.startswith("-") else path)


def shell_words(words: Iterable[str]) -> str:
    """Return a part of a command line."""
    return " ".join(map(shell_word, words))
