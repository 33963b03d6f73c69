"""Machines on sparse tables are those on the same tables written out."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone

import margin
from margin.core.invariants import Violation
from margin.kernels import RBF, SVC, SVR, LinearKernel, LinearSVC, dual, sparse_rows, squared_hinge
from margin.store.forms import form_of_class


@pytest.fixture(autouse=True)
def nothing_is_written_out(request, monkeypatch):
    """Small tables would be, and the products of sparse rows not be seen."""
    if "bits_of_the_dense" not in request.node.name:
        monkeypatch.setattr(sparse_rows, "SMALL_VALUES", 0)
        monkeypatch.setattr(sparse_rows, "FULL", 2.0)


def table(n, d, density=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=density, format="csr", rng=rng)
    w = rng.normal(size=d)
    return X, (X @ w + 0.1 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("shape", [(300, 20), (60, 150)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_machine_is_that_of_the_dense_table(loss, shape, fit_intercept):
    X, y = table(*shape)
    weights = np.random.default_rng(1).uniform(0, 2, shape[0])
    model = LinearSVC(loss=loss, fit_intercept=fit_intercept, tol=1e-10, C=3.0)
    dense, sparse = clone(model).fit(X.toarray(), y, weights), clone(model).fit(X, y, weights)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-6)
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X.toarray()), atol=1e-6)
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X.toarray()))
    assert sparse.n_iter_ == dense.n_iter_


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_conjugate_gradients_find_the_solution_of_the_factored_hessian(fit_intercept, monkeypatch):
    X, y = table(400, 80)
    direct = LinearSVC(tol=1e-10, C=10.0, fit_intercept=fit_intercept).fit(X, y)
    monkeypatch.setattr(squared_hinge, "DIRECT_COLUMNS", 0)
    for rows in (X, X.toarray()):
        found = LinearSVC(tol=1e-10, C=10.0, fit_intercept=fit_intercept).fit(rows, y)
        np.testing.assert_allclose(found.coef_, direct.coef_, atol=1e-7)
        np.testing.assert_allclose(found.intercept_, direct.intercept_, atol=1e-7)


def test_many_columns_against_the_peer():
    X, y = table(500, 6000, density=0.01)
    ours = LinearSVC(fit_intercept=False, tol=1e-9).fit(X, y)
    theirs = svm.LinearSVC(fit_intercept=False, dual=True, tol=1e-9, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_three_classes_and_resuming():
    X, y = table(400, 2000, density=0.02)
    y = y + (X[:, :200].sum(axis=1) > 0.9)
    whole = LinearSVC(C=5.0)
    records = [record.values for record in whole.iterate(X, y)]
    part, rest = LinearSVC(C=5.0), LinearSVC(C=5.0)
    first = [record.values for record in itertools.islice(part.iterate(X, y), 4)]
    second = [record.values for record in rest.iterate(X, y, state=part.get_state())]
    assert first + second == records
    np.testing.assert_array_equal(rest.coef_, whole.coef_)
    assert whole.coef_.shape == (3, 2000)


def test_a_sparse_table_is_not_written_out():
    """200,000 columns: the square of that, or the table itself as an array, would not fit."""
    X, y = table(2000, 200_000, density=2e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVC().fit(X, y)
    assert model.score(X, y) > 0.95


def test_bad_numbers_are_refused():
    X, y = table(50, 10)
    X.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LinearSVC().fit(X, y)


KERNELS = ["linear", "poly", "rbf", "laplace", 2.0 * RBF(0.7) + LinearKernel() * 0.5]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:24])
@pytest.mark.parametrize("size", [150, 400])
def test_kernel_machines_are_those_of_the_dense_table(kernel, size, monkeypatch):
    monkeypatch.setattr(dual, "WHOLE_ROWS", 200)
    monkeypatch.setattr(dual, "PART", 32)
    X, y = table(size, 12, density=0.3)
    third = X[:, [0]].toarray()[:, 0] > 0.8
    for model, target in ((SVC(kernel=kernel, tol=1e-8), y + third), (SVR(kernel=kernel, tol=1e-8), 1.0 * y)):
        dense, sparse = clone(model).fit(X.toarray(), target), clone(model).fit(sp.csc_matrix(X), target)
        assert sp.issparse(sparse.support_vectors_)
        assert sp.issparse(sparse.dual_coef_)
        assert sparse.dual_coef_.shape == dense.dual_coef_.shape
        np.testing.assert_allclose(sparse.objective_, dense.objective_, rtol=1e-7)
        np.testing.assert_allclose(sparse.predict(X), dense.predict(X.toarray()), atol=1e-5)
        # Fitted on one form, asked about the other.
        np.testing.assert_allclose(sparse.predict(X.toarray()), dense.predict(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_a_small_sparse_table_gives_the_bits_of_the_dense_one(kernel):
    X, y = table(150, 12, density=0.3)
    third = y + (X[:, [0]].toarray()[:, 0] > 0.8)
    dense, sparse = SVC(kernel=kernel).fit(X.toarray(), third), SVC(kernel=kernel).fit(X, third)
    np.testing.assert_array_equal(sparse.dual_coef_.toarray(), dense.dual_coef_)
    np.testing.assert_array_equal(sparse.support_, dense.support_)


def test_probabilities_and_gamma_of_sparse_rows():
    X, y = table(200, 12, density=0.3)
    model = SVC(probability=True, random_state=0, tol=1e-8)
    dense, sparse = clone(model).fit(X.toarray(), y), clone(model).fit(X, y)
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(X.toarray()), atol=1e-5)
    assert sparse.kernel_.length_scale == pytest.approx(dense.kernel_.length_scale, rel=1e-12)


def test_sparse_machine_of_many_columns_is_the_peers():
    X, y = table(2500, 20_000, density=1e-3)
    ours, theirs = SVC(kernel="linear", C=0.5).fit(X, y), svm.SVC(kernel="linear", C=0.5).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-3)


def test_sparse_support_vectors_are_stored(tmp_path):
    X, y = table(150, 12, density=0.3)
    third = y + (X[:, [0]].toarray()[:, 0] > 0.8)
    for model in (SVC().fit(X, third), SVR().fit(X, y), SVR(epsilon=5.0).fit(X, y)):
        margin.save(model, tmp_path / "m.safetensors")
        again = margin.load(tmp_path / "m.safetensors")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.dual_coef_.toarray(), model.dual_coef_.toarray())


def test_a_file_with_fewer_coefficients_than_it_claims_is_refused():
    X, y = table(150, 12, density=0.3)
    for model in (SVC().fit(X, y), SVR().fit(X, y)):
        fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
        form = form_of_class(type(model))
        form.check(fitted)
        with pytest.raises(Violation, match="dual_coef_ must store every coefficient"):
            form.check(fitted | {"dual_coef_": sp.csr_array(model.dual_coef_.shape)})


def test_weights_of_columns_are_sparse_for_sparse_rows():
    X, y = table(200, 12, density=0.3)
    third = y + (X[:, [0]].toarray()[:, 0] > 0.8)
    for model, target in ((SVC(kernel="linear", tol=1e-8), third), (SVR(kernel="linear", tol=1e-8), 1.0 * y)):
        dense, sparse = clone(model).fit(X.toarray(), target), clone(model).fit(X, target)
        assert sp.issparse(sparse.coef_)
        np.testing.assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=1e-6)
        with pytest.raises(ValueError, match="read-only"):
            sparse.coef_.data[0] = 1.0


def test_a_function_is_given_sparse_rows_as_they_are():
    X, y = table(120, 12, density=0.3)
    seen = []

    def product(rows, others):
        seen.append(sp.issparse(rows) and sp.issparse(others))
        return rows @ others.T

    named, given = SVC(kernel="linear").fit(X, y), SVC(kernel=product).fit(X, y)
    np.testing.assert_allclose(given.decision_function(X), named.decision_function(X), atol=1e-9)
    assert all(seen)
    with pytest.raises(ValueError, match=r"the function must give shape \(120, 120\); got \(120, 1\)"):
        SVC(kernel=lambda rows, others: rows[:, [0]]).fit(X, y)


def test_kernels_without_a_sparse_form_say_so():
    X, y = table(50, 5)
    with pytest.raises(ValueError, match="PeriodicKernel: sparse rows have no such kernel here"):
        SVC(kernel="periodic").fit(X, y)
    with pytest.raises(TypeError, match="parse"):
        SVC(kernel="precomputed").fit(X @ X.T, y)
