"""FastICA against known sources, correspondence analysis against chi-squared, MDS against distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import chi2_contingency
from sklearn.decomposition import FastICA as ReferenceICA
from sklearn.exceptions import ConvergenceWarning

from margin.reduction import (
    MDS,
    CorrespondenceAnalysis,
    FastICA,
    classical_coordinates,
    correspondence_analysis,
    double_centered,
    stress,
)
from margin.reduction.independent import CONTRASTS, fast_ica_step, orthonormal_rows
from margin.reduction.scaling import disparities, guttman_transform

TABLE = np.array([[18, 4, 2, 9], [3, 22, 7, 1], [5, 6, 19, 8]])


def mixed(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.uniform(-1, 1, n), rng.laplace(size=n), np.sign(np.sin(np.arange(n) / 9))])
    return S, S @ rng.normal(size=(3, 3)).T + 5


@pytest.mark.parametrize("fun", list(CONTRASTS))
def test_sources_are_found_as_scikit_learn_finds_them(fun):
    S, X = mixed()
    ours = FastICA(fun=fun, random_state=0).fit(X)
    match = np.abs(np.corrcoef(S.T, ours.transform(X).T)[:3, 3:])
    assert match.max(axis=1).min() > 0.97
    theirs = ReferenceICA(fun=fun, whiten="unit-variance", random_state=0, tol=1e-8, max_iter=1000).fit_transform(X)
    np.testing.assert_allclose(np.abs(np.corrcoef(ours.transform(X).T, theirs.T)[:3, 3:]).max(axis=1), 1, atol=1e-4)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, atol=1e-9)
    np.testing.assert_allclose(np.cov(ours.transform(X).T, bias=True), np.eye(3), atol=1e-9)


@pytest.mark.parametrize("fun", list(CONTRASTS))
def test_the_contrasts_slope_is_the_derivative(fun):
    u = np.random.default_rng(0).normal(size=(3, 50))
    h = 1e-6
    slope = (CONTRASTS[fun](u + h)[0] - CONTRASTS[fun](u - h)[0]) / (2 * h)
    np.testing.assert_allclose(CONTRASTS[fun](u)[1], slope.mean(axis=1), atol=1e-7)
    W = fast_ica_step(orthonormal_rows(np.random.default_rng(1).normal(size=(3, 3))), u, fun)
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-12)


def test_rank_and_convergence_are_told():
    _, X = mixed(200)
    flat = np.hstack([X, X[:, :1]])
    with pytest.warns(UserWarning, match="zero up to rounding; the other 3 give as many sources"):
        assert FastICA(random_state=0).fit(flat).components_.shape == (3, 4)
    with pytest.raises(ValueError, match="FastICA: the centered rows of X have rank 3; got n_components=4"):
        FastICA(4).fit(flat)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
        FastICA(max_iter=1, tol=0, random_state=0).fit(X)


def test_inertia_is_chi_squared_over_n_and_distances_are_those_of_profiles():
    found = correspondence_analysis(TABLE)
    chi2 = chi2_contingency(TABLE, correction=False).statistic
    assert found.inertia == pytest.approx(chi2 / TABLE.sum(), abs=1e-12)
    profiles = TABLE / TABLE.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pdist(found.rows), pdist(profiles / np.sqrt(found.column_masses)), atol=1e-12)
    np.testing.assert_allclose(found.row_masses @ found.rows, 0, atol=1e-12)
    rebuilt = np.outer(found.row_masses, found.column_masses) * (
        1 + (found.rows / found.singular_values) @ found.columns.T
    )
    np.testing.assert_allclose(rebuilt, TABLE / TABLE.sum(), atol=1e-12)


def test_new_rows_are_placed_by_their_profiles():
    model = CorrespondenceAnalysis().fit(TABLE)
    np.testing.assert_allclose(model.transform(TABLE), model.row_coordinates_, atol=1e-12)
    np.testing.assert_allclose(model.transform(7 * TABLE), model.row_coordinates_, atol=1e-12)
    np.testing.assert_allclose(model.transform(np.zeros((1, 4))), 0)
    empty = CorrespondenceAnalysis().fit(np.column_stack([TABLE, np.zeros(3)]))
    np.testing.assert_allclose(empty.row_coordinates_, model.row_coordinates_, atol=1e-12)


def points(n=40, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_classical_scaling_meets_euclidean_distances_and_places_new_rows():
    X = points()
    D = squareform(pdist(X))
    np.testing.assert_allclose(squareform(pdist(classical_coordinates(D)[0])), D, atol=1e-10)
    centered = X - X.mean(axis=0)
    np.testing.assert_allclose(double_centered(D), centered @ centered.T, atol=1e-10)
    model, new = MDS(metric_mds="classical").fit(X), points(5, seed=1)
    np.testing.assert_allclose(cdist(model.transform(new), model.embedding_), cdist(new, X), atol=1e-9)


def test_many_rows_iterate_to_the_same_axes_as_the_dense_decomposition():
    X = points(700, 5)
    D = squareform(pdist(X))
    values = classical_coordinates(D, 3)[1]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(double_centered(D))[::-1][:3], rtol=1e-8)


@pytest.mark.parametrize("metric_mds", [True, False])
@pytest.mark.parametrize("init", ["classical_mds", "random"])
def test_stress_never_rises(metric_mds, init):
    X = points(60, 6)
    model = MDS(metric_mds=metric_mds, init=init, normalized_stress=True, random_state=0)
    values = [record["stress"] for record in model.iterate(X)]
    assert (np.diff(values) <= 1e-9).all()
    assert model.stress_ == values[-1] < 0.4
    again = MDS(metric_mds=metric_mds, metric="precomputed", init=init, random_state=0).fit(squareform(pdist(X)))
    np.testing.assert_allclose(squareform(pdist(again.embedding_)), squareform(pdist(model.embedding_)), atol=1e-4)


def test_stress_is_lower_than_that_of_classical_scaling_and_of_random_moves():
    X, rng = points(50, 8), np.random.default_rng(0)
    D = squareform(pdist(X))
    best = MDS(eps=1e-12, max_iter=2000, normalized_stress=True).fit(X)
    assert best.stress_ < stress(D, classical_coordinates(D)[0])
    for _ in range(50):
        assert stress(D, best.embedding_ + 0.01 * rng.normal(size=(50, 2))) > best.stress_ - 1e-6


def test_guttman_transform_is_the_sum_over_pairs():
    Y = points(8)
    D = squareform(pdist(points(8, 4, seed=3)))
    by_hand = np.array([sum(D[i, j] / np.linalg.norm(Y[i] - Y[j]) * (Y[i] - Y[j]) for j in range(8) if j != i) / 8
                        for i in range(8)])  # fmt: skip
    np.testing.assert_allclose(guttman_transform(D, Y), by_hand, atol=1e-10)


def test_disparities_are_monotone_and_order_is_all_that_counts():
    D, Y = squareform(pdist(points(30, 4))), points(30)
    found = disparities(D, Y)
    upper = np.triu_indices(30, 1)
    order = np.argsort(D[upper])
    assert (np.diff(found.values[upper][order]) >= -1e-12).all()
    np.testing.assert_allclose(np.interp(D[upper], found.knots, found.heights), found.values[upper], atol=1e-9)
    for changed in (D**2, np.sqrt(D)):  # the same order at another size
        other = disparities(changed, Y).values
        scale = np.linalg.norm(changed) / np.linalg.norm(D)
        np.testing.assert_allclose(other, scale * found.values, rtol=1e-12)


@pytest.mark.parametrize(("metric_mds", "near"), [(True, 1e-3), ("classical", 1e-3), (False, 0.1)])
def test_fitted_rows_stay_and_new_ones_stand_near_their_neighbors(metric_mds, near):
    """A monotone function is known only between its knots, so non-metric positions are rougher."""
    X = points(60)
    model = MDS(metric_mds=metric_mds).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)
    new = X[:5] + 1e-4
    np.testing.assert_allclose(model.transform(new), model.embedding_[:5], atol=near)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: double_centered(np.ones((2, 3))), r"D must be a square matrix of distances; got shape \(2, 3\)"),
        (lambda: double_centered([[0.0, 1.0], [2.0, 0.0]]), "D must be symmetric and nowhere negative"),
        (lambda: double_centered(np.eye(2)), "D must be zero on its diagonal; got 1"),
        (lambda: classical_coordinates(np.zeros((2, 2)), 3), "k must be from 1 to 2; got 3"),
        (lambda: correspondence_analysis([[1.0, -1.0]]), "table must hold counts of at least zero"),
        (lambda: correspondence_analysis(TABLE, 3), "k must be from 1 to 2; got 3"),
        (lambda: CorrespondenceAnalysis().fit(np.zeros((3, 2))), "at least one positive count"),
        (lambda: FastICA(random_state=0).fit(mixed(50)[1]).inverse_transform([[1.0]]), "S must have 3 columns"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_states_of_other_problems_are_refused():
    _, X = mixed(100)
    ica, mds = FastICA(random_state=0), MDS()
    for model in (ica, mds):
        list(model.iterate(X))
    with pytest.raises(ValueError, match="FastICA: state belongs to 3 sources; got 2"):
        list(FastICA(random_state=0).iterate(X[:, :2], state=ica.get_state()))
    with pytest.raises(ValueError, match=r"MDS: state belongs to points of shape \(100, 2\); got \(50, 2\)"):
        list(MDS().iterate(X[:50], state=mds.get_state()))
