r"""How text is cut before byte pairs are merged: merges never cross the border of a piece.

The rule is the one of GPT-2, which Hugging Face's ``ByteLevel`` pre-tokenizer follows: an English contraction, or an
optional space and a run of letters, of numbers or of other characters, or white space (the last space of a run goes to
the run of letters, numbers or others that follows):

.. code-block:: text

    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

__all__ = ["split_pieces"]

# Unicode's White_Space. Python's \s also counts the separators U+001C to U+001F, which Unicode does not.
WHITE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"


def split_pieces(text: str) -> list[str]:
    """The pieces of ``text`` in order; joined they are ``text``.

    >>> split_pieces("It's 2 o'clock,  señor!")
    ['It', "'s", ' 2', ' o', "'", 'clock', ',', ' ', ' señor', '!']
    """
    return (_ascii_pattern() if text.isascii() else _pattern()).findall(text)


@cache
def _ascii_pattern() -> re.Pattern[str]:
    return _compiled("A-Za-z", "0-9", "\\t-\\r ")


@cache
def _pattern() -> re.Pattern[str]:
    return _compiled(*_letters_and_numbers(), WHITE)


def _compiled(letters: str, numbers: str, white: str) -> re.Pattern[str]:
    return re.compile(
        f"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{numbers}]+| ?[^{white}{letters}{numbers}]+"
        f"|[{white}]+(?![^{white}])|[{white}]+"
    )


def _letters_and_numbers() -> tuple[str, str]:
    r"""The classes \p{L} and \p{N} as ranges, which :mod:`re` has no names for."""
    ranges: dict[str, list[str]] = {"L": [], "N": []}
    kind, first = "", 0
    for code in range(sys.maxunicode + 2):
        now = unicodedata.category(chr(code))[0] if code <= sys.maxunicode else ""
        if now != kind:
            if kind in ranges:
                ranges[kind].append(f"\\U{first:08x}-\\U{code - 1:08x}")
            kind, first = now, code
    return "".join(ranges["L"]), "".join(ranges["N"])
