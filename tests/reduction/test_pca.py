"""PCA against scikit-learn and brute force: every solver, shape and precision; fractions, whitening, way back."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA as Reference

from margin.reduction import PCA, principal_components, projected_variance
from margin.reduction.scatter import centered_product, scatter

SETS = [load_iris, load_wine, load_breast_cancer, load_diabetes, load_digits]


@pytest.mark.parametrize("read", SETS)
@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full"])
@pytest.mark.parametrize("whiten", [False, True])
def test_same_as_scikit_learn(read, solver, whiten):
    X = read().data
    ours = PCA(3, svd_solver=solver, whiten=whiten).fit(X)
    theirs = Reference(3, svd_solver="full", whiten=whiten).fit(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-7)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-9)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-8)
    scale = np.abs(theirs.transform(X)).max()
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-7 * scale)
    back, reference = ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X))
    np.testing.assert_allclose(back, reference, atol=1e-9 * scale)
    plain = Reference(3, svd_solver="full").fit(X)  # the model of the data is the same with and without whitening
    np.testing.assert_allclose(ours.get_covariance(), plain.get_covariance(), rtol=1e-7, atol=1e-8 * scale**2)


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (20, 20), (2, 5), (5, 1)])
@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full"])
def test_all_components_rebuild_every_shape(shape, solver):
    X = np.random.default_rng(0).normal(size=shape) + 3
    model = PCA(svd_solver=solver).fit(X)
    k = min(shape)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-6)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)


def test_a_fraction_of_variance_takes_as_few_components_as_reach_it():
    X = load_digits().data
    for fraction in (0.1, 0.5, 0.95, 0.999):
        assert PCA(fraction).fit(X).n_components_ == Reference(fraction, svd_solver="full").fit(X).n_components_


def test_single_precision_stays_and_agrees():
    X = load_digits().data
    ours = PCA(10).fit(X.astype(np.float32))
    assert {ours.components_.dtype, ours.mean_.dtype, ours.transform(X.astype(np.float32)).dtype} == {np.dtype("f4")}
    np.testing.assert_allclose(ours.explained_variance_, PCA(10).fit(X).explained_variance_, rtol=1e-5)


def test_an_offset_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(5000, 4)) * [4, 3, 2, 1]
    near, far = PCA(svd_solver="covariance_eigh").fit(X), PCA(svd_solver="covariance_eigh").fit(X + 1e6)
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(far.transform(X + 1e6), near.transform(X), atol=1e-8)


def test_auto_turns_to_the_svd_where_the_gram_matrix_has_lost_a_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 1.0, 1e-9]
    auto = PCA().fit(X)
    assert auto.svd_solver_ == "full"
    assert auto.explained_variance_[2] == pytest.approx(X[:, 2].var(ddof=1), rel=0.05)
    assert PCA(2).fit(X).svd_solver_ == "covariance_eigh"


def test_whitened_coordinates_have_unit_covariance():
    Z = PCA(5, whiten=True).fit_transform(load_digits().data)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(5), atol=1e-10)


def test_blocks_and_chunks_do_not_change_the_result(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 5)) + np.array([0, 10, -5, 1, 2])
    whole = X - X.mean(axis=0)
    for table in (X, np.asfortranarray(X), X[::-1]):
        mean, S = scatter(table)
        np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(S, whole.T @ whole, rtol=1e-11, atol=1e-8)
    bits = []
    for threads in (1, 2):
        monkeypatch.setattr("margin.core.threads.available", lambda threads=threads: threads)
        bits.append((scatter(X).matrix.tobytes(), centered_product(X, X.mean(axis=0), np.eye(5)).tobytes()))
    assert bits[0] == bits[1]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 30), st.integers(1, 6), st.integers(0, 2**16))
def test_variance_of_projections_is_a_quadratic_form(n, p, seed):
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(n, p)), rng.normal(size=(p, 4))
    np.testing.assert_allclose(projected_variance(X, U), np.var(X @ U, axis=0), rtol=1e-10, atol=1e-12)
    best = principal_components(X, 1).variances[0]
    assert (projected_variance(X, U / np.linalg.norm(U, axis=0)) <= best * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X: PCA(9).fit(X), r"PCA: n_components must be at most min\(rows, columns\) = 3; got 9"),
        (lambda X: principal_components(X, 4), r"k must be from 1 to min\(6, 3\); got 4"),
        (lambda X: principal_components(X, solver="qr"), "solver must be one of auto, covariance_eigh, full; got 'qr'"),
        (lambda X: PCA(2).fit(X).inverse_transform(X), r"Z must have 2 columns; got shape \(6, 3\)"),
        (lambda X: projected_variance(X, [1.0]), "direction must have one number per column"),
        (lambda X: principal_components(np.full((3, 2), np.nan)), "X must be finite"),
        (lambda X: PCA().fit(X[:1]), "minimum of 2"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(np.random.default_rng(0).normal(size=(6, 3)))


def test_constant_rows_have_no_variance():
    model = PCA().fit(np.ones((4, 2)))
    assert model.explained_variance_.tolist() == [0, 0]
    assert np.isfinite(PCA(whiten=True).fit_transform(np.ones((4, 2)))).all()


@pytest.mark.parametrize("read", SETS[:4])
def test_likelihoods_are_the_peers(read):
    X = read().data
    for k in (1, 3):
        ours, theirs = PCA(k).fit(X[::2]), Reference(k, svd_solver="full").fit(X[::2])
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
        assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-7)
        np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-5, atol=1e-8)


def test_likelihood_needs_noise_left_over():
    with pytest.raises(ValueError, match="covariance of full rank"):
        PCA().fit(np.random.default_rng(0).normal(size=(5, 9))).score_samples(np.zeros((1, 9)))


@pytest.mark.parametrize("read", [*SETS[:4], None])
def test_the_most_likely_number_is_the_peers(read):
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(300, 3)) @ rng.normal(size=(3, 12)) * 3 + rng.normal(size=(300, 12))
        if read is None
        else read().data
    )
    assert PCA("mle").fit(X).n_components_ == Reference("mle", svd_solver="full").fit(X).n_components_
    if read is None:
        assert PCA("mle").fit(X).n_components_ == 3


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
def test_truncated_solvers_find_the_leading_components(solver, shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0], 5)) * [9, 7, 5, 4, 3] @ rng.normal(size=(5, shape[1])) + 0.1 * rng.normal(size=shape)
    model, exact = PCA(5, svd_solver=solver, random_state=0).fit(X), PCA(5, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(model.components_, exact.components_, atol=1e-4)
    assert model.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-5)
    assert model.svd_solver_ == solver
    np.testing.assert_array_equal(PCA(5, svd_solver=solver, random_state=0).fit(X).components_, model.components_)


def test_parameters_of_the_truncated_solvers_act():
    X = load_digits().data
    exact = PCA(20, svd_solver="full").fit(X)

    def error(**settings):
        model = PCA(20, random_state=0, **settings).fit(X)
        return np.abs(model.explained_variance_ - exact.explained_variance_).max()

    sketch = {"svd_solver": "randomized", "power_iteration_normalizer": "QR"}
    errors = [error(iterated_power=q, **sketch) for q in (0, 1, 4)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert error(iterated_power=0, n_oversamples=40, **sketch) < 0.5 * errors[0]
    # Powers of a matrix leave nothing but its largest direction, unless they are normalized on the way.
    qr, lu, none = (
        error(svd_solver="randomized", iterated_power=40, power_iteration_normalizer=n) for n in ("QR", "LU", "none")
    )
    assert max(qr, lu) < 1e-6
    assert none > 0.1
    assert error(svd_solver="arpack", tol=0.0) < 1e-9 < error(svd_solver="arpack", tol=0.5)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_components": 0.5, "svd_solver": "randomized"}, "needs a number of components; got 0.5"),
        (
            {"n_components": 3, "svd_solver": "arpack"},
            r"n_components must be below min\(rows, columns\) = 3 for svd_solver='arpack'; got 3",
        ),
    ],
)
def test_what_truncated_solvers_cannot_do(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        PCA(**settings).fit(np.random.default_rng(0).normal(size=(6, 3)))
    with pytest.raises(ValueError, match="'mle' needs at least as many rows"):
        PCA("mle").fit(np.zeros((3, 6)))


def test_a_fraction_that_is_a_sum_of_ratios_is_exceeded():
    """As in scikit-learn, the components explain more than the fraction, also when it was read off an earlier fit."""
    X = np.random.default_rng(0).normal(size=(80, 6)) * [5, 4, 3, 2, 1, 0.5]
    for solver in ("full", "covariance_eigh", "auto"):
        ratios = PCA(svd_solver=solver).fit(X).explained_variance_ratio_
        for k in range(1, 6):
            model = PCA(n_components=float(ratios.cumsum()[k - 1]), svd_solver=solver).fit(X)
            assert model.n_components_ == k + 1


def test_a_dependent_column_is_not_counted():
    X = np.random.default_rng(0).normal(size=(500, 6))
    X[:, -1] = X[:, :-1].mean(axis=1)
    assert PCA("mle").fit(X).n_components_ == 5


@pytest.mark.parametrize("solver", ["full", "randomized"])
def test_a_solver_without_a_sparse_form_is_a_type_error_as_in_scikit_learn(solver):
    X = sp.random_array((20, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    for kind in (PCA, Reference):
        with pytest.raises(TypeError, match="sparse"):
            kind(2, svd_solver=solver).fit(X)
