"""Kernels that scikit-learn knows by name, and machines that use them, against scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge as SklearnRidge
from sklearn.metrics.pairwise import pairwise_kernels

import margin
from margin.kernels import SVC, SVR, KernelRidge
from margin.kernels.kernel_names import named_kernel

RNG = np.random.default_rng(3)
X, Z = np.abs(RNG.normal(size=(40, 3))), np.abs(RNG.normal(size=(9, 3)))
X[0], Z[0, 0] = 0.0, 0.0
Y = np.sin(X.sum(axis=1)) + 0.1 * RNG.normal(size=40)
OPTIONS = {
    "sigmoid": {"gamma": 0.3, "coef0": -0.4},
    "laplacian": {"gamma": 0.3},
    "cosine": {},
    "chi2": {"gamma": 0.3},
    "additive_chi2": {},
    "polynomial": {"gamma": 0.3, "degree": 2, "coef0": 0.5},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_values_are_those_of_scikit_learn(name):
    options = {"gamma": "auto", "degree": 3, "coef0": 0.0, **OPTIONS[name]}
    kernel = named_kernel(name, options["gamma"], options["degree"], options["coef0"], X)
    theirs = pairwise_kernels(X, Z, metric=name, **OPTIONS[name])
    np.testing.assert_allclose(kernel(X, Z), theirs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.diag(kernel(X)), kernel.diag(X), atol=1e-12)
    for start in range(9):
        np.testing.assert_allclose(kernel(X, Z[start : start + 1])[:, 0], kernel(X, Z)[:, start], atol=1e-14)


@pytest.mark.parametrize("name", OPTIONS)
def test_kernel_ridge_is_that_of_scikit_learn(name, tmp_path):
    ours = KernelRidge(alpha=0.1, kernel=name, **OPTIONS[name]).fit(X, Y)
    theirs = SklearnRidge(alpha=0.1, kernel=name, **OPTIONS[name]).fit(X, Y)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-6, atol=1e-8)
    margin.save(ours, tmp_path / "model.margin")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.margin").predict(Z), ours.predict(Z))


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_kernel_ridge_takes_sparse_rows(name):
    options = {"alpha": 0.1, "kernel": name, "gamma": 0.4}
    dense, sparse = KernelRidge(**options).fit(X, Y), KernelRidge(**options).fit(sp.csc_matrix(X), Y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(Z)), dense.predict(Z), atol=1e-8)


@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_machines_with_a_sigmoid_are_those_of_scikit_learn(rows):
    """A narrow sigmoid is close to positive semi-definite on these rows, so both machines end at one optimum."""
    options = {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.1, "tol": 1e-6}
    labels = (np.median(Y) < Y).astype(int)
    np.testing.assert_allclose(
        SVC(**options).fit(rows, labels).decision_function(X),
        svm.SVC(**options).fit(rows, labels).decision_function(X),
        atol=1e-3,
    )
    np.testing.assert_allclose(
        SVR(**options).fit(rows, Y).predict(X), svm.SVR(**options).fit(rows, Y).predict(X), atol=1e-3
    )


def test_histograms_are_not_negative():
    with pytest.raises(ValueError, match="ChiSquaredKernel: X must hold numbers at least 0; got -1"):
        KernelRidge(kernel="chi2").fit(X - 1, Y)


def test_an_infinite_cost_is_a_large_one():
    labels = (X[:, 0] > 0.5).astype(int)
    for model, target in ((SVC, labels), (SVR, Y)):
        infinite, large = (model(C=C, gamma=1.0).fit(X, target).predict(Z) for C in (np.inf, 1e10))
        np.testing.assert_array_equal(infinite, large)


def test_probabilities_belong_to_the_fit():
    model = SVC().fit(X, Y > 0.5)
    model.probability = True
    with pytest.raises(NotFittedError, match="needs a fit with probability=True"):
        model.predict_proba(X)


def test_a_machine_without_support_vectors_predicts_a_constant():
    flat = sp.csr_array(np.eye(4))
    model = SVR(epsilon=0.5).fit(flat, np.full(4, 0.2))
    np.testing.assert_allclose(model.predict(flat), np.full(4, model.intercept_[0]))
    np.testing.assert_array_equal(
        SVR(epsilon=0.5).fit(np.eye(4), np.full(4, 0.2)).predict(np.eye(4)), model.predict(flat)
    )
