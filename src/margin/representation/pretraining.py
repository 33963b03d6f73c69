r"""Self-supervised pre-training: the labels are made from the raw text itself.

| objective | input | label |
|---|---|---|
| ``"next"`` | the words before a position | the word at it |
| ``"masked"`` | a text with one word hidden | the hidden word |

A small text encoder learns to predict the label by cross-entropy; afterwards the mean of its hidden units represents a
text, and a linear model with few labels of its own reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from margin.neural.losses.fused import fused_cross_entropy
from margin.representation.clip import TextEncoder
from margin.representation.word_codes import (
    FIRST_WORD,
    PADDING,
    UNKNOWN,
    vocabulary_of,
    word_codes,
    words_of,
)

__all__ = ["OBJECTIVES", "Pretrained", "masked_words", "next_words", "pretrain"]

OBJECTIVES = ("next", "masked")


def next_words(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every beginning of every row of ``codes`` (n, length), filled up with padding, and the word that follows it.

    >>> inputs, labels = next_words(np.array([[5, 6, 7], [8, 9, 0]]))
    >>> inputs.tolist(), labels.tolist()
    ([[5, 0, 0], [8, 0, 0], [5, 6, 0]], [6, 9, 7])
    """
    inputs, labels = [], []
    for position in range(1, codes.shape[1]):
        present = codes[:, position] != PADDING
        before = np.where(np.arange(codes.shape[1]) < position, codes[present], PADDING)
        inputs.append(before)
        labels.append(codes[present, position])
    return np.concatenate(inputs), np.concatenate(labels)


def masked_words(codes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every row of ``codes`` with one of its words hidden, and that word.

    >>> inputs, labels = masked_words(np.array([[5, 0]]), np.random.default_rng(0))
    >>> inputs.tolist(), labels.tolist()
    ([[1, 0]], [5])
    """
    lengths = (codes != PADDING).sum(axis=1)
    position = rng.integers(lengths)
    rows = np.arange(len(codes))
    inputs = codes.copy()
    inputs[rows, position] = UNKNOWN
    return inputs, codes[rows, position]


class Pretrained(NamedTuple):
    """An encoder, the words it knows, and the loss of every step."""

    encoder: TextEncoder
    vocabulary: list[str]
    losses: list[float]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """One row of numbers per text."""
        codes = word_codes(texts, self.vocabulary, len(self.encoder.positions.weight))
        with torch.no_grad():
            return self.encoder.pool(torch.from_numpy(codes)).numpy(force=True)


def pretrain(
    objective: str,
    corpus: Sequence[str],
    *,
    width: int = 32,
    steps: int = 100,
    batch_size: int = 256,
    learning_rate: float = 0.01,
    seed: int = 0,
) -> Pretrained:
    """Train an encoder on ``corpus`` by Adam; ``steps=0`` leaves its random weights.

    >>> model = pretrain("masked", ["red green blue"] * 8, width=4, steps=5)
    >>> model.encode(["green red", "blue"]).shape, len(model.losses)
    ((2, 4), 5)
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"pretrain: objective must be one of {', '.join(OBJECTIVES)}; got {objective!r}.")
    corpus = list(corpus)
    empty = next((text for text in corpus if not isinstance(text, str) or not words_of(text)), None)
    if empty is not None or not corpus:
        raise ValueError(f"pretrain: corpus must be a sequence of strings with words; got {empty!r}.")
    from margin.neural.training.optimizers import make_optimizers
    from margin.neural.weights import build
    from margin.optimize.rules import Adam

    vocabulary, length = vocabulary_of(corpus), max(len(words_of(text)) for text in corpus)
    n_words = len(vocabulary) + FIRST_WORD
    encoder: TextEncoder = build(lambda: TextEncoder(n_words, length, width, n_words), seed=seed)
    codes, rng = word_codes(corpus, vocabulary, length), np.random.default_rng(seed)
    (optimizer,) = make_optimizers(encoder, Adam(), learning_rate)
    losses = []
    for _ in range(steps):
        chosen = codes[rng.integers(len(codes), size=batch_size)]
        inputs, labels = next_words(chosen) if objective == "next" else masked_words(chosen, rng)
        loss = fused_cross_entropy(encoder(torch.from_numpy(inputs)), torch.from_numpy(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return Pretrained(encoder.eval(), vocabulary, losses)
