"""Vectors of words that were learned without labels, as where networks on texts begin.

A word that the texts of the fit lack has its vector all the same, so that a classifier with few labels knows what to
say of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from margin.neural.estimators.fine_tuning import PretrainedNetwork
from margin.text.terms import FIRST, TermCodes

__all__ = ["codes_from_words", "is_word_start", "word_start", "write_vectors_"]

SPREAD = 1.0  # of the entries of vectors that begin a network; random ones have 0.1, of which little is to be kept


def word_start(source: str, words: Sequence[str], vectors: np.ndarray) -> PretrainedNetwork:
    """Where a network begins that knows ``words`` by their ``vectors``, one row each."""
    return PretrainedNetwork(source, {"words": tuple(words)}, {"vectors": np.array(vectors, dtype=np.float32)})


def is_word_start(start: PretrainedNetwork | None) -> bool:
    return start is not None and "words" in start.network


def codes_from_words(start: PretrainedNetwork, learned: TermCodes) -> TermCodes:
    """The words of ``start``, then what ``learned`` knows besides.

    >>> start = word_start("a study", ["Sea", "sky"], np.eye(2))
    >>> codes_from_words(start, TermCodes.learn(["the sea", "the land"], "word")).vocabulary
    ['sea', 'sky', 'the', 'land']
    """
    words = list(_rows(start, learned.lowercase))
    known = set(words)
    return TermCodes(words + [term for term in learned.vocabulary if term not in known], **learned.reading())


def write_vectors_(embedding: Tensor, start: PretrainedNetwork, lowercase: bool) -> None:
    """Write the vectors of ``start`` into the rows of its words, scaled so that an entry is ``SPREAD`` large."""
    vectors = start.weights["vectors"][list(_rows(start, lowercase).values())]
    size = float(np.sqrt(np.mean(np.square(vectors, dtype=np.float64))))
    scaled = vectors * np.float32(SPREAD / size if size > 0 else 0.0)
    with torch.no_grad():
        embedding[FIRST : FIRST + len(scaled)].copy_(torch.from_numpy(scaled))


def _rows(start: PretrainedNetwork, lowercase: bool) -> dict[str, int]:
    """The row of every word; of words that differ in case alone the first, which is the commonest."""
    rows: dict[str, int] = {}
    for i, word in enumerate(start.network["words"]):
        rows.setdefault(word.lower() if lowercase else word, i)
    return rows
