"""Tables as the contenders get them: training and test rows, which columns are categorical, the task."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from benchmarks.data.terrain import terrain

__all__ = ["Data", "covertype_like", "first_rows", "friedman", "generated", "has_real", "real"]

Data = dict[str, Any]

# Columns with a name per row say nothing about the next row; a cabin is missing in three rows of four.
NAMES = {"titanic": ("Name", "Ticket", "Cabin")}
TEST = 20_000


def has_real() -> bool:
    """Whether ``MARGIN_DATA`` says where the real tables are."""
    return bool(os.environ.get("MARGIN_DATA"))


def real(name: str) -> Data:
    """A real table, categories as numbers and NaN where they are missing; its own test rows, or a fifth of all."""
    from margin.data import load

    dataset = load(name)
    frame = dataset.X.to_pandas().drop(columns=list(NAMES.get(name, ())))
    category = [frame[c].dtype.kind not in "fiub" for c in frame]
    for column, named in zip(frame, category, strict=True):
        if named:
            codes = frame[column].astype("category").cat.codes.astype(float)
            frame[column] = codes.where(codes >= 0)
    X, y = frame.to_numpy(dtype=float), np.asarray(dataset.y)
    if dataset.task == "classification":
        y = np.unique(y, return_inverse=True)[1]  # XGBoost wants numbers
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = dataset.split if dataset.split is not None else (rows[len(y) // 5 :], rows[: len(y) // 5])
    return _data(X, y, train, test, category, dataset.task)


def covertype_like(n: int) -> Data:
    """The synthetic terrain, ``n`` rows to learn from."""
    X, y = terrain(n + TEST)
    return _data(X, y, slice(n), slice(n, None), [False] * X.shape[1], "classification")


def generated(n: int, p: int, classes: int = 2) -> Data:
    """Classes in clusters on the corners of a cube, a third of the columns noise, a few labels flipped."""
    from sklearn.datasets import make_classification

    useful = max(4, 2 * p // 5)
    X, y = make_classification(
        n + TEST, p, n_informative=useful, n_redundant=p // 5, n_classes=classes, flip_y=0.05, random_state=0
    )
    return _data(X, y, slice(n), slice(n, None), [False] * p, "classification")


def friedman(n: int, p: int) -> Data:
    """Friedman's function of five columns among ``p``."""
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n + TEST, p, noise=1.0, random_state=0)
    return _data(X, y, slice(n), slice(n, None), [False] * p, "regression")


def first_rows(data: Data, n: int) -> Data:
    """The same with at most ``n`` training and test rows, of every class at least one."""
    known = np.unique(data["y"], return_index=True)[1] if data["task"] == "classification" else []
    rows = np.unique(np.concatenate([np.arange(min(n, len(data["y"]))), known]).astype(int))
    small = {"X": data["X"][rows], "y": data["y"][rows], "test_X": data["test_X"][:n], "test_y": data["test_y"][:n]}
    return {**data, **small}


def _data(X: np.ndarray, y: np.ndarray, train: Any, test: Any, categorical: list[bool], task: str) -> Data:
    parts = {"X": X[train], "y": y[train], "test_X": X[test], "test_y": y[test]}
    return {**parts, "categorical": categorical, "task": task}
