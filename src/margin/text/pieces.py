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

import numpy as np

from margin.text.bpe_numbers import LETTER, NUMBER, WHITE

__all__ = ["WHITE_SPACE", "character_classes", "character_ranges", "split_pieces"]

# Unicode's White_Space. Python's \s also counts the separators U+001C to U+001F, which Unicode does not.
WHITE_SPACE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"


def split_pieces(text: str) -> list[str]:
    """The pieces of ``text`` in order; joined they are ``text``.

    >>> split_pieces("It's 2 o'clock,  señor!")
    ['It', "'s", ' 2', ' o', "'", 'clock', ',', ' ', ' señor', '!']
    """
    return (_ascii_pattern() if text.isascii() else _pattern()).findall(text)


@cache
def _ascii_pattern() -> re.Pattern[str]:
    return _compile("A-Za-z", "0-9", "\\t-\\r ")


@cache
def _pattern() -> re.Pattern[str]:
    return _compile(character_ranges(LETTER), character_ranges(NUMBER), WHITE_SPACE)


def _compile(letters: str, numbers: str, white: str) -> re.Pattern[str]:
    return re.compile(
        f"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{numbers}]+| ?[^{white}{letters}{numbers}]+"
        f"|[{white}]+(?![^{white}])|[{white}]+"
    )


@cache
def character_classes(ascii_only: bool) -> np.ndarray:
    """What every character is, by its code point: LETTER, NUMBER, WHITE or OTHER."""
    kinds = {"L": LETTER, "N": NUMBER}
    size = 128 if ascii_only else sys.maxunicode + 1
    classes = np.array([kinds.get(unicodedata.category(chr(code))[0], 0) for code in range(size)], dtype=np.uint8)
    white = re.findall(f"[{WHITE_SPACE}]", "".join(map(chr, range(min(size, 0x3001)))))
    classes[[ord(character) for character in white]] = WHITE
    return classes


def character_ranges(kind: int) -> str:
    r"""The class \p{L} or \p{N} as ranges, which :mod:`re` has no name for."""
    edges = np.flatnonzero(np.diff(character_classes(False) == kind, prepend=False, append=False)).tolist()
    return "".join(f"\\U{first:08x}-\\U{end - 1:08x}" for first, end in zip(edges[::2], edges[1::2], strict=True))
