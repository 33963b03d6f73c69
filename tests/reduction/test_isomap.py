"""Graphs and paths against SciPy, Isomap against scikit-learn and the sheet that was rolled up."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from sklearn.manifold import Isomap as Reference
from sklearn.neighbors import NearestNeighbors

from margin.data import load
from margin.reduction import Isomap, components, epsilon_graph, knn_graph, shortest_paths
from margin.reduction.graphs import join_components, nearest_rows


def rows(n=80, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("d", [2, 20])
def test_nearest_rows_are_those_of_brute_force(d):
    X, Q = rows(300, d), rows(50, d, seed=1)
    gaps, index = nearest_rows(X, 7)
    theirs, where = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(X).kneighbors()
    np.testing.assert_allclose(gaps, theirs, atol=1e-9)
    np.testing.assert_array_equal(index, where)
    np.testing.assert_allclose(nearest_rows(X, 7, Q)[0], np.sort(cdist(Q, X), axis=1)[:, :7], atol=1e-12)


def test_equal_rows_are_neighbors_of_each_other_and_never_of_themselves():
    X = np.zeros((6, 2))
    gaps, index = nearest_rows(X, 3)
    assert (gaps == 0).all()
    assert (index != np.arange(6)[:, None]).all()
    assert shortest_paths(knn_graph(X, 5)).max() == 0


def test_graphs_are_symmetric_and_hold_the_right_pairs():
    X = rows()
    D = cdist(X, X)
    near = epsilon_graph(X, 0.9).toarray()
    np.testing.assert_allclose(near, np.where(D <= 0.9, D, 0), atol=1e-12)
    order = np.argsort(D + np.diag(np.full(80, np.inf)), axis=1)[:, :5]
    chosen = np.zeros((80, 80), dtype=bool)
    np.put_along_axis(chosen, order, True, axis=1)
    np.testing.assert_allclose(knn_graph(X, 5).toarray(), np.where(chosen | chosen.T, D, 0), atol=1e-12)


@pytest.mark.parametrize("metric", ["minkowski", "manhattan"])
def test_parts_of_equal_rows_are_joined_by_links_of_length_zero(metric):
    # More equal rows than neighbors: the graph falls into parts with no distance between them.
    X = np.repeat(np.array([[0.0, 1.0], [3.0, 1.0], [7.0, 1.0]]), 12, axis=0)
    with pytest.warns(UserWarning, match="parts"):
        model = Isomap(n_neighbors=3, n_components=1, metric=metric).fit(X)
    np.testing.assert_allclose(model.dist_matrix_, cdist(X, X), atol=1e-12)


@pytest.mark.parametrize("method", ["dijkstra", "floyd"])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_shortest_paths_are_those_of_scipy(method, k):
    W = knn_graph(rows(), k)  # with k=1 in many parts: infinite distances
    np.testing.assert_allclose(shortest_paths(W, method), shortest_path(W, method="D"), atol=1e-12)


def test_paths_are_the_same_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("margin.core.threads.WORK_PER_THREAD", 1)
    bits = []
    for threads in (1, 2):
        monkeypatch.setattr("margin.core.threads.available", lambda threads=threads: threads)
        bits.append(shortest_paths(knn_graph(rows(200), 5)).tobytes())
    assert bits[0] == bits[1]


def test_parts_are_joined_by_their_shortest_links():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [30.0], [31.0]])
    W = knn_graph(X, 1)
    assert components(W)[0] == 3
    joined = join_components(W, X)
    assert components(joined)[0] == 1
    assert shortest_paths(joined)[0, 5] == 31


@pytest.mark.parametrize("n", [300, 900])
def test_same_as_scikit_learn_up_to_sign(n):
    roll = load("swiss-roll", n_samples=n, seed=0)
    X, new = np.asarray(roll.X), np.asarray(load("swiss-roll", n_samples=40, seed=1).X)
    ours, theirs = Isomap(n_neighbors=10).fit(X), Reference(n_neighbors=10).fit(X)
    signs = np.sign(np.sum(ours.embedding_ * theirs.embedding_, axis=0))
    np.testing.assert_allclose(ours.embedding_ * signs, theirs.embedding_, atol=1e-5)
    np.testing.assert_allclose(ours.transform(new) * signs, theirs.transform(new), atol=1e-5)


def test_the_roll_is_unrolled():
    roll = load("swiss-roll", n_samples=1500, seed=0)
    t = np.asarray(roll.y)
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # length of the spiral
    for model in (Isomap(n_neighbors=10), Isomap(n_neighbors=None, radius=3.0)):
        assert abs(np.corrcoef(model.fit_transform(roll.X)[:, 0], along)[0, 1]) > 0.99


def test_disconnected_rows_are_reported():
    X = np.vstack([rows(20), rows(20) + 50])
    with pytest.warns(UserWarning, match="Isomap: with n_neighbors=4 the graph has 2 parts; they are joined"):
        model = Isomap(n_neighbors=4).fit(X)
    assert model.n_parts_ == 2
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: knn_graph(rows(5), 5), "k must be below the number of rows, 5; got 5"),
        (lambda: epsilon_graph(rows(5), 0), "epsilon must be a positive number; got 0"),
        (lambda: shortest_paths(np.ones((2, 3))), r"W must be a square matrix; got shape \(2, 3\)"),
        (lambda: shortest_paths([[0.0, -1.0], [-1.0, 0.0]]), "W must hold lengths of at least zero; got -1"),
        (lambda: shortest_paths(np.eye(2), "astar"), "method must be .auto., .dijkstra. or .floyd.; got .astar."),
        (lambda: shortest_paths(sp.csr_array(np.full((2, 2), np.nan))), "W must be finite"),
        (lambda: knn_graph([1.0, 2.0], 1), r"X must be a matrix of rows; got shape \(2,\)"),
        (lambda: Isomap(n_components=9).fit(rows(4)), "n_components=9 needs at least as many rows; got 4"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
