"""Compile ahead of the first use: every model that has compiled kernels is fitted once, in parallel processes.

What they compile stays in the JIT cache (:mod:`margin.core.jit_cache`), so later processes only load it; what their
classes say about themselves is kept, too (:mod:`margin.service.model_facts`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np

from margin import catalog
from margin.core.compiling_ahead import compiling_ahead
from margin.core.threads import available
from margin.service.model_facts import model_facts

__all__ = ["model_names", "warm"]

FAMILIES = ("trees", "cluster", "kernels", "linear", "mixture", "neighbors", "reduction")  # those with kernels
SMALL = (200, 5)
LARGE = (12_000, 5)  # rows beyond which trees and forests work on bins, which are kernels of their own


def model_names() -> list[str]:
    """The models that have compiled kernels, those that take longest first."""
    entries = [entry for entry in catalog.ENTRIES if entry.family in FAMILIES and entry.data == "table"]
    return [entry.name for entry in sorted(entries, key=lambda entry: FAMILIES.index(entry.family))]


def warm(names: Sequence[str] | None = None, jobs: int | None = None) -> Iterator[tuple[str, float]]:
    """Fit the models called ``names`` (all that have kernels if None); yields a name and its seconds as each is done.

    Fresh processes fit, ``jobs`` at a time (as many as there are processors if None).
    """
    entries = [catalog.entry(name) for name in (model_names() if names is None else names)]
    workers = max(1, min(jobs or available(), len(entries)))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(_fit, entry.name) for entry in entries]):
            yield done.result()


def _fit(name: str) -> tuple[str, float]:
    """Fit and use one model on small tables of the kinds it takes; the seconds that took."""
    began, entry = time.perf_counter(), catalog.entry(name)
    with warnings.catch_warnings(), compiling_ahead():
        warnings.simplefilter("ignore")  # a fit that does not converge has compiled all the same
        for shape in (SMALL, LARGE) if entry.family == "trees" and entry.takes != "categories" else (SMALL,):
            for X, y in _tables(entry, shape):
                model: Any = catalog.class_of(name)()
                model.fit(X, y)
                if hasattr(model, "predict"):
                    model.predict(X)
    model_facts(entry)
    return name, time.perf_counter() - began


def _tables(entry: catalog.Entry, shape: tuple[int, int]) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    rng = np.random.default_rng(0)
    X: np.ndarray = rng.standard_normal(shape)
    if entry.takes == "counts":
        X = rng.poisson(3.0, size=shape).astype(float)
    elif entry.takes == "categories":
        X = rng.integers(0, 4, size=shape)
    if entry.task == "classification":
        yield X, (X[:, 0] > X[:, 1]).astype(int)
        if not entry.name.startswith("hard-margin"):
            yield X, (X[:, 0] > X[:, 1]).astype(int) + (X[:, 2] > X[:, 1])
    else:
        yield X, X[:, 0] + X[:, 1] * X[:, 2] if entry.task in ("regression", "forecasting") else None
