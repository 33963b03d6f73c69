"""Rows in float32 give coefficients and predictions in float32, which are those of float64 rows up to its rounding."""

import numpy as np
import pytest
import scipy.sparse as sp

from margin import store
from margin.bayes import LinearDiscriminantAnalysis
from margin.linear import ElasticNet, Lasso, LogisticRegression, Ridge
from margin.neural import MLPRegressor


@pytest.mark.parametrize(
    "model",
    [Ridge(alpha=0.3), Ridge(solver="sag", random_state=0, tol=1e-8), ElasticNet(alpha=0.05), Lasso(alpha=0.05)],
    ids=str,
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("targets", [1, 2])
def test_regression_in_the_precision_of_the_rows(model, form, targets, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = X @ rng.normal(size=(4, targets)) + 0.1 * rng.normal(size=(80, targets)) + 3.0
    Y = Y[:, 0] if targets == 1 else Y
    wide = model.fit(form(X), Y)
    coef, predicted = wide.coef_.copy(), wide.predict(form(X))
    assert coef.dtype == predicted.dtype == np.float64
    narrow = model.fit(form(X.astype(np.float32)), Y)
    answers = narrow.predict(form(X.astype(np.float32)))
    assert narrow.coef_.dtype == np.asarray(narrow.intercept_).dtype == answers.dtype == np.float32
    np.testing.assert_allclose(narrow.coef_, coef, atol=1e-5)
    np.testing.assert_allclose(answers, predicted, atol=1e-4)
    store.save(narrow, tmp_path / "model.safetensors")
    again = store.load(tmp_path / "model.safetensors").predict(form(X.astype(np.float32)))
    assert again.dtype == np.float32
    np.testing.assert_array_equal(again, answers)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_classification_in_the_precision_of_the_rows(classes, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.argmax(X @ rng.normal(size=(4, classes)) + rng.gumbel(size=(120, classes)), axis=1)
    wide = LogisticRegression(tol=1e-8).fit(form(X), y)
    narrow = LogisticRegression(tol=1e-8).fit(form(X.astype(np.float32)), y)
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    assert wide.coef_.dtype == np.float64
    np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=1e-3)  # several classes are descended in float32
    np.testing.assert_allclose(narrow.predict_proba(form(X)), wide.predict_proba(form(X)), atol=1e-4)


@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
def test_discriminants_in_the_precision_of_the_rows(solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    X[y == 1] += 1.0
    wide = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    narrow = LinearDiscriminantAnalysis(solver=solver).fit(X.astype(np.float32), y)
    assert wide.coef_.dtype == np.float64
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(narrow.predict(X), wide.predict(X))


def test_networks_answer_in_the_precision_of_the_rows():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0)
    for dtype in (np.float32, np.float64):
        model = MLPRegressor((4,), max_iter=3, random_state=0).fit(X.astype(dtype), y)
        assert model.predict(X.astype(dtype)).dtype == model.coefs_[0].dtype == dtype
