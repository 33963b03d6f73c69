"""One trial: one model fitted on the training rows of one fold and measured on the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

__all__ = ["Measure", "Trial", "rows_of", "run_trial"]

Measure = Callable[[Any, Any, np.ndarray], dict[str, float]]


@dataclass(frozen=True)
class Trial:
    """What one fold said of one model; ``error`` is a sentence where it failed, and then there are no scores."""

    model: str
    fold: int
    scores: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    n_train: int = 0
    n_test: int = 0
    error: str = ""


def run_trial(
    name: str,
    make: Callable[[], Any],
    X: Any,
    y: np.ndarray,
    fold: int,
    train: np.ndarray,
    test: np.ndarray,
    measure: Measure,
) -> Trial:
    """Fit on ``train``, measure on ``test``; a model that breaks gives a row, not an end."""
    blank = Trial(name, fold, n_train=len(train), n_test=len(test))
    try:
        model = make()
        started = time.perf_counter()
        model.fit(rows_of(X, train), y[train])
        fitted = time.perf_counter()
        model.predict(rows_of(X, test))
        predicted = time.perf_counter()
        scores = measure(model, rows_of(X, test), y[test])
    except Exception as error:
        message = str(error).strip().splitlines()
        return replace(blank, error=f"{type(error).__name__}: {message[0] if message else ''}")
    return replace(blank, scores=scores, fit_seconds=fitted - started, predict_seconds=predicted - fitted)


def rows_of(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
