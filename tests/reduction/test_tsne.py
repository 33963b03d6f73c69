"""Affinities against their definitions, forces against NumPy and finite differences, t-SNE against scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE as Reference
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from margin.compiled.reduction import pulls, pulls_in_plane, pushes, pushes_in_plane
from margin.reduction import (
    TSNE,
    Isomap,
    bandwidths,
    conditional_affinities,
    joint_affinities,
    kl_divergence,
    kl_gradient,
    student_similarities,
)
from margin.reduction.tsne_affinities import sparse_affinities


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("perplexity", [1.5, 5, 30, 55])
@pytest.mark.parametrize("power", [None, "intrinsic"])
def test_rows_are_distributions_of_the_given_perplexity(perplexity, power):
    P = conditional_affinities(rows(), perplexity, power)
    assert (np.diag(P) == 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    entropy = -np.sum(P * np.log(np.maximum(P, 1e-300)), axis=1)
    np.testing.assert_allclose(entropy, np.log(perplexity), atol=1e-5)
    J = joint_affinities(P)
    np.testing.assert_array_equal(J, J.T)
    assert J.sum() == pytest.approx(1)


def test_affinities_are_gaussians_of_their_bandwidths():
    X = rows()
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    weights = np.exp(-squares / (2 * bandwidths(X, 10)[:, None] ** 2))
    np.fill_diagonal(weights, 0)
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(conditional_affinities(X, 10), expected, atol=1e-10)


def test_dense_regions_have_small_bandwidths():
    X = np.vstack([0.1 * rows(40), 3 * rows(40, seed=1) + 20])
    sigma = bandwidths(X, 10)
    assert sigma[:40].max() < sigma[40:].min()


def test_all_neighbors_kept_is_the_dense_matrix():
    X = rows(30)
    np.testing.assert_allclose(
        sparse_affinities(TSNE(perplexity=20), X).toarray(), joint_affinities(conditional_affinities(X, 20)), atol=1e-10
    )


@pytest.mark.parametrize("d", [1, 2, 3])
def test_gradient_is_that_of_finite_differences_and_of_the_kernels(d):
    P, Y, h = joint_affinities(conditional_affinities(rows(20), 5)), rows(20, d, seed=2), 1e-6
    numeric = np.zeros_like(Y)
    for place in np.ndindex(*Y.shape):
        step = np.zeros_like(Y)
        step[place] = h
        numeric[place] = (kl_divergence(P, Y + step) - kl_divergence(P, Y - step)) / (2 * h)
    np.testing.assert_allclose(kl_gradient(P, Y), numeric, atol=1e-7)
    single = np.ascontiguousarray(Y.T, dtype=np.float32)
    push, sums = np.empty_like(single), np.empty(20, np.float32)
    pushes(0, 1, single, *np.empty((2, d, 64), np.float32), push, sums)
    gaps = Y[:, None] - Y
    w = 1 / (1 + (gaps**2).sum(axis=2))
    np.testing.assert_allclose(sums, w.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(push.T, (w[:, :, None] ** 2 * gaps).sum(axis=1), atol=1e-5)
    pull, spread = np.empty((d, 20)), np.empty(400)
    pulls(0, 20, np.arange(0, 401, 20), np.tile(np.arange(20, dtype=np.int32), 20), P.ravel(), single, pull, spread)
    np.testing.assert_allclose(pull.T, ((P * w)[:, :, None] * gaps).sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(spread.reshape(20, 20), 1 / w, rtol=1e-5)


def test_kernels_of_the_plane_have_the_bits_of_those_of_any_number_of_axes():
    Y = np.ascontiguousarray(rows(150, 2, seed=3).T, dtype=np.float32)
    rng = np.random.default_rng(0)
    starts, neighbors, P = np.arange(0, 1501, 10), rng.integers(0, 150, 1500).astype(np.int32), rng.random(1500)
    found = []
    for push_kernel, pull_kernel, axes in ((pushes, pulls, 2), (pushes_in_plane, pulls_in_plane, 0)):
        push, sums, pull, spread = np.empty_like(Y), np.empty(150, np.float32), np.empty(Y.shape), np.empty(1500)
        push_kernel(0, 3, Y, *np.empty((axes, 2, 64), np.float32), push, sums)
        pull_kernel(0, 150, starts, neighbors, P, Y, pull, spread)
        without = np.empty(Y.shape)
        pull_kernel(0, 150, starts, neighbors, P, Y, without, np.empty(0))
        found.append([push, sums, pull, spread, without])
    for ours, others in zip(*found):
        np.testing.assert_array_equal(ours, others)
    np.testing.assert_array_equal(found[0][2], found[0][4])


def test_similarities_sum_to_one():
    Q = student_similarities(rows(20, 2))
    assert Q.sum() == pytest.approx(1)
    assert (np.diag(Q) == 0).all()


def test_digits_separate_as_well_as_scikit_learns():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    model = TSNE(random_state=0)
    kl = [record["kl"] for record in model.iterate(X)]
    P = sparse_affinities(TSNE(), X).toarray()
    theirs = Reference(random_state=0, init="pca", method="exact").fit_transform(X)
    exact = kl_divergence(P, model.embedding_)
    assert model.kl_divergence_ == pytest.approx(exact, rel=1e-4)
    assert exact < kl_divergence(P, theirs.astype(float)) + 0.02
    late = kl[30:]
    assert all(after <= before + 1e-3 for before, after in pairwise(late))
    assert map_accuracy(model.embedding_, y) >= map_accuracy(theirs, y) - 0.01


def test_all_digits_separate():
    X, y = load_digits(return_X_y=True)
    assert map_accuracy(TSNE(max_iter=600, random_state=0).fit_transform(X), y) > 0.95


def map_accuracy(Y, y):
    """Every row told by its five nearest others, ten folds."""
    return cross_val_score(KNeighborsClassifier(5), Y, y, cv=10).mean()


def test_new_rows_stand_among_their_neighbors_and_fitted_rows_stay():
    X = np.vstack([rows(40), rows(40) + 30])
    model = TSNE(perplexity=8, max_iter=500, random_state=0).fit(X)  # after 300 a few rows are on their way
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    placed = model.transform(X + 1e-3)
    groups = np.repeat([0, 1], 40)
    centers = np.stack([model.embedding_[groups == g].mean(axis=0) for g in (0, 1)])
    spread = [model.embedding_[groups == g].std(axis=0).max() for g in (0, 1)]
    gaps = np.linalg.norm(placed[:, None] - centers, axis=2)
    assert (gaps.argmin(axis=1) == groups).all()
    assert (gaps[np.arange(80), groups] < 3 * np.max(spread)).all()  # inside the group, not merely on its side


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: TSNE(perplexity=30).fit(rows(20)),
            "perplexity must be from 1 to below the number of rows, 20",
        ),
        (lambda: conditional_affinities(rows(10), 9), "perplexity must be from 1 to below rows - 1 = 9; got 9"),
        (lambda: conditional_affinities(rows(), 5, "square"), "power must be None or 'intrinsic'; got 'square'"),
        (lambda: bandwidths([[1.0]]), r"X must have at least 3 rows; got shape \(1, 1\)"),
        (lambda: joint_affinities(np.ones((2, 3))), "P must be a square matrix"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_equal_rows_and_foreign_states():
    assert np.isfinite(TSNE(perplexity=2, max_iter=20, random_state=0).fit_transform(np.ones((12, 2)))).all()
    model = TSNE(perplexity=5, max_iter=20)
    list(model.iterate(rows()))
    state = model.get_state()
    with pytest.raises(ValueError, match=r"TSNE: state belongs to positions of shape \(2, 60\); got \(2, 30\)"):
        list(TSNE(perplexity=5).iterate(rows(30), state=state))


def test_the_largest_perplexity_weighs_all_rows_alike():
    X = rows(12)
    P = sparse_affinities(TSNE(perplexity=11.5), X).toarray()
    np.testing.assert_allclose(P[~np.eye(12, dtype=bool)], 1 / (12 * 11), rtol=0.2)
    assert np.isfinite(TSNE(perplexity=11.5, max_iter=50, random_state=0).fit(X).kl_divergence_)


@pytest.mark.parametrize("model", [TSNE(perplexity=5, max_iter=50, random_state=0), Isomap(n_neighbors=8)])
def test_sparse_rows_are_the_same_rows(model):
    X = rows(40)
    X[np.abs(X) < 0.3] = 0.0
    dense, sparse = (clone(model).fit(form) for form in (X, sp.csc_matrix(X)))
    np.testing.assert_array_equal(sparse.embedding_, dense.embedding_)
    np.testing.assert_array_equal(sparse.transform(sp.csr_array(X[:5])), dense.transform(X[:5]))


def test_float32_rows_have_float32_positions():
    X = np.random.default_rng(0).normal(size=(40, 3))
    wide = TSNE(perplexity=5, max_iter=60, random_state=0).fit(X)
    narrow = TSNE(perplexity=5, max_iter=60, random_state=0).fit(X.astype(np.float32))
    assert wide.embedding_.dtype == np.float64
    assert narrow.embedding_.dtype == np.float32
    again = narrow.transform(X[:5].astype(np.float32))
    np.testing.assert_allclose(again, narrow.embedding_[:5], rtol=1e-6)  # fitted rows stay where they are


def test_every_row_reaches_its_perplexity_where_newton_steps_go_to_and_fro():
    """One of these rows ended after 200 steps with an entropy of 4.6, not log 15: most points were its neighbors."""
    X = np.random.default_rng(1228).uniform(size=(200, 1000))
    P = conditional_affinities(X, 15, power="intrinsic")
    entropy = scipy.stats.entropy(P, axis=1)
    np.testing.assert_allclose(entropy, np.log(15), atol=1e-6)
