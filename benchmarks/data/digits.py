"""MNIST as the studies of image networks take it; needs ``MARGIN_DATA``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from margin import data

__all__ = ["Digits", "halved", "mnist", "validation_split"]

N_VALIDATION = 10_000


@dataclass(frozen=True)
class Digits:
    """Images (n, 28, 28) of bytes and their classes, to learn from and to be judged by."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@cache
def mnist(n_train: int | None = None) -> Digits:
    """The first ``n_train`` training digits and all 10,000 test digits."""
    parts = []
    for subset, count in (("train", n_train), ("test", None)):
        part = data.load("mnist", subset=subset)
        pixels = np.round(np.asarray(part.X)[:count] * 255).astype(np.uint8)
        parts += [pixels.reshape(-1, 28, 28), np.asarray(part.y)[:count]]
    return Digits(*parts)


def validation_split(n_train: int = 60_000) -> Digits:
    """The last 10,000 of the first ``n_train`` training digits judge; the digits before them are learned from."""
    digits = mnist(n_train)
    X, y = digits.X, digits.y
    return Digits(X[:-N_VALIDATION], y[:-N_VALIDATION], X[-N_VALIDATION:], y[-N_VALIDATION:])


def halved(digits: Digits) -> Digits:
    """Images of half the side: every pixel the mean of 2 x 2."""
    small = [
        np.round(X.reshape(len(X), 14, 2, 14, 2).mean(axis=(2, 4))).astype(np.uint8) for X in (digits.X, digits.X_test)
    ]
    return Digits(small[0], digits.y, small[1], digits.y_test)
