"""Neighbors are exact and in order: against brute force by definition, for every metric and every algorithm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from margin.foundations.neighbors import choosing, distance_matrix, filtering, nearest, radius_neighbors, search

SCIPY = {
    "euclidean": ("euclidean", {}),
    "manhattan": ("cityblock", {}),
    "chebyshev": ("chebyshev", {}),
    "cosine": ("cosine", {}),
}


def table(n=300, m=40, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d))


def by_definition(D, k):
    """The k smallest of every row, equal ones in the order of their index."""
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@pytest.fixture(params=["scan", "filter"])
def path(request, monkeypatch):
    """Small problems are scanned, others filtered or asked of our own tree; both paths are tested."""
    filters = request.param == "filter"
    monkeypatch.setattr(search, "SCAN_WORK", 0 if filters else np.inf)
    monkeypatch.setattr(search, "SHARED_WORK", 0 if filters else np.inf)
    monkeypatch.setattr(search, "TREE_NEIGHBORS", 100 if filters else 0)
    return request.param


@pytest.mark.parametrize("metric", SCIPY)
def test_distances_equal_scipy(metric):
    X, Q = table()
    name, options = SCIPY[metric]
    np.testing.assert_allclose(distance_matrix(X, Q, metric), cdist(Q, X, name, **options), atol=1e-13)


def test_minkowski_and_mahalanobis_distances_equal_scipy():
    X, Q = table()
    for p in (1, 1.5, 2, 3, 7.3):
        np.testing.assert_allclose(distance_matrix(X, Q, "minkowski", p), cdist(Q, X, "minkowski", p=p), rtol=1e-12)
    learned = np.cov(X.T)
    for given_, used in ((None, learned), (np.diag([1.0, 2, 3, 4, 5]), np.diag([1.0, 2, 3, 4, 5]))):
        expected = cdist(Q, X, "mahalanobis", VI=np.linalg.inv(used))
        np.testing.assert_allclose(distance_matrix(X, Q, "mahalanobis", covariance=given_), expected, rtol=1e-10)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "auto"])
@pytest.mark.parametrize(
    ("metric", "p"),
    [*((m, 2) for m in (*SCIPY, "mahalanobis")), ("minkowski", 3), ("minkowski", 2.5)],
)
def test_nearest_by_definition(metric, p, algorithm, path):
    X, Q = table()
    found = nearest(X, Q, 7, metric, p=p, algorithm=algorithm)
    distances, index = by_definition(distance_matrix(X, Q, metric, p), 7)
    np.testing.assert_array_equal(found.indices, index)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "mahalanobis"])
def test_equal_distances_come_in_the_order_of_the_rows(metric, algorithm, path):
    """A grid seen from its own points, every row twice: nearly all distances occur many times."""
    side = np.arange(7.0)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    X = np.vstack([grid, grid])
    covariance = np.diag([4.0, 4.0]) if metric == "mahalanobis" else None
    found = nearest(X, grid, 9, metric, covariance=covariance, algorithm=algorithm)
    distances, index = by_definition(distance_matrix(X, grid, metric, covariance=covariance), 9)
    np.testing.assert_array_equal(found.indices, index)
    np.testing.assert_array_equal(found.distances, distances)


def test_many_queries_of_a_tree_keep_their_order_and_ties_that_of_the_rows():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(200, 3)), rng.normal(size=(400, 3))
    X[:40], Q[::3] = X[40:80], X[rng.integers(80, size=134)]  # a few queries have equally near rows, most have none
    expected = by_definition(cdist(Q, X), 5)
    for found in (nearest(X, Q, 5, algorithm="kd_tree"), nearest(X, Q[:7], 5, algorithm="kd_tree")):
        np.testing.assert_allclose(found.distances, expected[0][: len(found.distances)], atol=1e-12)
        np.testing.assert_array_equal(found.indices, expected[1][: len(found.indices)])


def test_all_rows_equal(path):
    found = nearest(np.full((500, 3), 0.1), np.zeros((4, 3)), 5, algorithm="brute")
    np.testing.assert_array_equal(found.indices, np.tile(np.arange(5), (4, 1)))


def test_a_filter_that_is_blind_is_noticed(monkeypatch):
    """Rows that single precision cannot tell apart: only the judgement in double precision finds the nearest."""
    rng = np.random.default_rng(0)
    X = np.vstack([[[1e6, 0.0]], rng.normal(scale=1e-4, size=(3000, 2))])
    Q = rng.normal(scale=1e-4, size=(50, 2))
    monkeypatch.setattr(search, "SCAN_WORK", 0)
    found = nearest(X, Q, 4, algorithm="brute")
    np.testing.assert_array_equal(found.indices, by_definition(distance_matrix(X, Q), 4)[1])
    candidates, bound = filtering.candidates(X, Q, 10)
    kth = np.sort(distance_matrix(X, Q), axis=1)[:, 3] ** 2
    assert (bound < kth).all(), "the bound claims nothing that single precision cannot know"
    assert not (np.sort(candidates, axis=1)[:, :4] == np.sort(found.indices, axis=1)).all(), "the filter alone errs"


@given(st.integers(0, 10**6), st.integers(1, 70), st.floats(1e-3, 1e3), st.floats(-1e4, 1e4))
def test_the_bound_of_the_filter_is_a_bound(seed, d, scale, offset):
    rng = np.random.default_rng(seed)
    X = offset + scale * rng.normal(size=(400, d)) * rng.lognormal(size=(400, 1))
    Q = offset + scale * rng.normal(size=(9, d)) * 3
    candidates, bound = filtering.candidates(X, Q, 12)
    powers = distance_matrix(X, Q) ** 2
    for q in range(len(Q)):
        others = np.setdiff1d(np.arange(len(X)), candidates[q])
        assert powers[q, others].min() >= bound[q] * (1 - 1e-12) - 1e-300


@pytest.mark.parametrize("kind", ["normal", "few values", "mostly infinite", "some undefined"])
def test_the_bound_to_start_with_is_above_enough_scores(kind):
    rng = np.random.default_rng(0)
    products, half = rng.normal(size=(50, 256)).astype(np.float32), rng.normal(size=256).astype(np.float32)
    if kind == "few values":
        products, half = np.round(products), np.round(half)
    elif kind == "mostly infinite":
        half[5:] = np.inf
    elif kind == "some undefined":
        products[::2, ::3] = np.nan
    below = (half - products < filtering._start(products, half, 16)).sum(axis=1)
    finite = np.isfinite(half - products).sum(axis=1)
    assert (below >= np.minimum(16, finite)).all()
    assert kind != "normal" or below.mean() < 32


@pytest.mark.parametrize("scale", [1e-160, 1e-30, 1.0, 1e30, 1e150])
def test_any_scale(scale, path):
    X, Q = table()
    found = nearest(X * scale, Q * scale, 5, algorithm="brute")
    np.testing.assert_array_equal(found.indices, by_definition(distance_matrix(X, Q), 5)[1])


def test_queries_far_outside_and_on_huge_offsets(path):
    X, Q = table()
    for far in (Q * 1e9, Q + 1e7):
        found = nearest(X, far, 3, algorithm="brute")
        powers = ((far[:, None] - X[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(found.distances**2, np.sort(powers, axis=1)[:, :3], rtol=1e-14)


def test_scan_and_filter_differ_in_nothing_but_the_time(monkeypatch):
    X, Q = table(500, 100, 12)
    X[:100] = X[100:200]  # ties
    asked, candidates = [], filtering.candidates
    monkeypatch.setattr(filtering, "candidates", lambda *given: asked.append(1) or candidates(*given))
    monkeypatch.setattr(search, "SCAN_WORK", np.inf)
    expected = nearest(X, Q, 5)
    assert not asked
    monkeypatch.setattr(search, "SCAN_WORK", 0)
    found = nearest(X, Q, 5)
    assert asked
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_threads_change_nothing(monkeypatch):
    X, Q = table(2000, 100, 12)
    monkeypatch.setattr(search, "SCAN_WORK", 0)
    alone = nearest(X, Q, 5, algorithm="brute")
    monkeypatch.setattr(search, "threads_for", lambda work: 3)
    np.testing.assert_array_equal(nearest(X, Q, 5, algorithm="brute").indices, alone.indices)
    np.testing.assert_array_equal(nearest(X, Q, 5, algorithm="brute").distances, alone.distances)


def test_float32_rows_are_searched_as_they_are(path):
    X, Q = (part.astype(np.float32) for part in table())
    found = nearest(X, Q, 5, algorithm="brute")
    np.testing.assert_array_equal(found.indices, by_definition(distance_matrix(X.astype(float), Q.astype(float)), 5)[1])


@pytest.mark.parametrize("k", [1, 299, 300])
def test_every_number_of_neighbors(k, path):
    X, Q = table()
    for algorithm in ("brute", "kd_tree"):
        found = nearest(X, Q, k, algorithm=algorithm)
        np.testing.assert_array_equal(found.indices, by_definition(distance_matrix(X, Q), k)[1])


def test_a_larger_table_equals_scikit_learn():
    X, Q = table(6000, 300, 40)
    distances, index = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(X).kneighbors(Q)
    found = nearest(X, Q, 10)
    np.testing.assert_array_equal(found.indices, index)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize(("metric", "p"), [("euclidean", 2), ("manhattan", 2), ("cosine", 2), ("minkowski", 2.5)])
def test_radius_by_definition(metric, p, algorithm, path):
    X, Q = table()
    D = distance_matrix(X, Q, metric, p)
    radius = float(np.quantile(D, 0.05))
    found = radius_neighbors(X, Q, radius, metric, p=p, algorithm=algorithm)
    for q in range(len(Q)):
        inside = np.flatnonzero(D[q] <= radius)
        np.testing.assert_array_equal(found.indices[q], inside[np.argsort(D[q][inside], kind="stable")])
        np.testing.assert_allclose(found.distances[q], np.sort(D[q][inside]), rtol=1e-12)


def test_a_radius_includes_its_border_and_may_be_empty():
    found = radius_neighbors([[0.0], [0.3], [0.1 + 0.2]], [[0.0], [5.0]], 0.3)
    assert found.indices[0].tolist() == [0, 1], "0.1 + 0.2 is a little more than 0.3"
    assert found.indices[1].tolist() == []
    assert radius_neighbors([[0.0], [1.0]], [[0.0]], 0.0).indices[0].tolist() == [0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X, Q: nearest(X, Q, 0), "nearest: k must be an integer from 1 to the 300 rows of X; got 0"),
        (lambda X, Q: nearest(X, Q, 301), "from 1 to the 300 rows of X; got 301"),
        (lambda X, Q: nearest(X, Q, True), "got True"),
        (lambda X, Q: nearest(X, Q[:, :2], 1), "Q must have the 5 columns of X; got 2"),
        (lambda X, Q: nearest(X, Q, 1, "hamming"), "nearest: metric must be one of .*; got 'hamming'"),
        (lambda X, Q: nearest(X, Q, 1, "minkowski", p=0.5), "p must be a number of at least 1"),
        (
            lambda X, Q: nearest(X, Q, 1, algorithm="ball"),
            "algorithm must be one of auto, ball_tree, kd_tree, brute; got 'ball'",
        ),
        (lambda X, Q: nearest(X, Q, 1, covariance=np.eye(5)), "covariance belongs to metric 'mahalanobis'"),
        (lambda X, Q: nearest(X, Q, 1, "mahalanobis", covariance=np.eye(4)), r"covariance must have shape \(5, 5\)"),
        (lambda X, Q: nearest(X, Q, 1, "mahalanobis", covariance=-np.eye(5)), "must be positive definite"),
        (lambda X, Q: nearest(X * [1, 1, 1, 1, 0], Q, 1, "mahalanobis"), "must be positive definite"),
        (lambda X, Q: nearest(X * np.nan, Q, 1), "X must be finite; got nan"),
        (
            lambda X, Q: nearest(X, Q * 1e200, 1, algorithm="brute"),
            "nearest: distances overflow; scale the columns first",
        ),
        (
            lambda X, Q: nearest(X, Q * 1e200, 1, algorithm="kd_tree"),
            "nearest: distances overflow; scale the columns first",
        ),
        (lambda X, Q: radius_neighbors(X, Q, -1), "radius must be a number of at least 0; got -1"),
        (lambda X, Q: radius_neighbors(X, Q, np.nan), "radius must be a number of at least 0; got nan"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(*table())


def test_sparse_rows_are_refused():
    import scipy.sparse as sp

    with pytest.raises(TypeError, match=r"(?i)sparse"):
        nearest(sp.csr_array(np.eye(3)), np.eye(3), 1)


@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "ball_tree", "brute"])
@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, np.inf])
def test_pairs_are_all_that_are_near_with_their_distances(algorithm, exponent):
    X, Q = table(n=120, m=20, d=3)
    Q = np.vstack([Q, X[:4]])  # rows of the table are pairs at distance zero
    index = search.NeighborIndex(X, exponent, algorithm, leaf_size=7)
    of_query, of_point, distances = index.pairs(Q, 1.5)
    D = cdist(Q, X, "chebyshev") if exponent == np.inf else cdist(Q, X, "minkowski", p=exponent)
    found = np.full(D.shape, np.inf)
    found[of_query, of_point] = distances
    assert len(of_query) == (D <= 1.5).sum()
    np.testing.assert_allclose(found[D <= 1.5], D[D <= 1.5], atol=1e-12)


@pytest.mark.parametrize("d", [4, 7, 9, 11])
def test_auto_gives_the_same_bits_before_and_after_it_makes_a_tree(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(6000, d)).round(1)  # many equal distances
    Q = rng.normal(size=(700, d)).round(1)
    index = search.NeighborIndex(X, 2.0)
    made = []
    for part in (slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 300), slice(300, 301), slice(301, 700)):
        powers, found = index.nearest(Q[part], 6)
        made.append(bool({"tiles", "tree"} & vars(index).keys()))
        for algorithm in ("brute", "kd_tree"):
            expected = search.NeighborIndex(X, 2.0, algorithm).nearest(Q[part], 6)
            np.testing.assert_array_equal(powers, expected[0])
            np.testing.assert_array_equal(found, expected[1])
    pays = d <= choosing.tile_columns(6000)
    assert made == [False, False, False, pays, pays, pays]


def test_auto_takes_the_tree_of_tiles_for_more_columns_of_more_points():
    limits = [choosing.tile_columns(n) for n in (1, 1000, 5000, 50_000, 500_000)]
    assert limits == sorted(limits) == [6, 6, 7, 9, 11]
    X = np.zeros((5000, 7))
    euclidean, manhattan = search.NeighborIndex(X, 2.0), search.NeighborIndex(X, 1.0)
    assert euclidean.has_tiles
    assert not euclidean.has_tree  # SciPy's, which pays up to six columns
    assert not manhattan.has_tiles
    assert not search.NeighborIndex(X, 2.0, "brute").has_tiles
    assert not search.NeighborIndex(X, 2.0, "ball_tree").has_tiles
