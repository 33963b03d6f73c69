"""Rows in float32 give coefficients and predictions in float32, which are those of float64 rows up to its rounding."""

import numpy as np
import pytest
import scipy.sparse as sp

from margin import store
from margin.linear import ElasticNet, Lasso, LogisticRegression, Ridge


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
