"""Coefficients kept sparse predict the same, go to a file and come back, and can become dense again."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import margin
from margin.kernels import LinearSVC
from margin.linear import LogisticRegression


@pytest.mark.parametrize("model", [LogisticRegression(l1_ratio=1.0, C=0.1), LinearSVC(penalty="l1", dual=False, C=0.1)])
@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_coefficients_predict_the_same(model, classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model.fit(X, y)
    dense, scores = model.coef_, model.decision_function(X)
    assert (dense == 0).any()
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), scores)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), scores)
    margin.save(model, tmp_path / "model.margin")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.margin").predict(X), model.predict(X))
    np.testing.assert_array_equal(model.densify().coef_, dense)
    model.sparsify().fit(X, y)
    np.testing.assert_array_equal(model.coef_, dense)


def test_there_must_be_coefficients():
    with pytest.raises(NotFittedError):
        LogisticRegression().sparsify()
