"""Texts as rows of word codes: 0 fills up, 1 is a word that was never seen, the words of the vocabulary follow."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

__all__ = ["FIRST_WORD", "PADDING", "UNKNOWN", "vocabulary_of", "word_codes", "words_of"]

PADDING, UNKNOWN, FIRST_WORD = 0, 1, 2
WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Lower-case words.

    >>> words_of("A photo of a cat.")
    ['a', 'photo', 'of', 'a', 'cat']
    """
    return WORD.findall(text.lower())


def vocabulary_of(texts: Sequence[str]) -> list[str]:
    """All words, sorted; the first has the code ``FIRST_WORD``."""
    return sorted({word for text in texts for word in words_of(text)})


def word_codes(texts: Sequence[str], vocabulary: Sequence[str], length: int | None = None) -> np.ndarray:
    """Codes (n, length), by default as long as the longest text; what is longer is cut.

    >>> word_codes(["a dog", "a new cat"], ["a", "cat", "dog"], 3)
    array([[2, 4, 0],
           [2, 1, 3]])
    """
    code = {word: k for k, word in enumerate(vocabulary, start=FIRST_WORD)}
    words = [words_of(text) for text in texts]
    length = max(map(len, words)) if length is None else length
    codes = np.full((len(texts), length), PADDING, dtype=np.int64)
    for row, some in zip(codes, words):
        known_codes = [code.get(word, UNKNOWN) for word in some][:length]
        row[: len(known_codes)] = known_codes
    return codes
