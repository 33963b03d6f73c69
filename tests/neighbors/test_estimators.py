"""The classifier and the regressor against scikit-learn, and their own promises."""

import numpy as np
import pytest
from sklearn import neighbors as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

import margin
from margin.neighbors import KNeighborsClassifier, KNeighborsRegressor
from margin.neighbors.voting import class_fractions, neighbor_weights, weighted_mean

CLASSES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


def halves(load):
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))
    # A little noise: rounded measurements tie, and scikit-learn leaves the order of ties open.
    X = X + 1e-6 * np.random.default_rng(1).normal(size=X.shape)
    half = len(X) // 2
    return X[rows[:half]], y[rows[:half]], X[rows[half:]], y[rows[half:]]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("options", [{}, {"metric": "manhattan"}, {"p": 3}, {"metric": "cosine"}], ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_classifier_equals_scikit_learn(name, options, weights):
    X, y, Q, _ = halves(CLASSES[name])
    ours = KNeighborsClassifier(7, weights=weights, **options).fit(X, y)
    their = theirs.KNeighborsClassifier(7, weights=weights, algorithm="brute", **options).fit(X, y)
    np.testing.assert_array_equal(ours.kneighbors(Q)[1], their.kneighbors(Q)[1])
    np.testing.assert_allclose(ours.predict_proba(Q), their.predict_proba(Q), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(Q), their.predict(Q))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_regressor_equals_scikit_learn(weights):
    X, y, Q, _ = halves(load_diabetes)
    several = np.column_stack([y, y**2])
    for target in (y, several):
        ours = KNeighborsRegressor(6, weights=weights).fit(X, target).predict(Q)
        np.testing.assert_allclose(ours, theirs.KNeighborsRegressor(6, weights=weights).fit(X, target).predict(Q))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("kind", ["numbers", "strings", "labels"])
def test_several_outputs_equal_scikit_learn(kind, weights, tmp_path):
    X, y, Q, _ = halves(load_wine)
    both = np.column_stack([y, X[:, 0] > 13])
    Y = {"numbers": both, "strings": np.array(["no", "yes", "perhaps"])[both], "labels": both > 0}[kind]
    ours = KNeighborsClassifier(7, weights=weights).fit(X, Y)
    their = theirs.KNeighborsClassifier(7, weights=weights).fit(X, Y)
    assert [list(part) for part in ours.classes_] == [list(part) for part in their.classes_]
    for one, two in zip(ours.predict_proba(Q), their.predict_proba(Q)):
        np.testing.assert_allclose(one, two, atol=1e-12)
    predicted = ours.predict(Q)
    expected = np.column_stack([theirs.KNeighborsClassifier(7, weights=weights).fit(X, c).predict(Q) for c in Y.T])
    np.testing.assert_array_equal(predicted, expected)
    for column in range(2):
        alone = KNeighborsClassifier(7, weights=weights).fit(X, Y[:, column])
        np.testing.assert_array_equal(alone.predict(Q), predicted[:, column])
        np.testing.assert_array_equal(alone.predict_proba(Q), ours.predict_proba(Q)[column])
    margin.save(ours, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict(Q), predicted)


def test_the_score_of_several_outputs_counts_rows_that_are_right_throughout():
    X, y, Q, truth = halves(load_wine)
    Y, T = (np.column_stack([part, part > 0, part > 1]) for part in (y, truth))
    labels = KNeighborsClassifier(3).fit(X, Y[:, 1:])
    assert labels.score(Q, T[:, 1:]) == theirs.KNeighborsClassifier(3).fit(X, Y[:, 1:]).score(Q, T[:, 1:])
    model, rows = KNeighborsClassifier(3).fit(X, Y), np.random.default_rng(0).integers(0, 3, len(Q))
    repeated = model.score(np.repeat(Q, rows, axis=0), np.repeat(T, rows, axis=0))
    assert model.score(Q, T, rows) == pytest.approx(repeated, rel=1e-12)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier: y must have shape \(89, 3\); got \(89,\)"):
        model.score(Q, truth)
    with pytest.warns(UserWarning, match="column-vector"):
        assert KNeighborsClassifier(3).fit(X, y[:, None]).predict(Q).shape == truth.shape


def test_mahalanobis_equals_scikit_learn():
    X, y, Q, _ = halves(load_iris)

    inverse = {"VI": np.linalg.inv(np.cov(X.T))}
    their = theirs.KNeighborsClassifier(5, metric="mahalanobis", metric_params=inverse, algorithm="brute")
    ours = KNeighborsClassifier(5, metric="mahalanobis").fit(X, y)
    np.testing.assert_array_equal(ours.kneighbors(Q)[1], their.fit(X, y).kneighbors(Q)[1])
    # Scaling a column does not matter to it.
    scaled = KNeighborsClassifier(5, metric="mahalanobis").fit(X * [1, 10, 100, 1000], y)
    np.testing.assert_array_equal(scaled.predict(Q * [1, 10, 100, 1000]), ours.predict(Q))


def test_one_neighbor_makes_no_error_on_its_own_rows():
    for load in CLASSES.values():
        X, y, _, _ = halves(load)
        assert KNeighborsClassifier(1).fit(X, y).score(X, y) == 1.0


def test_a_tied_vote_goes_to_the_smaller_label():
    model = KNeighborsClassifier(2).fit([[0.0], [1.0]], ["b", "a"])
    assert model.predict([[0.1]]) == ["a"]
    assert KNeighborsClassifier(2, weights="distance").fit([[0.0], [1.0]], ["b", "a"]).predict([[0.1]]) == ["b"]


def test_neighbors_of_the_training_rows_leave_the_row_out():
    X, y, _, _ = halves(load_iris)
    X = np.vstack([X, X[:10], X[:10]])  # every one of ten rows three times
    y = np.concatenate([y, y[:10], y[:10]])
    distances, index = KNeighborsClassifier(2).fit(X, y).kneighbors()
    assert (index != np.arange(len(X))[:, None]).all()
    assert (distances[:10] == 0).all()
    their = theirs.NearestNeighbors(n_neighbors=2).fit(X[:75]).kneighbors()[1]
    np.testing.assert_array_equal(KNeighborsClassifier(2).fit(X[:75], y[:75]).kneighbors()[1], their)


def test_radius_neighbors_of_a_fitted_model():
    X, y, Q, _ = halves(load_wine)
    ours = KNeighborsClassifier(metric="manhattan").fit(X, y).radius_neighbors(Q, 60.0)
    their = theirs.NearestNeighbors(metric="manhattan").fit(X).radius_neighbors(Q, 60.0, sort_results=True)
    for q in range(len(Q)):
        np.testing.assert_array_equal(ours.indices[q], their[1][q])
        np.testing.assert_allclose(ours.distances[q], their[0][q])


def test_weights_of_tiny_and_zero_distances_stay_finite():
    weights = neighbor_weights(np.array([[1e-320, 2e-320], [0.0, 0.0], [0.0, 1.0]]), "distance")
    np.testing.assert_allclose(weights, [[1, 0.5], [1, 1], [1, 0]], rtol=1e-3)


def test_votes_and_means_by_definition():
    rng = np.random.default_rng(0)
    codes, weights = rng.integers(3, size=(20, 7)), rng.uniform(size=(20, 7))
    expected = np.array([[weights[q][codes[q] == c].sum() for c in range(3)] for q in range(20)])
    np.testing.assert_allclose(class_fractions(codes, weights, 3), expected / expected.sum(axis=1, keepdims=True))
    values = rng.normal(size=(20, 7, 2))
    means = [np.average(values[q], axis=0, weights=weights[q]) for q in range(20)]
    np.testing.assert_allclose(weighted_mean(values, weights), means)


def test_a_change_of_the_callers_rows_changes_nothing():
    X, y, Q, _ = halves(load_iris)
    for algorithm in ("brute", "kd_tree"):
        mine = X.copy()
        model = KNeighborsClassifier(3, algorithm=algorithm).fit(mine, y)
        before = model.predict(Q)
        mine[:] = 0
        np.testing.assert_array_equal(model.predict(Q), before)


def test_a_row_of_zeros_is_at_right_angles_to_all_others():
    """As in scikit-learn: a text without a known word must not end a fit. Two such texts are alike."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, -2.0]])
    model = KNeighborsClassifier(4, metric="cosine").fit(X, [0, 0, 1, 1])
    distances, order = model.kneighbors([[0.0, 0.0], [3.0, 0.0]])
    np.testing.assert_allclose(distances, [[0, 1, 1, 1], [0, 1 - np.sqrt(0.5), 1, 1]], atol=1e-12)
    assert order[0, 0] == 0
    assert order[1].tolist()[:2] == [1, 2]
    from sklearn.metrics.pairwise import cosine_distances

    known = cosine_distances([[3.0, 0.0], [1.0, -1.0]], X)
    np.testing.assert_allclose(np.sort(known), model.kneighbors([[3.0, 0.0], [1.0, -1.0]])[0], atol=1e-12)


@pytest.mark.parametrize("option", ["kd_tree", "mahalanobis", "cosine"])
def test_a_saved_model_says_the_same(option, tmp_path):
    options = {"algorithm": option} if option == "kd_tree" else {"metric": option}
    X, y, Q, _ = halves(load_iris)
    model = KNeighborsClassifier(weights="distance", **options).fit(X, y)
    margin.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict_proba(Q), model.predict_proba(Q))


@pytest.mark.parametrize(
    ("options", "change", "sentence"),
    [
        ({"metric": "mahalanobis"}, {}, "KNeighborsClassifier: whitening: covariance must be positive definite"),
        ({"covariance": [[1.0, 0], [0, 1]]}, {}, "covariance belongs to metric 'mahalanobis'; got metric 'minkowski'"),
        ({}, {"y": [0.1, 0.2, 0.3, 0.4]}, "Unknown label type"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(options, change, sentence):
    X, y = np.array([[0.0, 0], [1, 1], [2, 2], [3, 3]]), [0, 0, 1, 1]
    model = KNeighborsClassifier(**{"n_neighbors": 2, **options})
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, change.get("y", y))
    assert not hasattr(model, "points_")


def test_too_many_neighbors_asked_for():
    model = KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="KNeighborsClassifier: n_neighbors must be an integer from 1 to 2; got 3"):
        model.kneighbors([[0.0]], 3)
    with pytest.raises(ValueError, match="from 1 to 1; got 2"):
        model.kneighbors(n_neighbors=2)
    with pytest.raises(ValueError, match="radius must be a number of at least 0; got 'wide'"):
        model.radius_neighbors([[0.0]], "wide")


METRICS = ["l1", "l2", "cityblock", "infinity", "canberra", "braycurtis", "hamming", "correlation", "sqeuclidean"]


@pytest.mark.parametrize(
    "metric", [*METRICS, "jaccard", lambda a, b: float(np.abs(a - b).max() + 0.1 * (a != b).sum())]
)
def test_every_metric_equals_scikit_learn(metric):
    X, y, Q, _ = halves(load_wine)
    if metric in ("hamming", "jaccard"):
        X, Q = np.round(X[:, :6]), np.round(Q[:, :6])
    X, y, Q = X[:40], y[:40], Q[:20]
    ours = KNeighborsClassifier(4, metric=metric).fit(X, y)
    their = theirs.KNeighborsClassifier(4, metric=metric).fit(X != 0 if metric == "jaccard" else X, y)
    np.testing.assert_allclose(
        ours.kneighbors(Q)[0], their.kneighbors(Q != 0 if metric == "jaccard" else Q)[0], atol=1e-9
    )
    brute = np.sort(ours.kneighbors(Q, 40)[0], axis=1)
    np.testing.assert_array_equal(ours.kneighbors(Q)[0], brute[:, :4])


@pytest.mark.parametrize("algorithm", ["ball_tree", "kd_tree", "brute"])
@pytest.mark.parametrize("options", [{}, {"p": 1}, {"p": 3}, {"metric": "chebyshev"}, {"metric": "cosine"}], ids=str)
def test_trees_and_leaves_change_nothing(algorithm, options):
    X, y, Q, _ = halves(load_breast_cancer)
    X, Q = X[:, :4], Q[:, :4]
    plain = KNeighborsClassifier(6, **options).fit(X, y).kneighbors(Q)
    for leaf_size in (1, 7, 500):
        other = KNeighborsClassifier(6, algorithm=algorithm, leaf_size=leaf_size, **options).fit(X, y)
        np.testing.assert_array_equal(other.kneighbors(Q)[1], plain[1])
        np.testing.assert_array_equal(other.kneighbors(Q)[0], plain[0])
        rows = other.radius_neighbors(Q[:5], plain[0][:5, -1].max())
        expected = KNeighborsClassifier(6, algorithm="brute", **options).fit(X, y)
        for one, two in zip(rows.indices, expected.radius_neighbors(Q[:5], plain[0][:5, -1].max()).indices):
            np.testing.assert_array_equal(one, two)


def test_distances_may_be_given():
    from margin.foundations.neighbors import distance_matrix

    X, y, Q, _ = halves(load_iris)
    plain = KNeighborsClassifier(5).fit(X, y)
    given = KNeighborsClassifier(5, metric="precomputed").fit(distance_matrix(X, X), y)
    np.testing.assert_array_equal(given.predict(distance_matrix(X, Q)), plain.predict(Q))
    np.testing.assert_array_equal(given.kneighbors()[1], plain.kneighbors()[1])
    assert given.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="metric 'precomputed' needs a square matrix of distances; got shape"):
        KNeighborsClassifier(metric="precomputed").fit(X, y)


def test_sparse_distances_are_those_of_neighbors_and_the_others_are_not_known(tmp_path):
    X, y, Q, _ = halves(load_iris)
    search = theirs.NearestNeighbors(n_neighbors=9).fit(X)
    plain = KNeighborsClassifier(5, weights="distance").fit(X, y)
    graph = search.kneighbors_graph(mode="distance")
    given = KNeighborsClassifier(5, weights="distance", metric="precomputed").fit(graph, y)
    new = search.kneighbors_graph(Q, mode="distance")
    np.testing.assert_allclose(given.predict_proba(new), plain.predict_proba(Q), atol=1e-9)
    np.testing.assert_array_equal(given.kneighbors()[1], plain.kneighbors()[1])
    margin.save(given, tmp_path / "model.margin")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.margin").predict(new), given.predict(new))
    with pytest.raises(ValueError, match="X must give distances to 10 neighbors of every row; row 0 has 9"):
        given.kneighbors(new, 10)
    with pytest.raises(TypeError, match="must keep stored zeros, as csr does; got dok"):
        given.predict(new.todok())


@pytest.mark.parametrize("algorithm", ["auto", "brute"])
def test_an_exponent_below_one_compares_all_pairs(algorithm):
    X, y, Q, _ = halves(load_iris)
    with pytest.warns(UserWarning, match="with p below 1 the metric is no distance"):
        ours = KNeighborsClassifier(5, p=0.5, algorithm=algorithm).fit(X, y)
    with pytest.warns(UserWarning, match="not distance metrics"):
        their = theirs.KNeighborsClassifier(5, p=0.5, algorithm=algorithm).fit(X, y)
    np.testing.assert_allclose(ours.kneighbors(Q)[0], their.kneighbors(Q)[0])
    with pytest.raises(
        ValueError, match="KNeighborsClassifier: p below 1 needs algorithm 'brute' or 'auto'; got 'kd_tree'"
    ):
        KNeighborsClassifier(p=0.5, algorithm="kd_tree").fit(X, y)


def test_missing_values_and_places_on_the_globe_have_distances(tmp_path):
    X, y, Q, _ = halves(load_iris)
    X, Q = (np.where(np.random.default_rng(0).random(rows.shape) < 0.1, np.nan, rows) for rows in (X, Q))
    X, Q = X[~np.isnan(X).all(axis=1)], Q[(~np.isnan(Q)).sum(axis=1) > 2]
    ours, their = (
        cls(5, metric="nan_euclidean").fit(X, y[: len(X)]) for cls in (KNeighborsRegressor, theirs.KNeighborsRegressor)
    )
    np.testing.assert_allclose(ours.kneighbors(Q)[0], their.kneighbors(Q)[0], atol=1e-7)
    margin.save(ours, tmp_path / "model.margin")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.margin").predict(Q), ours.predict(Q))
    globe = np.random.default_rng(1).uniform([-1.5, -3], [1.5, 3], (60, 2))
    ours, their = (
        cls(4, metric="haversine").fit(globe[:40], np.arange(40))
        for cls in (KNeighborsRegressor, theirs.KNeighborsRegressor)
    )
    np.testing.assert_allclose(ours.kneighbors(globe[40:])[0], their.kneighbors(globe[40:])[0])
    with pytest.raises(ValueError, match="metric 'haversine' needs two columns"):
        KNeighborsRegressor(1, metric="haversine").fit(load_iris().data, np.arange(150))
    with pytest.raises(ValueError, match="contains NaN"):
        KNeighborsRegressor(1).fit(X, y[: len(X)])


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_the_graph_of_neighbors_is_that_of_scikit_learn(mode):
    X, y, Q, _ = halves(load_iris)
    ours, their = (cls(4).fit(X, y) for cls in (KNeighborsClassifier, theirs.KNeighborsClassifier))
    for rows in (None, Q):
        np.testing.assert_allclose(
            ours.kneighbors_graph(rows, mode=mode).toarray(), their.kneighbors_graph(rows, mode=mode).toarray()
        )
    with pytest.raises(ValueError, match="mode must be 'connectivity' or 'distance'; got 'other'"):
        ours.kneighbors_graph(mode="other")


def test_weights_and_options_may_come_from_functions_and_dicts():
    X, y, Q, _ = halves(load_diabetes)
    square = lambda d: 1 / (1 + d**2)  # noqa: E731
    ours, their = (
        cls(6, weights=square).fit(X, y).predict(Q) for cls in (KNeighborsRegressor, theirs.KNeighborsRegressor)
    )
    np.testing.assert_allclose(ours, their)
    covariance = np.cov(X.T) + np.eye(X.shape[1])
    options = {"metric": "mahalanobis", "metric_params": {"VI": np.linalg.inv(covariance)}}
    by_inverse = KNeighborsRegressor(3, **options).fit(X, y).predict(Q)
    np.testing.assert_allclose(
        by_inverse, KNeighborsRegressor(3, metric="mahalanobis", covariance=covariance).fit(X, y).predict(Q)
    )
    np.testing.assert_allclose(
        by_inverse, theirs.KNeighborsRegressor(3, algorithm="brute", **options).fit(X, y).predict(Q)
    )
    by_dict = KNeighborsRegressor(3, metric_params={"p": 1}).fit(X, y).predict(Q)
    np.testing.assert_array_equal(by_dict, KNeighborsRegressor(3, p=1).fit(X, y).predict(Q))
    with pytest.raises(ValueError, match="metric_params of metric 'minkowski' cannot hold 'q'"):
        KNeighborsRegressor(metric_params={"q": 1}).fit(X, y)
    one = KNeighborsRegressor(3, n_jobs=1).fit(X, y).predict(Q)
    np.testing.assert_array_equal(one, KNeighborsRegressor(3, n_jobs=-1).fit(X, y).predict(Q))


def test_few_rows_answer_what_they_can():
    """As in scikit-learn, only a query knows how many neighbors it asks for."""
    X, y = np.array([[0.0], [1.0], [3.0]]), [0, 0, 1]
    model = KNeighborsClassifier(n_neighbors=5).fit(X, y)
    np.testing.assert_array_equal(model.kneighbors([[0.9]], 2, return_distance=False), [[1, 0]])
    with pytest.raises(ValueError, match="n_neighbors must be an integer from 1 to 3; got 5"):
        model.predict([[0.9]])


def test_neighbors_of_no_weight_cannot_vote():
    X, y = np.array([[0.0], [1.0], [3.0]]), [0, 0, 1]
    model = KNeighborsClassifier(2, weights=np.zeros_like).fit(X, y)
    with pytest.raises(ValueError, match="weights must not be zero for all neighbors of a row"):
        model.predict(X)


def test_the_exponent_of_metric_params_counts_and_is_checked():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(SyntaxWarning, match="p is taken from metric_params; p=2 has no effect"):
        model = KNeighborsClassifier(metric_params={"p": 3}).fit(X, y)
    np.testing.assert_array_equal(model.kneighbors(X)[0], KNeighborsClassifier(p=3).fit(X, y).kneighbors(X)[0])
    with pytest.raises(ValueError, match="KNeighborsClassifier: metric_params must have a p above 0; got -1"):
        KNeighborsClassifier(metric_params={"p": -1}).fit(X, y)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
def test_an_infinite_exponent_is_the_largest_difference(algorithm, tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 4))  # no two distances are equal
    y = X.sum(axis=1)
    ours, peer = (
        cls(n_neighbors=7, p=np.inf, algorithm=algorithm).fit(X[:300], y[:300])
        for cls in (KNeighborsRegressor, theirs.KNeighborsRegressor)
    )
    assert ours.effective_metric_ == peer.effective_metric_ == "chebyshev"
    np.testing.assert_allclose(ours.predict(X[300:]), peer.predict(X[300:]))
    margin.save(ours, tmp_path / "model")
    np.testing.assert_array_equal(margin.load(tmp_path / "model").predict(X[300:]), ours.predict(X[300:]))
