"""Streaming moments against NumPy on a table of 10^7 rows and 10 columns (800 MB of float64).

Ours and NumPy alternate in one process; the minimum of the rounds counts. The quality column is the largest
relative error against a reference in extended precision. Run with ``OMP_NUM_THREADS=1`` for one core each::

    python benchmarks/statistics.py [rows]
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from margin.foundations.statistics import CoMoments, Moments

ROWS, COLUMNS, ROUNDS = 10_000_000, 10, 5


class Case(NamedTuple):
    """One task: ours, the peer, and the value both must reach."""

    name: str
    ours: Callable[[], np.ndarray]
    peer_name: str
    peer: Callable[[], np.ndarray]
    reference: np.ndarray


def cases(rows: int = ROWS) -> list[Case]:
    """The pairs to time."""
    X = np.random.default_rng(0).normal(3.0, 1.0, size=(rows, COLUMNS))
    reference = _extended_precision_covariance(X)
    variances = np.diag(reference)
    return [
        Case("variance", lambda: Moments.of(X).variance(), "numpy.var", lambda: np.var(X, axis=0), variances),
        Case(
            "mean and variance",
            lambda: Moments.of(X).variance(),
            "numpy.mean + var",
            lambda: (np.mean(X, axis=0), np.var(X, axis=0))[1],
            variances,
        ),
        Case(
            "covariance matrix",
            lambda: CoMoments.of(X).covariance(),
            "numpy.cov",
            lambda: np.cov(X, rowvar=False, bias=True),
            reference,
        ),
    ]


def _extended_precision_covariance(X: np.ndarray) -> np.ndarray:
    """Two passes with long double sums, in blocks."""
    starts = range(0, len(X), 100_000)
    mean = sum(X[s : s + 100_000].sum(axis=0, dtype=np.longdouble) for s in starts) / len(X)
    total = np.zeros((X.shape[1], X.shape[1]), dtype=np.longdouble)
    for s in starts:
        d = X[s : s + 100_000].astype(np.longdouble) - mean
        for j in range(X.shape[1]):
            total[j] += (d * d[:, j : j + 1]).sum(axis=0)
    return (total / len(X)).astype(np.float64)


def _seconds(call: Callable[[], np.ndarray]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _peak_megabytes(call: Callable[[], np.ndarray]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main(rows: int = ROWS) -> None:
    """Print one line per case: times, ratio (peer / ours), errors and extra memory of both."""
    print(f"{rows} x {COLUMNS} float64, numpy {np.__version__}, minimum of {ROUNDS} alternating rounds")
    print(f"{'task':18} {'peer':17} {'ours ms':>8} {'peer ms':>8} {'ratio':>6}  relative error    extra memory MB")
    for case in cases(rows):
        times = np.array([(_seconds(case.ours), _seconds(case.peer)) for _ in range(ROUNDS)]).min(axis=0)
        errors = [np.abs(f() - case.reference).max() / np.abs(case.reference).max() for f in (case.ours, case.peer)]
        memory = [_peak_megabytes(f) for f in (case.ours, case.peer)]
        print(
            f"{case.name:18} {case.peer_name:17} {1e3 * times[0]:8.0f} {1e3 * times[1]:8.0f} "
            f"{times[1] / times[0]:6.2f}  {errors[0]:.1e} {errors[1]:.1e}  {memory[0]:8.1f} {memory[1]:8.1f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
