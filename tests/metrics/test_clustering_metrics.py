"""Clustering, density and set metrics against scikit-learn, SciPy and closed forms; the registry over real models."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, directed_hausdorff
from scipy.stats import norm
from sklearn import metrics as oracle
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture

from margin import metrics
from margin.data import load

AGREEMENT = {
    "adjusted_rand": oracle.adjusted_rand_score,
    "normalized_mutual_information": oracle.normalized_mutual_info_score,
    "homogeneity": oracle.homogeneity_score,
    "completeness": oracle.completeness_score,
    "v_measure": oracle.v_measure_score,
}
labelings = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4)), min_size=1, max_size=30)


@pytest.mark.parametrize("name", AGREEMENT)
@given(labelings)
def test_agreement_equals_scikit_learn(name, pairs):
    u, v = zip(*pairs)
    assert getattr(metrics, name)(u, v) == pytest.approx(AGREEMENT[name](u, v), abs=1e-10)
    renamed = [f"cluster {label}" for label in v]
    assert getattr(metrics, name)(u, renamed) == pytest.approx(getattr(metrics, name)(u, v), abs=1e-12)


@given(labelings)
def test_other_means_and_beta(pairs):
    u, v = zip(*pairs)
    for average in ("geometric", "min", "max"):
        ours = metrics.normalized_mutual_information(u, v, average=average)
        theirs = oracle.normalized_mutual_info_score(u, v, average_method=average)
        assert ours == pytest.approx(theirs, abs=1e-10)
    assert metrics.v_measure(u, v, beta=0.5) == pytest.approx(oracle.v_measure_score(u, v, beta=0.5), abs=1e-10)


def test_adjusted_rand_of_many_rows_does_not_overflow():
    u = np.repeat(np.arange(2), 10**6)
    v = np.tile(np.arange(2), 10**6)
    assert metrics.adjusted_rand(u, u) == 1.0
    assert abs(metrics.adjusted_rand(u, v)) < 1e-6


@pytest.mark.parametrize(("n", "d", "k"), [(5, 1, 2), (60, 3, 4), (400, 10, 7)])
def test_compactness_equals_scikit_learn(n, d, k):
    rng = np.random.default_rng(n)
    X, labels = rng.normal(size=(n, d)) + 100, np.append(rng.integers(0, k, n - k), np.arange(k))
    np.testing.assert_allclose(metrics.silhouette_samples(X, labels), oracle.silhouette_samples(X, labels), atol=1e-10)
    np.testing.assert_allclose(metrics.silhouette(X, labels), oracle.silhouette_score(X, labels), atol=1e-10)
    np.testing.assert_allclose(metrics.davies_bouldin(X, labels), oracle.davies_bouldin_score(X, labels))
    np.testing.assert_allclose(
        metrics.calinski_harabasz(X, labels), oracle.calinski_harabasz_score(X, labels), rtol=1e-9
    )


def test_silhouette_with_lonely_and_equal_points():
    X, labels = np.array([[0.0], [0.0], [0.0], [5.0]]), [0, 0, 1, 2]
    np.testing.assert_allclose(metrics.silhouette_samples(X, labels), oracle.silhouette_samples(X, labels))


@pytest.mark.parametrize("far", [1e7, 1e12])
def test_silhouette_of_small_clusters_beside_a_far_point(far):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) + 4, [[far, 0, 0]]])
    labels = np.repeat([0, 1, 2], [20, 20, 1])
    wanted = oracle.silhouette_samples(cdist(X, X), labels, metric="precomputed")
    np.testing.assert_allclose(metrics.silhouette_samples(X, labels), wanted, atol=1e-10)


def test_silhouette_in_several_blocks_holds_no_square_of_n(monkeypatch):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(3000, 20)), rng.integers(0, 5, 3000)
    whole = metrics.silhouette_samples(X, labels)
    monkeypatch.setattr("margin.metrics.clustering._BLOCK_ENTRIES", 3000 * 64)
    tracemalloc.start()
    blocks = metrics.silhouette_samples(X, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(blocks, whole, atol=1e-12)
    assert peak < 3000 * 3000 * 8 / 4  # a quarter of one n x n matrix


def test_inertia_equals_k_means():
    data = load("blobs", n_samples=200, seed=4)
    model = KMeans(3, n_init=1, random_state=0).fit(data.X)
    assert metrics.inertia(data.X, model.labels_, model.cluster_centers_) == pytest.approx(model.inertia_)
    assert metrics.inertia(data.X, model.labels_) <= model.inertia_ * (1 + 1e-9)


def test_bits_of_a_uniform_image_and_of_a_gaussian():
    assert metrics.bits_per_dimension(np.zeros(3), 784, levels=256) == 8.0
    x = np.random.default_rng(0).normal(size=(4000, 2))
    bits = metrics.bits_per_dimension(norm.logpdf(x).sum(axis=1), 2)
    assert bits == pytest.approx(0.5 * np.log2(2 * np.pi * np.e), abs=0.03)  # the entropy, by the law of large numbers
    # Multiplying the data by 10 divides the density by 10 per dimension.
    scaled = norm.logpdf(x) - np.log(10)
    assert metrics.bits_per_dimension(scaled.sum(axis=1), 2) == pytest.approx(bits + np.log2(10))


def test_likelihood_and_perplexity():
    assert metrics.perplexity(np.log([0.25] * 5)) == pytest.approx(4)
    assert metrics.mean_log_likelihood([-1.0, -2.0], sample_weight=[3, 1]) == -1.25
    assert metrics.mean_log_likelihood([-1.0, -np.inf]) == -np.inf
    assert metrics.mean_log_likelihood([-1.0, -np.inf], sample_weight=[1, 0]) == -1.0
    for bad in ([np.nan], [np.inf], [], [[0.0]]):
        with pytest.raises(ValueError, match="mean_log_likelihood: log_density"):
            metrics.mean_log_likelihood(bad)


@given(st.integers(0, 10**6))
def test_hausdorff_equals_scipy(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(13, 3)), rng.normal(size=(7, 3))
    wanted = max(directed_hausdorff(X, Y)[0], directed_hausdorff(Y, X)[0])
    assert metrics.hausdorff(X, Y) == pytest.approx(wanted, rel=1e-12)
    assert metrics.hausdorff(X, X) == 0.0


def test_masks():
    rng = np.random.default_rng(1)
    a, b = rng.uniform(size=(2, 9, 9)) < 0.4
    assert metrics.iou(a, b) == pytest.approx(oracle.jaccard_score(a.ravel(), b.ravel()))
    assert metrics.dice(a, b) == pytest.approx(2 * metrics.iou(a, b) / (1 + metrics.iou(a, b)))
    empty = np.zeros(3, dtype=bool)
    assert metrics.iou(empty, empty) == metrics.dice(empty, empty) == 1.0


def test_bad_clusters():
    X = np.arange(8.0).reshape(4, 2)
    for name in ("silhouette", "davies_bouldin", "calinski_harabasz"):
        for labels in ([0, 0, 0, 0], [0, 1, 2, 3]):
            with pytest.raises(metrics.UndefinedMetricError, match=f"{name}: there must be 2 to 3 clusters"):
                getattr(metrics, name)(X, labels)
        with pytest.raises(ValueError, match="equal length"):
            getattr(metrics, name)(X, [0, 1])
    with pytest.raises(ValueError, match="centers must have shape"):
        metrics.inertia(X, [0, 0, 1, 1], centers=[[0.0, 0.0]])
    with pytest.raises(ValueError, match="equal length"):
        metrics.adjusted_rand([0, 1], [0])


def test_every_metric_of_the_registry_measures_a_model():
    iris, patients, blobs = load("iris"), load("diabetes"), load("blobs", n_samples=90)
    models = {
        "classification": (LogisticRegression(max_iter=500).fit(iris.X, iris.y), iris),
        "regression": (LinearRegression().fit(patients.X, patients.y), patients),
        "clustering": (KMeans(3, n_init=1, random_state=0).fit(blobs.X), blobs),
        "density": (GaussianMixture(3, random_state=0).fit(blobs.X), blobs),
    }
    tumors = load("breast-cancer")
    two = LogisticRegression(max_iter=500).fit(tumors.X, tumors.y)
    for entry in metrics.REGISTRY.values():
        model, data = (two, tumors) if entry.binary else models[entry.tasks[0]]
        assert np.isfinite(entry.measure(model, data.X, data.y)), entry.name
    for task, (model, data) in models.items():
        scores = metrics.evaluate(model, data.X, data.y, task)
        assert set(scores) == {entry.name for entry in metrics.metrics_of(task) if not entry.binary}
        assert scores == {name: metrics.metric(name).measure(model, data.X, data.y) for name in scores}


def test_the_direction_of_each_metric_is_right():
    """The truth beats a poor prediction under every metric that compares with y."""
    y = np.array([1, 2, 3, 1, 2, 3, 1, 2, 3, 1])
    poor = np.array([1, 3, 2, 3, 1, 3, 2, 2, 1, 2])
    right, wrong = np.eye(3)[y - 1], 0.9 * np.eye(3)[poor - 1] + 0.1 / 3
    compared = [entry for entry in metrics.REGISTRY.values() if entry.against == "y"]
    for entry in compared:
        if entry.binary:
            proba = entry.needs == "predict_proba"
            outputs = [(p == 2) * 0.8 + 0.1 if proba else (p == 2).astype(int) for p in (y, poor)]
            good, bad = (entry.of_output(p, None, (y == 2).astype(int), np.array([0, 1])) for p in outputs)
        elif entry.needs == "predict_proba":
            good, bad = (entry.of_output(p, None, y, np.array([1, 2, 3])) for p in (right, wrong))
        else:
            good, bad = (entry.of_output(p, None, y, None) for p in (y, poor))
        assert entry.better(good, bad), entry.name
    assert len(compared) == len(metrics.REGISTRY) - 4


def test_evaluate_leaves_out_what_is_not_defined():
    iris = load("iris")
    model = LogisticRegression(max_iter=500).fit(iris.X, iris.y)
    scores = metrics.evaluate(model, iris.X[:50], iris.y[:50], "classification")
    assert "roc_auc" not in scores
    assert scores["accuracy"] == 1.0
    with pytest.raises(ValueError, match="close matches are accuracy"):
        metrics.metric("acuracy")
    with pytest.raises(ValueError, match="task must be one of"):
        metrics.metrics_of("translation")
    with pytest.raises(ValueError, match="KMeans has no predict_proba"):
        metrics.metric("log_loss").measure(KMeans(2), iris.X, iris.y)
