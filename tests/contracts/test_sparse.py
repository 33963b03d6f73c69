"""A sparse table says what the same table says dense, wherever a model's tags allow it."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import build, ids, outputs, problem, uses_torch

from margin import catalog
from margin.core import sparse_input
from margin.core.sparse_input import dense_rows

SPARSE = [
    entry
    for entry in catalog.ENTRIES
    if not uses_torch(entry) and build(entry).__sklearn_tags__().input_tags.sparse and entry.data == "table"
]
PARAMETERS = {"pca": {"svd_solver": "covariance_eigh"}}
DENSIFIED = ["decision-tree-classifier", "random-forest-regressor", "gradient-boosting-classifier", "kmeans"]


def sparse_problem(entry):
    """Half of the cells are zero."""
    X, y = problem(entry)
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    return X, y


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("entry", SPARSE, ids=ids)
def test_sparse_is_dense(entry, kind):
    X, y = sparse_problem(entry)
    params = PARAMETERS.get(entry.name, {})
    dense, thin = (build(entry, **params).fit(*([x] if y is None else [x, y])) for x in (X, kind(X)))
    expected, found = outputs(dense, X), outputs(thin, kind(X))
    for name in expected:
        if expected[name].dtype.kind == "f":
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert np.mean(found[name] == expected[name]) > 0.99


def test_most_classical_models_take_sparse_tables():
    names = {entry.name for entry in SPARSE}
    assert {"pca", "k-neighbors-regressor", "bagging-classifier", "adaboost-regressor", *DENSIFIED} <= names


@pytest.mark.parametrize("name", DENSIFIED)
def test_what_does_not_fit_the_memory_is_refused(name, monkeypatch):
    monkeypatch.setattr(sparse_input, "_memory", lambda: 1e9)
    entry = catalog.entry(name)
    X = sp.csr_array((np.ones(1000), (np.arange(1000), np.arange(1000))), shape=(1000, 1_000_000))
    y = np.arange(1000) % 2
    with pytest.raises(ValueError, match=r"must be small enough to be made dense, at most 0\.2 GB; got a sparse"):
        build(entry).fit(X, y)


def test_dense_rows_stay_what_they_are():
    X = np.eye(3)
    assert dense_rows("Model", X) is X
    assert dense_rows("Model", sp.csc_array(X)).flags.c_contiguous
