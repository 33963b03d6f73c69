"""Columns that share a stored one: nothing about the trees changes."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from tests.compiled.as_written import numbers

from margin.compiled.boosting import store
from margin.trees import GradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from margin.trees.boosting import boosting_rounds, bundling, growing
from margin.trees.boosting.bundle_kernels import shared_sums  # as it is written
from margin.trees.boosting.bundling import bundle, find_bundles
from margin.trees.boosting.histogram_kernels import add_rows
from margin.trees.boosting.kernel_types import COLUMN


def one_hot_table(n=3000, seed=0):
    """Two continuous columns, two one-hot groups, sparse counts that exclude each other, a constant; targets."""
    rng = np.random.default_rng(seed)
    color, shape = rng.choice(5, n, p=[0.7, 0.1, 0.1, 0.06, 0.04]), rng.integers(0, 9, n)
    kind, count = rng.integers(0, 6, n), rng.poisson(2.0, n)
    counts = np.where(np.arange(3) == kind[:, None], count[:, None], 0.0)
    real = rng.normal(size=(n, 2))
    X = np.column_stack([real[:, 0], np.eye(5)[color], counts, real[:, 1], np.eye(9)[shape], np.zeros(n)])
    y = real[:, 0] * (color == 1) + np.sin(shape) + 0.3 * counts[:, 1] + 0.1 * rng.normal(size=n)
    return X, y


def codes_of(X):
    return np.column_stack([np.unique(x, return_inverse=True)[1] for x in X.T]).astype(np.uint8)


def sparse_part():
    codes = codes_of(one_hot_table()[0][:, [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18]])
    return codes, codes.max(axis=0).astype(np.int64) + 1


def read_back(stored, bundles, n_bins):
    """Every column from the stored ones, written with masks."""
    found = []
    for column, base, bins in zip(bundles.stored, bundles.base, n_bins, strict=True):
        here = stored[:, column].astype(int)
        inside = (here > base) & (here <= base + bins - 1)
        found.append(here if base < 0 else np.where(inside, here - base, 0))
    return np.column_stack(found)


def test_nothing_is_lost():
    codes, n_bins = sparse_part()
    stored, bundles = bundle(codes, n_bins, np.zeros(17, dtype=bool))
    assert stored.shape[1] == 3  # colors, counts, shapes
    np.testing.assert_array_equal(read_back(stored, bundles, n_bins), codes)


def test_store_says_who_is_in_the_way():
    codes = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 3], [0, 0, 0]], dtype=np.uint8)
    bundles = bundling._bundles(np.zeros(3, dtype=np.int64), np.array([2, 2, 4]))
    stored, conflict = np.empty((4, 1), dtype=np.uint8), np.zeros(3, dtype=bool)
    columns = np.zeros(3, dtype=COLUMN)
    columns["stored"], columns["base"] = bundles.stored, bundles.base
    store(codes, columns, stored, conflict.view(np.uint8))
    assert conflict.tolist() == [False, False, True]
    assert stored[[0, 1, 3], 0].tolist() == [1, 2, 0]


def test_what_excludes_only_on_the_sample_is_kept_apart(monkeypatch):
    codes, n_bins = sparse_part()
    codes[1, [0, 1]] = 1  # a row that no sample of every 46th row sees
    codes[2, 8] = 255
    monkeypatch.setattr(bundling, "SAMPLE", 64)
    monkeypatch.setattr(bundling, "GLANCE", 64)
    n_bins = np.maximum(n_bins, 2)
    group = find_bundles(codes, n_bins, np.zeros(17, dtype=bool))
    assert group[0] == group[1]
    stored, bundles = bundle(codes, n_bins, np.zeros(17, dtype=bool))
    assert bundles.base[1] == bundles.base[8] == -1
    assert bundles.base[0] >= 0
    np.testing.assert_array_equal(read_back(stored, bundles, n_bins), codes)


def test_categories_missing_values_and_dense_columns_stay_by_themselves():
    codes, n_bins = sparse_part()
    categorical = np.zeros(17, dtype=bool)
    categorical[0] = True
    codes[::3, 2] = 255
    codes[:, 9] = 1
    bundles = bundle(codes, n_bins, categorical)[1]
    assert (bundles.base[[0, 2, 9]] == -1).all()
    assert (bundles.base >= 0).sum() == 14


@pytest.mark.parametrize("levels", [254, 255, 600])
def test_a_bundle_holds_254_codes(levels):
    codes = np.eye(levels, dtype=np.uint8)[np.random.default_rng(0).permutation(3 * levels) % levels]
    n_bins = np.full(levels, 2)
    stored, bundles = bundle(codes, n_bins, np.zeros(levels, dtype=bool))
    assert stored.shape[1] == -(-levels // 254)
    assert stored.max() <= 254
    np.testing.assert_array_equal(read_back(stored, bundles, n_bins), codes)


def test_a_dense_table_is_returned_as_it_is():
    codes = np.random.default_rng(0).integers(0, 255, (500, 4)).astype(np.uint8)
    stored, bundles = bundle(codes, np.full(4, 255), np.zeros(4, dtype=bool))
    assert stored is codes
    assert bundles is None


def test_sums_of_members_are_exact():
    codes, n_bins = sparse_part()
    stored, bundles = bundle(codes, n_bins, np.zeros(17, dtype=bool))
    rng = np.random.default_rng(2)
    cells = rng.integers(-(2**40), 2**40, len(codes))
    rows = np.sort(rng.choice(len(codes), 700, replace=False)).astype(np.int32)
    histogram = np.empty(stored.shape[1] * 256, dtype=np.int64)
    add_rows(numbers(stored), rows, 0, 700, cells, 0, stored.shape[1], histogram, 0)
    for j, (column, base) in enumerate(zip(bundles.stored, bundles.base, strict=True)):
        sums, twin = np.zeros(256, dtype=np.int64), np.zeros(n_bins[j], dtype=np.int64)
        growth = SimpleNamespace(pool=histogram, sums=sums)
        shared_sums(growth, 0, column * 256, cells[rows].sum(), base, n_bins[j])
        np.add.at(twin, codes[rows, j], cells[rows])
        np.testing.assert_array_equal(sums[base : base + n_bins[j] - 1], np.cumsum(twin)[:-1])
        assert not sums[:base].any()
        assert not sums[base + n_bins[j] - 1 :].any()


@pytest.fixture(autouse=True)
def _small_tables_share_too(monkeypatch):
    monkeypatch.setattr(boosting_rounds, "SHARING_CELLS", 0)


def without_bundles(monkeypatch):
    monkeypatch.setattr(boosting_rounds, "bundle", lambda codes, n_bins, categorical: (codes, None))


def fitted(model, X, y):
    """The model, and its running fit, which a finished ``fit`` drops."""
    for _ in model.iterate(X, y):
        pass
    return model, model._loop


SETTINGS = [
    {},
    {"max_features": 0.4},
    {"early_stopping": True},
    {"monotonic_cst": [1] + [0] * 5 + [0, 1, -1] + [0] * 11},
    {"categorical_features": [False] * 9 + [False, True] + [False] * 9},
    {"interaction_cst": [[0, 1, 2, 7], [3, 4, 10]], "max_features": 0.7},
]


def same_trees(one, other):
    for name, array in one.trees_.items():
        np.testing.assert_array_equal(array, other.trees_[name], err_msg=name)
    np.testing.assert_array_equal(one.train_score_, other.train_score_)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 4])
def test_trees_are_the_same_with_and_without(monkeypatch, settings, missing, classes):
    X, y = one_hot_table()
    if missing:
        X[::7, [0, 3, 12]] = np.nan
    if classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)
    if classes > 2 and "monotonic_cst" in settings:
        settings = {"max_leaf_nodes": None, "max_depth": 4}  # monotone columns need one output
    make = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = make(max_iter=6, min_samples_leaf=5, random_state=3, **settings)
    together, loop = fitted(model, X, y)
    assert loop.data.codes.shape[1] < X.shape[1] - 9
    used = together.trees_["feature"][together.trees_["feature"] >= 0]
    assert (loop.data.bundles.base[used] >= 0).any()
    without_bundles(monkeypatch)
    alone, loop = fitted(make(**model.get_params()), X, y)
    assert loop.data.codes.shape[1] == X.shape[1]
    same_trees(together, alone)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=8, random_state=1),
        HistGradientBoostingRegressor(max_iter=8, random_state=1, early_stopping=True),
        GradientBoostingRegressor(n_estimators=8, random_state=1, subsample=0.5, n_iter_no_change=5),
    ],
    ids=str,
)
def test_a_fit_continues_exactly(model):
    X, y = one_hot_table()
    whole = clone(model).fit(X, y)
    first = clone(model)
    for record in first.iterate(X, y):
        if record.iteration == 3:
            break
    second = clone(model)
    for _ in second.iterate(X, y, state=first.get_state()):
        pass
    same_trees(whole, second)
    np.testing.assert_array_equal(whole._raw(X), second._raw(X))


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    X, y = one_hot_table(40_000)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(growing, "threads_for", lambda work, threads=threads: threads)
        model = HistGradientBoostingRegressor(max_iter=4, early_stopping=False, random_state=0)
        found.append(fitted(model, X, y)[0])
        assert model._loop.grower.threads == threads
    same_trees(*found)


def test_rows_that_were_stored_end_where_rows_do_that_were_not():
    X, y = one_hot_table()
    model, loop = fitted(HistGradientBoostingRegressor(max_iter=5, random_state=0), X, y)
    np.testing.assert_array_equal(model._raw(X), loop.predictions)
