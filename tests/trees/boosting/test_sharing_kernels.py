"""Work on rows that threads share, against NumPy, and trees that are the same on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from margin.compiled.boosting import (
    Growth,
    Limits,
    Packing,
    claim,
    describe_rows,
    finish,
    is_over,
    offer,
    take_part,
    wait_for,
)
from margin.core.parallel import with_assistants
from margin.core.team import OVER, new_board
from margin.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from margin.trees.boosting import growing
from margin.trees.boosting.kernel_types import CANDIDATE, COLUMN, NODE
from margin.trees.boosting.sharing_kernels import DIVIDE, FILL, PLACE


def lead(kind, start, stop, blocks, stored, growth, board):
    describe_rows(board, kind, start, stop, stored)
    offer(board, blocks)
    block = claim(board, 0)
    while block >= 0:
        take_part(growth, board, block)
        finish(board)
        block = claim(board, 0)
    wait_for(board, blocks)


def follow(growth, board):
    if is_over(board):
        return True
    block = claim(board, 1)
    if block >= 0:
        take_part(growth, board, block)
        finish(board)
    return False


def growth_of(codes, rows, packed, goes_left, lefts, parts):
    """What the work on rows reads and writes; the rest is as small as it may be."""
    none, one, n = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), len(rows)
    return Growth(
        codes=codes,
        columns=np.zeros(codes.shape[1], dtype=COLUMN),
        limits=Limits(True, 2, 1, 2, 1, 0.0, 0.0, 0.0, 1.0, False, 1),
        packing=Packing(),
        packed=packed,
        rows=rows,
        spare=np.empty(n, dtype=np.int32),
        nodes=np.zeros(1, dtype=NODE),
        pool=none,
        candidates=np.zeros((2, 1), dtype=CANDIDATE),
        gains=np.zeros(1),
        goes_left=goes_left,
        lefts=lefts,
        parts=parts,
        draws=False,
        seed=0,
        **dict.fromkeys(("sums", "orders", "drawn", "waiting", "free"), one),
        **dict.fromkeys(("category_sets", "bounds", "members", "member_start", "groups", "active")),
    )


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("columns", [3, 21])
@pytest.mark.parametrize(("start", "stop"), [(0, 5000), (100, 101), (7, 4001)])
def test_rows_are_counted_and_divided_as_by_numpy(threads, columns, start, stop):
    rng = np.random.default_rng(columns)
    codes = rng.integers(0, 256, size=(5000, columns)).astype(np.uint8)
    rows, packed = rng.permutation(5000).astype(np.int32), rng.integers(-1000, 1000, size=5000)
    goes_left, stored = rng.integers(0, 2, size=256), 2
    lefts, parts = np.empty(4, dtype=np.int64), np.empty(4 * columns * 256, dtype=np.int64)
    before, board = rows.copy(), new_board(threads)
    growth = growth_of(codes, rows, packed, goes_left, lefts, parts)
    with with_assistants(lambda _: follow(growth, board), threads):
        for kind in (FILL, DIVIDE, PLACE):
            lead(kind, start, stop, 4, stored, growth, board)
    board[OVER] = 1

    own = before[start:stop]
    histogram = np.zeros((columns, 256), dtype=np.int64)
    for j in range(columns):
        np.add.at(histogram[j], codes[own, j], packed[own])
    np.testing.assert_array_equal(parts.reshape(4, columns, 256).sum(axis=0), histogram)
    left = goes_left[codes[own, stored]] == 1
    assert lefts.sum() == left.sum()
    np.testing.assert_array_equal(rows[start:stop], np.concatenate([own[left], own[~left]]))
    np.testing.assert_array_equal(np.delete(rows, np.s_[start:stop]), np.delete(before, np.s_[start:stop]))


@pytest.mark.parametrize("columns", [4, 60])
def test_trees_are_the_same_on_any_number_of_threads(columns, monkeypatch):
    """Few columns: threads take rows. Many: they take columns. Some values are missing, one column is categories."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, columns)).round(2)
    X[:, 1] = rng.integers(0, 9, size=len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 2]) + (X[:, 1] == 4) + rng.normal(size=len(X))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(growing, "threads_for", lambda work, threads=threads: threads)
        model = HistGradientBoostingRegressor(max_iter=3, categorical_features=[1], early_stopping=False).fit(X, y)
        found.append(model.trees_)
    for other in found[1:]:
        for name, array in found[0].items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_a_pool_that_fills_up_is_made_larger_on_several_threads(monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(3000, 8)), rng.integers(0, 2, size=3000)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(growing, "threads_for", lambda work, threads=threads: threads)
        monkeypatch.setattr(growing, "SMALL_CELLS", 0)
        settings = {"max_leaf_nodes": None, "min_samples_leaf": 2, "max_iter": 2, "early_stopping": False}
        model = HistGradientBoostingClassifier(**settings).fit(X, y)
        assert np.diff(model.trees_["start"]).max() > 2 * growing.FIRST_HISTOGRAMS
        found.append(model.predict_proba(X))
    np.testing.assert_array_equal(*found)
