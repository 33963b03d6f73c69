"""Texts as sequences of words with a vocabulary: what word vectors and taggers are fitted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from margin.text.texts import check_unicode, text_items

__all__ = ["encode", "sentences_of", "vocabulary_of"]


def sentences_of(owner: str, X: Any, name: str = "X") -> list[list[str]]:
    """Each text of ``X`` as a list of words: a string is cut at white space, a sequence of strings stays as it is."""
    if isinstance(X, str | bytes):
        raise ValueError(f"{owner}: {name} must be a sequence of texts; got {type(X).__name__}.")
    texts = text_items(owner, X, name, words_in_columns=True)
    return [_words(owner, name, i, text) for i, text in enumerate(texts)]


def _words(owner: str, name: str, i: int, text: Any) -> list[str]:
    if isinstance(text, str):
        return check_unicode(owner, name, i, text).split()
    if isinstance(text, Sequence | np.ndarray) and all(isinstance(word, str) for word in text):
        return [check_unicode(owner, name, i, str(word)) for word in text]
    raise ValueError(f"{owner}: {name} must be strings or sequences of strings; text {i} is {type(text).__name__}.")


def vocabulary_of(sentences: Iterable[Sequence[str]], min_count: int) -> tuple[list[str], np.ndarray]:
    """The words that occur ``min_count`` times, the commonest first, equally common ones by alphabet; their counts."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    words = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    return words, np.array([counts[word] for word in words], dtype=np.int64)


def encode(sentences: Iterable[Sequence[str]], position: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """All known words as one array of ids, and where each sentence ends in it."""
    tokens: list[int] = []
    ends = []
    for sentence in sentences:
        tokens += [position[word] for word in sentence if word in position]
        ends.append(len(tokens))
    return np.array(tokens, dtype=np.int32), np.array(ends, dtype=np.int64)
