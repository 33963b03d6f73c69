"""Kernels of boosting: compiled and as they are written, the same bits, in whole fits of small tables."""

import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone
from tests.compiled.as_written import boosting_as_written
from tests.trees.boosting.test_growing_on_workers import Workers

from margin.compiled import boosting
from margin.trees import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from margin.trees.boosting import boosting_rounds, growing
from margin.trees.boosting.growing import UNLIMITED, TreeGrower, column_table
from margin.trees.boosting.growing_on_workers import GrowerOnWorkers
from margin.trees.boosting.kernel_types import NODE, SplitLimits
from margin.trees.boosting.packing import choose_packing

NAME = "margin.compiled.boosting"


def table(n=83, missing=True, seed=0):
    """Two smooth columns, one of few values, two of categories, three that exclude each other."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, n)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n), rng.integers(0, 9, n), rng.integers(0, 2, n)])
    y = X[:, 0] * (X[:, 3] > 4) + (kind == 1) + 0.3 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return np.column_stack([X, np.eye(4)[kind][:, 1:]]), y


def outcome(model, X, y, weight=None):
    model = clone(model).fit(X, y, sample_weight=weight)
    raw = model._raw(X).tobytes()
    return {**{name: array.tobytes() for name, array in model.trees_.items()}, "raw": raw, "apply": apply(model, X)}


def apply(model, X):
    return model.apply(X).tobytes() if hasattr(model, "apply") else b""


def same(monkeypatch, model, X, y, weight=None):
    compiled = outcome(model, X, y, weight)
    monkeypatch.setitem(sys.modules, NAME, boosting_as_written())
    with np.errstate(all="ignore"):  # a gain that is not allowed may be 0 / 0
        written = outcome(model, X, y, weight)
    assert len(compiled["start"]) > 8
    for name, found in compiled.items():
        assert found == written[name], name


few = {"max_iter": 2, "min_samples_leaf": 3, "max_leaf_nodes": 6, "early_stopping": False, "random_state": 1}
MODELS = [
    HistGradientBoostingRegressor(**few),
    HistGradientBoostingRegressor(**few | {"max_leaf_nodes": None, "max_depth": 3, "l2_regularization": 0.7}),
    HistGradientBoostingRegressor(**few | {"max_features": 0.4, "categorical_features": [2, 3]}),
    HistGradientBoostingRegressor(**few | {"monotonic_cst": [1, -1, 0, 0, 0, 1, 0, 0], "categorical_features": [3]}),
    HistGradientBoostingRegressor(**few | {"interaction_cst": [[0, 1], [3, 5, 6]], "max_features": 0.7}),
    HistGradientBoostingRegressor(**few | {"loss": "absolute_error", "early_stopping": True}),
    HistGradientBoostingClassifier(**few),
    HistGradientBoostingClassifier(**few | {"categorical_features": [3, 4], "early_stopping": True}),
]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_fits_of_histograms(model, shared, monkeypatch):
    """Rounds in one call, and trees one by one where columns are constrained or share a stored one."""
    X, y = table()
    if isinstance(model, HistGradientBoostingClassifier):
        y = np.digitize(y, [0.0, 0.8])
    monkeypatch.setattr(boosting_rounds, "SHARING_CELLS", 0 if shared else 10**9)
    same(monkeypatch, model, X, y)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_estimators=3, random_state=0, subsample=0.6, max_features=3),
        GradientBoostingRegressor(n_estimators=3, random_state=0, ccp_alpha=0.01),
        GradientBoostingClassifier(n_estimators=3, random_state=0),
    ],
    ids=str,
)
def test_fits_of_gradient_boosting(model, monkeypatch):
    X, y = table(60, missing=False)
    if isinstance(model, GradientBoostingClassifier):
        y = np.digitize(y, [0.0, 0.8])
    same(monkeypatch, model, X, y, weight=np.random.default_rng(3).uniform(0.2, 2.0, len(y)))


def limits(**changes):
    chosen = {"best_first": True, "max_leaves": 5, "max_depth": UNLIMITED, "min_split": 2, "min_leaf": 1}
    chosen |= {"min_hessian": 1e-3, "l2": 0.0, "min_gain": 0.0, "feature_fraction": 1.0, "random_ties": False}
    return SplitLimits(**(chosen | {"pooled_below": 1} | changes))


def growth(codes, g, h, rules, workers=0):
    """A tree and its sums as bytes; with ``workers`` the rows lie on as many of them."""
    p = codes.shape[1]
    bins = np.where(codes == 255, 0, codes).max(axis=0, initial=0).astype(np.int64) + 1
    columns = column_table(bins, np.zeros(p, dtype=bool), np.zeros(p, dtype=np.int64), None)
    if workers:
        grower = GrowerOnWorkers(codes, columns, rules, None, None, Workers(workers))
    else:
        grower = TreeGrower(codes, columns, rules)
    grown = grower.grow(g, h, seed=3, number=2)
    found, F = grower.sums(grown, g), np.zeros(len(g))
    grower.add(grown, found, F)
    return [part.tobytes() for part in (grown.nodes, grown.rows, grower.packed, found, F)]


@pytest.mark.parametrize("n", [1, 2, 5, 300])
@pytest.mark.parametrize("columns", [1, 3, 5, 17])
@pytest.mark.parametrize("constant", [True, False])
def test_trees_of_odd_shapes(n, columns, constant, monkeypatch):
    """Codes up to the last one, missing ones, rows alike; one column, and more than are searched together."""
    rng = np.random.default_rng(10 * n + columns)
    codes = rng.choice(np.array([0, 1, 7, 8, 200, 254, 255], dtype=np.uint8), size=(n, columns))
    codes[:, -1] = 4
    g, h = rng.normal(size=n) * 1e6, np.zeros(0) if constant else rng.uniform(0.0, 1e-3, n)
    for rules in (limits(), limits(min_leaf=2, random_ties=True), limits(best_first=False, max_depth=2)):
        compiled = growth(codes, g, h, rules)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, NAME, boosting_as_written())
            assert growth(codes, g, h, rules) == compiled


#: What a worker does with its rows, and what the caller makes of it.
OF_WORKERS = (
    "add_split", "choose_node", "count_codes", "divide_rows", "end_growth", "may_split", "open_root", "search_root",
    "write_sides",
)  # fmt: skip


def recording(module, called):
    """The same kernels, which say that they were called."""
    recorder = ModuleType("recorder")
    vars(recorder).update({name: value for name, value in vars(module).items() if not name.startswith("__")})
    for name in OF_WORKERS:

        def kernel(*arguments, name=name):
            called.add(name)
            return getattr(module, name)(*arguments)

        setattr(recorder, name, kernel)
    return recorder


@pytest.mark.parametrize("n", [1, 5, 300])
@pytest.mark.parametrize("columns", [1, 17])
@pytest.mark.parametrize("constant", [True, False])
def test_trees_whose_rows_lie_on_workers(n, columns, constant, monkeypatch):
    rng = np.random.default_rng(10 * n + columns)
    codes = rng.choice(np.array([0, 1, 7, 8, 200, 254, 255], dtype=np.uint8), size=(n, columns))
    g, h = rng.normal(size=n) * 1e6, np.zeros(0) if constant else rng.uniform(0.0, 1e-3, n)
    called = set()
    for rules in (limits(), limits(min_leaf=2, random_ties=True), limits(best_first=False, max_depth=2)):
        compiled = growth(codes, g, h, rules, workers=3)
        assert compiled == growth(codes, g, h, rules)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, NAME, recording(boosting_as_written(), called))
            assert growth(codes, g, h, rules, workers=3) == compiled
    assert called == set(OF_WORKERS) or n < 300


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_derivatives_of_any_size_are_packed(n, scale, monkeypatch):
    """Rounded to the nearest and at random; gradients that are all zero as well."""
    rng = np.random.default_rng(n)
    modules = boosting, boosting_as_written()
    for g in (rng.normal(size=n) * scale, np.zeros(n)):
        for h in (np.zeros(0), rng.random(n)):
            cells = np.empty((2, 2, n), dtype=np.int64)
            for kernels, own in zip(modules, cells, strict=True):
                monkeypatch.setitem(sys.modules, NAME, kernels)
                packing = choose_packing(g, h)
                for dithered in (False, True):
                    packing.dithered = dithered
                    kernels.pack(g, h, 7, packing, own[int(dithered)])
            np.testing.assert_array_equal(*cells)


def test_means_of_nodes():
    nodes, written = np.zeros(5, dtype=NODE), boosting_as_written()
    nodes["left"], nodes["right"] = [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    outcomes = []
    for kernels in (boosting, written):
        value, weight = np.array([0.0, 0.0, 1.5, 0.1, 0.7]), np.array([0.0, 0.0, 2.0, 0.3, 3.1])
        kernels.node_means(nodes, value, weight)
        outcomes.append((value.tobytes(), weight.tobytes()))
    assert outcomes[0] == outcomes[1]


def test_a_table_on_several_threads_is_grown_as_on_one(monkeypatch):
    """Also where threads divide rows, and where they fill histograms by rows."""
    rng = np.random.default_rng(5)
    codes, g = rng.integers(0, 256, size=(14_000, 5)).astype(np.uint8), rng.normal(size=14_000)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(growing, "threads_for", lambda work, threads=threads: threads)
        found.append(growth(codes, g, np.zeros(0), limits(max_leaves=8)))
    assert found[0] == found[1] == found[2]


def test_records_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        boosting.node_means(np.zeros(3, dtype=[("gain", np.float64)]), np.zeros(3), np.zeros(3))
