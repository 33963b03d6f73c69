"""UMAP: its graph and curve by definition, its compiled epoch by a plain loop, its map by what it keeps."""

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

from margin.compiled.reduction import epoch
from margin.reduction import PCA, UMAP, curve_parameters, fuzzy_cross_entropy, fuzzy_graph
from margin.reduction.fuzzy import local_scales, memberships
from margin.reduction.umap import initial_positions


def test_every_row_has_its_own_scale():
    gaps = np.sort(np.random.default_rng(0).exponential(size=(20, 7)), axis=1)
    rho, sigma = local_scales(gaps)
    np.testing.assert_array_equal(rho, gaps[:, 0])
    for row, scale in zip(gaps, sigma):
        found = brentq(lambda s, row=row: np.exp(-(row - row[0]) / s).sum() - np.log2(7), 1e-6, 1e3)
        assert scale == pytest.approx(found, rel=1e-9)


def test_equal_rows_do_not_break_the_scales():
    gaps = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    weights = memberships(gaps, *local_scales(gaps))
    assert np.isfinite(weights).all()
    assert (weights > 0).all()


def test_the_graph_is_the_fuzzy_union():
    X = np.random.default_rng(1).normal(size=(30, 3))
    W = fuzzy_graph(X, 5).toarray()
    gaps = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    P = np.zeros((30, 30))
    for i in range(30):
        near = np.argsort(gaps[i])[1:6]
        rho, sigma = local_scales(gaps[i, near][None])
        P[i, near] = memberships(gaps[i, near][None], rho, sigma)[0]
    np.testing.assert_allclose(W, P + P.T - P * P.T, atol=1e-12)


def test_the_published_curve():
    """The reference implementation prints a = 1.577 and b = 0.8951 for a minimal distance of 0.1."""
    np.testing.assert_allclose(curve_parameters(0.1, 1.0), (1.577, 0.8951), rtol=1e-3)


def plain_epoch(heads, tails, period, due, now, Y, a, b, rate, pushes, state):
    Y, due = Y.copy(), due.copy()
    for e in range(len(heads)):
        if due[e] > now:
            continue
        due[e] += period[e]
        i, j = heads[e], tails[e]
        gap = Y[i] - Y[j]
        s = gap @ gap
        move = rate * np.clip(-2 * a * b * s**b / (s * (1 + a * s**b)) * gap, -4, 4)
        Y[i] += move
        Y[j] -= move
        for _ in range(pushes):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            k = (state >> 33) % len(Y)
            if k != i:
                gap = Y[i] - Y[k]
                s = gap @ gap
                Y[i] += rate * np.clip(2 * b / ((1e-3 + s) * (1 + a * s**b)) * gap, -4, 4)
    return Y, due, state


def test_the_compiled_epoch_is_the_plain_one():
    rng = np.random.default_rng(2)
    heads, tails = rng.integers(12, size=40), rng.integers(12, 24, size=40)
    period, Y = rng.uniform(1, 3, size=40), rng.normal(size=(24, 2))
    due, random = period.copy(), np.array([12345], dtype=np.uint64)
    wanted, wanted_due, state = plain_epoch(heads, tails, period, due, 2.0, Y, 1.5, 0.9, 0.7, 3, 12345)
    epoch(heads, tails, period, due, 2.0, Y, 1.5, 0.9, 0.7, 3, random)
    np.testing.assert_allclose(Y, wanted, rtol=1e-12)
    np.testing.assert_array_equal(due, wanted_due)
    assert int(random[0]) == state


def test_neighbors_stay_neighbors():
    X, _ = load_digits(return_X_y=True)
    model = UMAP(random_state=0, n_epochs=150).fit(X[:500])
    assert trustworthiness(X[:500], model.embedding_, n_neighbors=10) > 0.96
    assert trustworthiness(X[:500], PCA(2).fit_transform(X[:500]), n_neighbors=10) < 0.9


def test_the_cross_entropy_is_the_sum_over_pairs():
    rng = np.random.default_rng(4)
    Y, W = rng.normal(size=(5, 2)), rng.uniform(0.05, 0.95, size=(5, 5))
    W = (W + W.T) / 2
    total = 0.0
    for i in range(5):
        for j in range(i):
            w, v = W[i, j], 1 / (1 + 1.5 * np.linalg.norm(Y[i] - Y[j]) ** 1.8)
            total += w * np.log(w / v) + (1 - w) * np.log((1 - w) / (1 - v))
    assert fuzzy_cross_entropy(W, Y, 1.5, 0.9) == pytest.approx(total, rel=1e-12)


def test_new_rows_are_placed_among_their_neighbors():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(50, 4)), rng.normal(size=(50, 4)) + 15])
    model = UMAP(n_neighbors=8, n_epochs=100, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    new = model.transform(rng.normal(size=(5, 4)) + 15)
    centers = model.embedding_[:50].mean(axis=0), model.embedding_[50:].mean(axis=0)
    assert (np.linalg.norm(new - centers[1], axis=1) < np.linalg.norm(new - centers[0], axis=1)).all()


def test_the_first_places_are_those_asked_for():
    X = np.random.default_rng(5).normal(size=(60, 2)) * [5.0, 1.0]
    graph, rng = fuzzy_graph(X, 8), np.random.default_rng(0)
    principal = initial_positions(X, graph, 2, "pca", rng)
    assert abs(np.corrcoef(principal[:, 0], X[:, 0])[0, 1]) > 0.999  # as many axes as columns are enough
    spectral = initial_positions(X, graph, 2, "spectral", rng)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    vector = spectral[:, 0] / np.sqrt(degrees)
    walk = (graph @ vector) / degrees  # an eigenvector of the random walk on the graph
    assert np.corrcoef(walk, vector)[0, 1] > 0.999
    assert np.ptp(initial_positions(X, graph, 2, "random", rng)) > 15


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_neighbors": 20}, "UMAP: n_neighbors must be below the number of rows, 20; got 20"),
        ({"min_dist": 4.0}, "UMAP: min_dist must be at most 3"),
    ],
)
def test_what_cannot_be_is_said(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        UMAP(**{"n_neighbors": 5} | options).fit(np.random.default_rng(0).normal(size=(20, 3)))
