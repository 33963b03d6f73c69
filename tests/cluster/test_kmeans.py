"""k-means against brute force and scikit-learn; runs that resume with the same bits on any number of threads."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans as Reference
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from margin import store
from margin.cluster import KMeans
from margin.cluster import kmeans as module
from margin.core.watching import watch


@parametrize_with_checks([KMeans()])
def test_estimator_checks(estimator, check):
    check(estimator)


def blobs(n=600, d=3, k=5, seed=0, spread=0.6):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-5, 5, (k, d))
    return centers[rng.integers(k, size=n)] + spread * rng.normal(size=(n, d))


def brute_labels(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.parametrize("algorithm", ["hamerly", "lloyd"])
def test_every_iteration_is_means_then_nearest_centers(algorithm):
    X = blobs()
    first = X[:5]
    centers, model = first.copy(), KMeans(5, init=first, algorithm=algorithm, tol=0)
    labels = brute_labels(X, centers)
    for record in model.iterate(X):
        centers = np.stack([X[labels == c].mean(axis=0) for c in range(5)])
        labels = brute_labels(X, centers)
        np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-11)
        np.testing.assert_array_equal(model.labels_, labels)
        assert record["inertia"] == pytest.approx(((X - centers[labels]) ** 2).sum(), rel=1e-11)
    assert record["changed"] == 0
    np.testing.assert_array_equal(model.labels_, brute_labels(X, model.cluster_centers_))


@pytest.mark.parametrize("weighted", [False, True])
def test_same_fixed_point_as_scikit_learn_from_the_same_centers(weighted):
    X = blobs(spread=1.5)
    w = np.random.default_rng(1).uniform(0, 3, len(X)) if weighted else None
    ours = KMeans(5, init=X[:5], tol=0).fit(X, sample_weight=w)
    theirs = Reference(5, init=X[:5], n_init=1, tol=0, algorithm="lloyd").fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-10)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-12)
    assert ours.score(X, sample_weight=w) == pytest.approx(-ours.inertia_, rel=1e-12)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-9)


def test_as_good_as_scikit_learn_over_restarts():
    X = blobs(n=1500, d=4, k=12, spread=1.2)
    ours = np.mean([KMeans(12, random_state=s).fit(X).inertia_ for s in range(40)])
    theirs = np.mean([Reference(12, n_init=1, random_state=s).fit(X).inertia_ for s in range(40)])
    assert ours <= 1.02 * theirs  # the standard error of either mean is 0.7 %


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from(["k-means++", "random"]))
def test_inertia_never_increases_within_a_run(seed, k, init):
    X = np.random.default_rng(seed).normal(size=(60, 2)).round(1)  # ties and repeated rows
    last = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for record in KMeans(k, init=init, n_init=2, random_state=seed, tol=0).iterate(X):
            assert record["inertia"] <= last.get(record["run"], np.inf)
            last[record["run"]] = record["inertia"]


@pytest.mark.parametrize("stop", [1, 4, 11])
def test_resuming_anywhere_gives_the_same_bits(stop):
    X = blobs(n=900, spread=2.0)
    w = np.random.default_rng(3).uniform(0, 2, len(X))
    whole = KMeans(5, init="random", n_init=3, random_state=4)
    records = [record.as_dict() for record in whole.iterate(X, sample_weight=w)]
    assert len({record["run"] for record in records}) == 3
    first = KMeans(5, init="random", n_init=3, random_state=4)
    for record in first.iterate(X, sample_weight=w):
        if record.iteration == stop:
            break
    state = first.get_state()
    resumed = KMeans(5, init="random", n_init=3, random_state=99)
    rest = [record.as_dict() for record in resumed.iterate(X, sample_weight=w, state=state)]
    assert records[stop:] == rest
    np.testing.assert_array_equal(resumed.cluster_centers_, whole.cluster_centers_)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    assert (resumed.inertia_, resumed.n_iter_) == (whole.inertia_, whole.n_iter_)


def test_large_tables_are_seeded_on_a_sample(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_ROWS", (10, 200))
    monkeypatch.setattr(module, "SEED_ROWS", (5, 50))
    X = blobs(n=2000, k=8)
    models = [KMeans(8, random_state=s).fit(X) for s in range(5)]
    theirs = [Reference(8, n_init=1, random_state=s).fit(X).inertia_ for s in range(5)]
    assert np.mean([m.inertia_ for m in models]) <= 1.02 * np.mean(theirs)
    again = KMeans(8, random_state=0).fit(X, sample_weight=np.ones(2000))
    np.testing.assert_array_equal(again.cluster_centers_, models[0].cluster_centers_)
    heavy = np.where(np.arange(2000) < 100, 1.0, 0.0)  # only these rows may become centers of the sample
    only = KMeans(8, random_state=0).fit(X, sample_weight=heavy)
    assert only.inertia_ == pytest.approx(KMeans(8, init=only.cluster_centers_).fit(X[:100]).inertia_, rel=1e-6)


def test_empty_clusters_take_the_farthest_rows():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [9.0]])
    far = np.array([[0.1], [100.0], [200.0]])  # two centers that no row is near
    model = KMeans(3, init=far, tol=0).fit(X)
    assert sorted(model.cluster_centers_.ravel().round(6)) == [0.1, 5.0, 9.0]
    again = KMeans(3, init=far, tol=0).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, again.cluster_centers_)


def test_fewer_distinct_rows_than_clusters_warns():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=4"):
        model = KMeans(4, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert np.isfinite(model.cluster_centers_).all()


def test_far_from_the_origin_no_digits_are_lost():
    X = blobs()
    near = KMeans(5, init=X[:5], tol=0).fit(X)
    far = KMeans(5, init=X[:5] + 1e7, tol=0).fit(X + 1e7)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)


def test_stopping_rules():
    X = blobs(n=3000, spread=3.0, k=20)
    exact = KMeans(20, init=X[:20], tol=0).fit(X)
    loose = KMeans(20, init=X[:20], tol=1e-2).fit(X)
    short = KMeans(20, init=X[:20], max_iter=3).fit(X)
    assert short.n_iter_ == 3
    assert 3 < loose.n_iter_ < exact.n_iter_
    bound = 1e-2 * X.var(axis=0).mean()
    model, centers = KMeans(20, init=X[:20], tol=1e-2), [X[:20]]
    for record in model.iterate(X):
        centers.append(model.cluster_centers_)
        assert record["shift"] ** 2 == pytest.approx(((centers[-1] - centers[-2]) ** 2).sum(axis=1).max())
    *earlier, last = [((after - before) ** 2).sum() for before, after in pairwise(centers)]
    assert last <= bound < min(earlier)


@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("max_iter", [300, 4])
def test_iterations_are_counted_as_in_scikit_learn(tol, max_iter):
    X = blobs(n=600, spread=2.0)
    ours, peer = (cls(5, init=X[:5], n_init=1, tol=tol, max_iter=max_iter).fit(X) for cls in (KMeans, Reference))
    assert ours.n_iter_ == peer.n_iter_
    np.testing.assert_allclose(ours.cluster_centers_, peer.cluster_centers_, rtol=1e-9)


def test_a_function_may_give_the_first_centers():
    X = blobs()
    model = KMeans(5, init=lambda rows, k, random_state: rows[random_state.permutation(len(rows))[:k]], n_init=3)
    again = [model.set_params(random_state=seed).fit(X).inertia_ for seed in (1, 1)]
    assert again[0] == again[1]
    with pytest.raises(ValueError, match=r"init must have shape \(5, 3\); got \(2, 3\)"):
        KMeans(5, init=lambda rows, k, random_state: rows[:2]).fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_fits_take_the_steps_of_the_definition(seed):
    X = blobs(n=400, spread=3.0)
    start = X[np.random.default_rng(seed).permutation(400)[:7]]
    centers, labels = start, None
    model = KMeans(7, init=start, tol=0)
    for _ in model.iterate(X):
        if labels is None:
            labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        centers = np.stack([X[labels == c].mean(axis=0) for c in range(7)])
        labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-9)
        np.testing.assert_array_equal(model.labels_, labels)
        assert model.inertia_ == pytest.approx(((X - centers[labels]) ** 2).sum())


def test_a_watcher_stops_the_fit_and_leaves_a_usable_model():
    X = blobs(spread=2.0)
    with watch(lambda estimator, record: record.iteration == 2):
        model = KMeans(5, init=X[:5], tol=0).fit(X)
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_types_and_orders_agree():
    X = blobs().round(2)
    expected = KMeans(5, random_state=0).fit(X)
    for other in (np.asfortranarray(X), X.tolist(), X[::1]):
        np.testing.assert_array_equal(KMeans(5, random_state=0).fit(other).labels_, expected.labels_)
    single = KMeans(5, random_state=0).fit(X.astype(np.float32))
    assert single.inertia_ == pytest.approx(expected.inertia_, rel=1e-4)
    assert list(KMeans(2, random_state=0).fit(X).get_feature_names_out()) == ["kmeans0", "kmeans1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer at least 1; got 0"),
        ({"n_clusters": 601}, "n_clusters=601 needs at least as many rows; got 600"),
        ({"init": "best"}, "init must be one of"),
        ({"init": np.zeros((4, 3))}, "init must have shape"),
        ({"init": np.full((5, 3), np.nan)}, "init must hold finite numbers"),
        ({"tol": -1.0}, "tol must be a number at least 0"),
        ({"algorithm": "macqueen"}, "algorithm must be one of 'lloyd', 'elkan', 'hamerly'"),
        ({"n_init": 0}, "n_init must be 'auto' or an integer at least 1"),
    ],
)
def test_bad_parameters_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        KMeans(**{"n_clusters": 5, **change}).fit(blobs())


def test_bad_data_are_named():
    X = blobs()
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        KMeans(2).fit(X, sample_weight=-np.ones(len(X)))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KMeans(2).fit(X)


def test_a_state_of_other_data_is_refused():
    X = blobs()
    model = KMeans(5, random_state=0)
    next(model.iterate(X))
    with pytest.raises(ValueError, match=r"state belongs to X of shape \(600, 3\); got \(599, 3\)"):
        next(KMeans(5).iterate(X[1:], state=model.get_state()))


def test_restarts_of_given_centers_are_told():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.warns(RuntimeWarning, match="given centers make one run; n_init=3 is not needed"):
        KMeans(2, init=X[:2], n_init=3).fit(X)


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_centers_that_do_not_move_end_the_first_iteration(algorithm):
    X = np.array([[0.0, 0], [1, 1], [1, 1], [1, 0], [0, 1]])
    options = {"n_clusters": 5, "init": X, "n_init": 1, "algorithm": algorithm}
    with pytest.warns(ConvergenceWarning):
        ours, peer = KMeans(**options).fit(X), Reference(**options).fit(X)
    assert ours.n_iter_ == peer.n_iter_ == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_float32_rows_have_float32_centers_and_distances(form, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 3)) + 4.0 * np.repeat(np.eye(3)[:2], 100, axis=0)
    wide = KMeans(3, random_state=0).fit(form(X))
    narrow = KMeans(3, random_state=0).fit(form(X.astype(np.float32)))
    rows = form(X.astype(np.float32))
    assert narrow.cluster_centers_.dtype == narrow.transform(rows).dtype == np.float32
    assert wide.cluster_centers_.dtype == wide.transform(form(X)).dtype == np.float64
    np.testing.assert_allclose(narrow.cluster_centers_, wide.cluster_centers_, rtol=1e-5)
    np.testing.assert_array_equal(narrow.labels_, narrow.predict(rows))
    assert narrow.inertia_ == pytest.approx(-narrow.score(rows), rel=1e-12)
    store.save(narrow, tmp_path / "centers.safetensors")
    again = store.load(tmp_path / "centers.safetensors")
    np.testing.assert_array_equal(again.transform(rows), narrow.transform(rows))
