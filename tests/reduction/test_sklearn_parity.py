"""Parameters of embeddings and of FastICA act as scikit-learn's do."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.decomposition import FastICA as PeerICA
from sklearn.manifold import MDS as PeerMDS
from sklearn.manifold import TSNE as PeerTSNE
from sklearn.manifold import Isomap as PeerIsomap
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from margin.reduction import MDS, TSNE, FastICA, Isomap, kl_divergence, shortest_paths
from margin.reduction.affinities import conditional_affinities, joint_affinities
from margin.reduction.distances import distances_between, nearest_by_metric

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 4))


def same_up_to_signs(ours, theirs, atol):
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=atol)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev", lambda a, b: float(np.abs(a - b).sum())])
def test_nearest_rows_by_any_metric(metric):
    gaps, index = nearest_by_metric(ROWS, 5, metric)
    D = distances_between(ROWS, ROWS, metric)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(gaps, np.sort(D, axis=1)[:, :5])
    np.testing.assert_allclose(np.take_along_axis(D, index, axis=1), gaps)
    given, _ = nearest_by_metric(np.where(np.isinf(D), 0, D), 5, "precomputed")
    np.testing.assert_allclose(given, gaps)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_neighbors": 8, "eigen_solver": "dense"},
        {"eigen_solver": "arpack", "tol": 1e-10, "max_iter": 200},
        {"path_method": "FW"},
        {"path_method": "D", "n_jobs": 2},
        {"neighbors_algorithm": "brute"},
        {"neighbors_algorithm": "kd_tree"},
        {"n_neighbors": None, "radius": 2.5},
        {"metric": "manhattan", "n_neighbors": 7},
        {"metric": "manhattan", "n_neighbors": None, "radius": 4.0},
        {"p": 1, "n_neighbors": 7},
        {"metric": "minkowski", "p": 3, "metric_params": {"w": np.array([1.0, 2.0, 1.0, 0.5])}, "n_neighbors": 7},
    ],
    ids=str,
)
def test_isomap(settings):
    ours = Isomap(**settings).fit(ROWS)
    theirs = PeerIsomap(**settings).fit(ROWS)
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, atol=1e-9)
    same_up_to_signs(ours.embedding_, theirs.embedding_, 1e-6)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error(), rel=1e-6)


def test_isomap_of_distances():
    D = squareform(pdist(ROWS, "cityblock"))
    ours, theirs = (cls(metric="precomputed", n_neighbors=7).fit(D) for cls in (Isomap, PeerIsomap))
    same_up_to_signs(ours.embedding_, theirs.embedding_, 1e-6)


def test_isomap_with_a_radius_on_digits_takes_no_minutes():
    """Two of three pairs are joined: the graph has a million edges."""
    X = load_digits().data[:900]
    model = Isomap(n_neighbors=None, radius=50.0).fit(X)
    D = cdist(X, X)
    joined = D <= 50
    assert joined.mean() > 0.4
    np.testing.assert_allclose(model.dist_matrix_[joined], D[joined], atol=1e-9)
    assert (model.dist_matrix_[~joined] >= D[~joined] - 1e-9).all()
    np.testing.assert_allclose(
        shortest_paths(np.where(joined, D, 0), "floyd"), shortest_paths(np.where(joined, D, 0), "dijkstra"), atol=1e-9
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"radius": 1.0}, "one of n_neighbors and radius must be given"),
        ({"metric": "manhattan", "neighbors_algorithm": "kd_tree"}, "goes with the Euclidean metric only"),
    ],
)
def test_isomap_refuses(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Isomap(**settings).fit(ROWS)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_metric_mds(metric):
    settings = {"metric": metric, "n_init": 3, "init": "random", "random_state": 0, "eps": 1e-9, "max_iter": 2000}
    ours, theirs = MDS(**settings).fit(ROWS), PeerMDS(**settings).fit(ROWS)
    assert ours.stress_ == pytest.approx(theirs.stress_, rel=0.02)
    np.testing.assert_allclose(ours.dissimilarity_matrix_, theirs.dissimilarity_matrix_, atol=1e-9)
    D = squareform(pdist(ours.embedding_))
    assert ours.stress_ == pytest.approx(((D - ours.dissimilarity_matrix_) ** 2).sum() / 2, rel=1e-9)
    best = MDS(**settings | {"metric": metric, "init": "classical_mds"}).fit(ROWS)
    assert best.stress_ <= ours.stress_ * 1.01


def test_nonmetric_mds_is_normalized_as_there():
    settings = {"metric_mds": False, "init": "random", "n_init": 4, "random_state": 0, "max_iter": 1000, "eps": 1e-9}
    ours, theirs = MDS(**settings).fit(ROWS[:50]), PeerMDS(**settings).fit(ROWS[:50])
    assert ours.stress_ == pytest.approx(theirs.stress_, abs=0.02)
    assert MDS(**settings, normalized_stress=False).fit(ROWS[:50]).stress_ > 1


def test_mds_starts_threads_and_resume():
    settings = {"init": "random", "n_init": 4, "random_state": 1}
    model = MDS(**settings).fit(ROWS)
    single = [MDS(init="random", random_state=1).fit(ROWS)]
    assert model.stress_ <= single[0].stress_ + 1e-9
    np.testing.assert_array_equal(MDS(**settings, n_jobs=2).fit(ROWS).embedding_, model.embedding_)
    whole, part, rest = (MDS(**settings) for _ in range(3))
    expected = [record.as_dict() for record in whole.iterate(ROWS)]
    records = [record.as_dict() for record in itertools.islice(part.iterate(ROWS), 5)]
    records += [record.as_dict() for record in rest.iterate(ROWS, state=part.get_state())]
    assert records == expected
    few, many = (MDS(eps=eps, init="random", random_state=0).fit(ROWS).n_iter_ for eps in (1e-3, 1e-8))
    assert few < many


def sources(n=2000):
    rng = np.random.default_rng(0)
    S = np.column_stack(
        [rng.uniform(-1, 1, n), rng.laplace(size=n), np.sign(rng.normal(size=n)) + 0.1 * rng.normal(size=n)]
    )
    return S, S @ rng.normal(size=(3, 3)).T + [1.0, 2.0, 3.0]


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube", lambda x: (x**3, (3 * x**2).mean(axis=-1))])
@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
def test_fast_ica_with_the_same_start_is_the_peers(algorithm, fun, whiten):
    _, X = sources()
    w_init = np.random.default_rng(3).normal(size=(3, 3))
    settings = {"algorithm": algorithm, "fun": fun, "whiten": whiten, "w_init": w_init, "tol": 1e-10, "max_iter": 1000}
    ours, theirs = FastICA(**settings).fit(X), PeerICA(**settings, whiten_solver="eigh").fit(X)
    order = np.abs(np.corrcoef(ours.transform(X).T, theirs.transform(X).T)[:3, 3:]).argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    same_up_to_signs(ours.transform(X), theirs.transform(X)[:, order], 2e-4 * np.abs(theirs.transform(X)).max())
    np.testing.assert_allclose(np.abs(ours.whitening_), np.abs(theirs.whitening_), atol=1e-8)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, atol=1e-8)


def test_fast_ica_arguments_act():
    _, X = sources()
    white = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    w_init = np.eye(3)
    ours, theirs = (cls(whiten=False, w_init=w_init, tol=1e-10, max_iter=1000).fit(white) for cls in (FastICA, PeerICA))
    np.testing.assert_allclose(np.abs(ours.components_ @ theirs.components_.T).max(axis=1), 1, atol=1e-4)
    assert not hasattr(ours, "mean_")
    for alpha in (1.0, 2.0):
        settings = {"fun_args": {"alpha": alpha}, "w_init": w_init, "tol": 1e-12, "max_iter": 2000}
        ours, theirs = FastICA(**settings).fit(X), PeerICA(**settings, whiten="unit-variance").fit(X)
        np.testing.assert_allclose(
            np.sort(np.abs(ours.mixing_), axis=None), np.sort(np.abs(theirs.mixing_), axis=None), rtol=1e-3
        )
    assert not np.allclose(ours.components_, FastICA(w_init=w_init, tol=1e-12, max_iter=2000).fit(X).components_)
    svd, eigh = (FastICA(whiten_solver=s, w_init=w_init).fit(X).components_ for s in ("svd", "eigh"))
    np.testing.assert_allclose(np.abs(svd), np.abs(eigh), atol=1e-8)
    with pytest.raises(ValueError, match="w_init must have the shape"):
        FastICA(w_init=np.eye(2)).fit(X)


def test_a_resumed_deflation_has_the_same_bits():
    _, X = sources(300)
    build = FastICA(algorithm="deflation", random_state=0)
    whole, part, rest = (clone(build) for _ in range(3))
    expected = [record.as_dict() for record in whole.iterate(X)]
    records = [record.as_dict() for record in itertools.islice(part.iterate(X), 6)]
    records += [record.as_dict() for record in rest.iterate(X, state=part.get_state())]
    assert records == expected
    np.testing.assert_array_equal(rest.components_, whole.components_)


def test_exact_tsne_keeps_all_pairs_as_there():
    X = load_iris().data[::2]
    P = joint_affinities(conditional_affinities(X, perplexity=10.0))
    settings = {"method": "exact", "perplexity": 10.0, "random_state": 0, "init": "pca", "max_iter": 1000}
    ours, theirs = TSNE(**settings).fit(X), PeerTSNE(**settings).fit(X)
    assert ours.kl_divergence_ == pytest.approx(kl_divergence(P, ours.embedding_), rel=1e-5)
    assert ours.kl_divergence_ <= theirs.kl_divergence_ * 1.05
    assert ours.learning_rate_ == theirs.learning_rate_
    assert TSNE(**settings | {"method": "barnes_hut"}).fit(X).kl_divergence_ != ours.kl_divergence_


def test_a_mesh_gives_the_embedding_of_all_pairs(monkeypatch):
    """The divergence of both embeddings by one exact routine on the same affinities."""
    monkeypatch.setattr("margin.reduction.tsne_descent.EXACT_ROWS", 2500)
    X, _ = make_blobs(2600, 10, centers=8, random_state=0)
    settings = {"max_iter": 500, "random_state": 0}
    fast, exact, rough = (TSNE(angle=angle, **settings).fit(X) for angle in (0.5, 0.0, 1.0))
    P = joint_affinities(conditional_affinities(X, perplexity=30.0))
    true = {name: kl_divergence(P, model.embedding_) for name, model in (("fast", fast), ("exact", exact))}
    assert true["fast"] == pytest.approx(true["exact"], rel=0.03)
    assert fast.kl_divergence_ != exact.kl_divergence_ != rough.kl_divergence_
    np.testing.assert_array_equal(TSNE(n_jobs=2, **settings).fit(X).embedding_, fast.embedding_)


@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_tsne_takes_metrics_and_distances(metric):
    X = load_iris().data
    D = distances_between(X, X, metric)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    start = np.random.default_rng(0).normal(size=(150, 2)) * 1e-4
    settings = {"init": start, "max_iter": 300}
    by_name = TSNE(metric=metric, **settings).fit(X)
    given = TSNE(metric="precomputed", **settings).fit(D)
    assert by_name.kl_divergence_ == pytest.approx(given.kl_divergence_, rel=0.05)
    assert by_name.kl_divergence_ != TSNE(**settings).fit(X).kl_divergence_
    with pytest.raises(ValueError, match="init='pca' needs rows"):
        TSNE(metric="precomputed").fit(D)


def test_tsne_ends_without_progress():
    X = load_iris().data
    short = TSNE(n_iter_without_progress=-1, max_iter=1000, random_state=0).fit(X)
    assert short.n_iter_ == 260 < TSNE(max_iter=400, random_state=0).fit(X).n_iter_
    with pytest.raises(ValueError, match="n_components must be at most 3 unless method='exact'"):
        TSNE(n_components=4).fit(X)
    assert TSNE(n_components=4, method="exact", max_iter=20).fit_transform(X).shape == (150, 4)


def test_white_rows_keep_all_their_columns_and_a_number_of_sources_is_pointed_out():
    with pytest.warns(UserWarning, match="whiten=False leaves all 4 columns; got n_components=2"):
        model = FastICA(2, whiten=False, random_state=0).fit(ROWS)
    assert model.components_.shape == (4, 4)


@pytest.mark.parametrize("radius", [None, 3.0, np.inf])
def test_isomap_takes_a_sparse_graph_of_neighbors(radius):
    X, new = ROWS, ROWS[:20] + 0.01
    k = 8 if radius is None else None
    settings = {"n_neighbors": k, "radius": radius}
    search = NearestNeighbors(n_neighbors=k or 5, radius=1e6 if radius is None else min(radius, 1e6)).fit(X)
    graph = search.kneighbors_graph if radius is None else search.radius_neighbors_graph
    given = Isomap(metric="precomputed", **settings).fit(graph(mode="distance"))
    direct = Isomap(**settings).fit(X)
    np.testing.assert_allclose(given.embedding_, direct.embedding_, atol=1e-8)
    np.testing.assert_allclose(given.transform(graph(new, mode="distance")), direct.transform(new), atol=1e-8)


def test_sparse_distances_that_are_too_few_are_refused():
    X = np.arange(12.0)[:, None] + np.repeat([0.0, 50.0], 6)[:, None]
    graph = kneighbors_graph(X, 2, mode="distance")
    with pytest.raises(RuntimeError, match="Isomap: with n_neighbors=2 the graph has 2 parts"):
        Isomap(n_neighbors=2, metric="precomputed").fit(graph)
    with pytest.raises(ValueError, match="Isomap: X must give distances to 3 neighbors of every row; row 0 has 2"):
        Isomap(n_neighbors=3, metric="precomputed").fit(graph)
    tsne = TSNE(perplexity=1, metric="precomputed", init="random")
    with pytest.raises(ValueError, match="TSNE: X must give distances to 4 neighbors of every row; row 0 has 2"):
        tsne.fit(graph)
    with pytest.raises(TypeError, match="method='exact' needs the distances of all pairs"):
        tsne.set_params(method="exact").fit(graph)
    with pytest.raises(ValueError, match="must hold distances, positive or zero; got -"):
        Isomap(metric="precomputed").fit(-graph)


def test_tsne_of_sparse_distances_is_that_of_the_rows():
    settings = {"perplexity": 10, "init": "random", "random_state": 0, "max_iter": 100}
    graph = kneighbors_graph(ROWS, 40, mode="distance")
    given = TSNE(metric="precomputed", **settings).fit(graph)
    direct = TSNE(**settings).fit(ROWS)
    np.testing.assert_allclose(given.embedding_, direct.embedding_, rtol=1e-3, atol=1e-6)


def test_tsne_of_two_rows_and_a_metric_below_zero():
    Y = TSNE(perplexity=1, random_state=0, max_iter=50).fit_transform([[0.0, 1.0], [2.0, 3.0]])
    assert np.isfinite(Y).all()
    assert np.linalg.norm(Y[0] - Y[1]) > 0
    with pytest.raises(ValueError, match="TSNE: metric must give distances, positive or zero; got -1"):
        TSNE(perplexity=1, metric=lambda a, b: -1.0).fit(ROWS[:5])
