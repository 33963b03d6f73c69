"""Streaming moments against NumPy on tables of ten columns; the largest has 10^7 rows (800 MB of float64).

The quality is the largest relative error against sums in extended precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.foundations.statistics import CoMoments, Moments

__all__ = ["cases"]

COLUMNS, BLOCK = 10, 100_000

Way = Callable[[np.ndarray], np.ndarray]


def cases(quick: bool) -> list[Case]:
    sizes = (100_000,) if quick else (100_000, 1_000_000, 10_000_000)
    return [case for rows in sizes for case in _of_size(rows)]


def _of_size(rows: int) -> list[Case]:
    def variance(X: np.ndarray) -> np.ndarray:
        return Moments.of(X).variance()

    return [
        _case("variance", rows, variance, "numpy.var", lambda X: np.var(X, axis=0)),
        _case("mean and variance", rows, variance, "numpy.mean + var", _mean_then_variance),
        _case(
            "covariance matrix",
            rows,
            lambda X: CoMoments.of(X).covariance(),
            "numpy.cov",
            lambda X: np.cov(X, rowvar=False, bias=True),
        ),
    ]


def _case(name: str, rows: int, ours: Way, peer_name: str, peer: Way) -> Case:
    def data() -> dict[str, np.ndarray]:
        X = np.random.default_rng(0).normal(3.0, 1.0, size=(rows, COLUMNS))
        covariance = _extended_precision_covariance(X)
        return {"X": X, "reference": covariance if "covariance" in name else np.diag(covariance)}

    def error(d: dict[str, Any], found: np.ndarray) -> float:
        return float(np.abs(found - d["reference"]).max() / np.abs(d["reference"]).max())

    return Case(
        name,
        f"{rows} x {COLUMNS}",
        data,
        lambda d: ours(d["X"]),
        (Peer(peer_name, "numpy", lambda d: peer(d["X"])),),
        error,
        "relative error",
        rounds=5,
    )


def _mean_then_variance(X: np.ndarray) -> np.ndarray:
    return (np.mean(X, axis=0), np.var(X, axis=0))[1]


def _extended_precision_covariance(X: np.ndarray) -> np.ndarray:
    """Two passes with long double sums, in blocks."""
    starts = range(0, len(X), BLOCK)
    mean = sum(X[s : s + BLOCK].sum(axis=0, dtype=np.longdouble) for s in starts) / len(X)
    total = np.zeros((X.shape[1], X.shape[1]), dtype=np.longdouble)
    for s in starts:
        d = X[s : s + BLOCK].astype(np.longdouble) - mean
        for j in range(X.shape[1]):
            total[j] += (d * d[:, j : j + 1]).sum(axis=0)
    return (total / len(X)).astype(np.float64)
