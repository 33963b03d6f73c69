"""Naive Bayes: against scikit-learn, by definition, and exact in chunks."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn import naive_bayes as theirs
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from margin.bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from margin.bayes.counting import bernoulli_log_likelihood, smoothed_log_probabilities
from margin.bayes.gaussian import gaussian_log_likelihood
from margin.bayes.statistics import ClassMoments, pooled_variance

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
MODELS = {
    "gaussian": (GaussianNB, theirs.GaussianNB),
    "multinomial": (MultinomialNB, theirs.MultinomialNB),
    "bernoulli": (BernoulliNB, theirs.BernoulliNB),
    "categorical": (CategoricalNB, theirs.CategoricalNB),
}


def data(name, kind):
    X, y = SETS[name](return_X_y=True)
    if kind == "bernoulli":
        X = (np.median(X, axis=0) < X).astype(float)
    if kind == "categorical":
        # Codes without gaps: quartiles, renumbered.

        quartiles = [np.searchsorted(np.quantile(column, [0.25, 0.5, 0.75]), column) for column in X.T]
        X = np.column_stack([np.unique(column, return_inverse=True)[1] for column in quartiles])
    return X, y


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", SETS)
def test_parity_with_scikit_learn(name, kind):
    X, y = data(name, kind)
    ours, their = (model().fit(X, y) for model in MODELS[kind])
    # Smoothing of 1e-9 makes joint log-probabilities as large as 1e9 in constant columns of the digits.
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), their.predict_joint_log_proba(X), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), their.predict(X))


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "categorical"])
def test_smoothing_and_priors_equal_scikit_learn(kind):
    X, y = data("wine", kind)
    for options in ({"alpha": 0.1}, {"fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}):
        ours, their = (model(**options).fit(X, y) for model in MODELS[kind])
        np.testing.assert_allclose(ours.predict_log_proba(X), their.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    ours, their = (model(priors=[0.2, 0.3, 0.5]).fit(X, y) for model in MODELS["gaussian"])
    np.testing.assert_allclose(ours.predict_log_proba(X), their.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_sparse_rows_say_the_same(kind):
    X, y = data("digits", kind)
    for threshold in ({}, {"binarize": 3.0}) if kind == "bernoulli" else ({},):
        model = MODELS[kind][0](**threshold)
        dense = model.fit(X, y).predict_log_proba(X)
        sparse = model.fit(sp.csr_array(X), y).predict_log_proba(sp.csr_array(X))
        np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_leave_the_same_bits_as_the_whole(kind, weighted):
    rng = np.random.default_rng(0)
    X = rng.lognormal(sigma=2, size=(5000, 6)) if kind != "categorical" else rng.integers(9, size=(5000, 6)) / 7
    y = rng.integers(3, size=5000)
    weights = rng.uniform(0, 2, 5000) if weighted else None
    whole = MODELS[kind][0]().fit(X, y, weights)
    cuts = [0, 1, 2, 40, 2500, 5000]  # chunks that run in NumPy and one that is compiled
    pieces = MODELS[kind][0]()
    for low, high in pairwise(cuts):
        pieces.partial_fit(X[low:high], y[low:high], [0, 1, 2], None if weights is None else weights[low:high])
    assert vars(whole).keys() == vars(pieces).keys()
    for name, value in vars(whole).items():
        for a, b in zip(value, vars(pieces)[name]) if isinstance(value, list) else [(value, vars(pieces)[name])]:
            np.testing.assert_array_equal(a, b, err_msg=name)
    np.testing.assert_array_equal(pieces.predict_log_proba(X[:50]), whole.predict_log_proba(X[:50]))


@pytest.mark.parametrize("kind", MODELS)
def test_a_weight_counts_like_repeated_rows(kind):
    X, y = data("iris", kind)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = MODELS[kind][0]().fit(X, y, times)
    repeated = MODELS[kind][0]().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-9, atol=1e-9)


def test_smoothing_is_never_stored():
    """Fit again with another smoothing on the statistics of the first: as if it had been so from the start."""
    X, y = load_wine(return_X_y=True)
    model = GaussianNB(var_smoothing=0.1).partial_fit(X[:90], y[:90], [0, 1, 2]).partial_fit(X[90:], y[90:])
    model.set_params(var_smoothing=1e-9)
    np.testing.assert_array_equal(model.predict_log_proba(X), GaussianNB().fit(X, y).predict_log_proba(X))
    counts = MultinomialNB(alpha=5.0).fit(X, y).set_params(alpha=1.0)
    np.testing.assert_array_equal(counts.predict_log_proba(X), MultinomialNB().fit(X, y).predict_log_proba(X))


@given(st.integers(0, 10**6), st.floats(-1e6, 1e6))
def test_moments_are_those_of_all_rows_however_they_come(seed, offset):
    rng = np.random.default_rng(seed)
    X, codes, w = offset + rng.normal(size=(60, 3)), rng.integers(2, size=60), rng.uniform(0.1, 2, 60)
    moments = ClassMoments.empty(2, 3).add(X[:23], codes[:23], w[:23]).add(X[23:], codes[23:], w[23:])
    for k in range(2):
        own, weights = X[codes == k], w[codes == k]
        mean = np.average(own, axis=0, weights=weights) if len(own) else np.zeros(3)
        np.testing.assert_allclose(moments.weight[k], weights.sum(), rtol=1e-13)
        np.testing.assert_allclose(moments.mean[k], mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moments.scatter[k], weights @ (own - mean) ** 2, rtol=1e-7, atol=1e-9)
    center = np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(pooled_variance(moments), np.average((X - center) ** 2, axis=0, weights=w), rtol=1e-7)


def test_likelihoods_by_definition():
    rng = np.random.default_rng(0)
    X, mean, variance = rng.normal(size=(8, 3)), rng.normal(size=(2, 3)), rng.uniform(0.5, 2, (2, 3))
    expected = norm.logpdf(X[:, None], mean, np.sqrt(variance)).sum(axis=2)
    np.testing.assert_allclose(gaussian_log_likelihood(X, mean, variance), expected, rtol=1e-12)
    ones, counts, weight = (
        rng.integers(2, size=(8, 3)).astype(float),
        np.array([[1.0, 2, 3], [0, 4, 1]]),
        np.array([3.0, 5]),
    )
    theta = (counts + 0.5) / (weight[:, None] + 1)
    expected = np.where(ones[:, None] == 1, np.log(theta), np.log(1 - theta)).sum(axis=2)
    np.testing.assert_allclose(bernoulli_log_likelihood(ones, counts, weight, 0.5), expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(smoothed_log_probabilities(counts, 0.5)).sum(axis=1), 1, rtol=1e-14)


def test_variances_far_from_zero_keep_their_digits():
    X = 1e9 + np.random.default_rng(0).normal(size=(400, 1))
    y = np.arange(400) % 2
    expected = [np.var(X[y == c].ravel() - 1e9) for c in (0, 1)]
    np.testing.assert_allclose(GaussianNB(var_smoothing=0).fit(X, y).var_.ravel(), expected, rtol=1e-6)


def test_any_values_are_categories_and_unseen_ones_cost_alike():
    X, y = np.array([[0.5], [0.5], [-3.0], [7.0]]), [0, 0, 1, 1]
    model = CategoricalNB(alpha=1.0, min_categories=5).fit(X, y)
    assert model.categories_[0].tolist() == [-3, 0.5, 7]
    log = model.predict_joint_log_proba([[0.5], [99.0]])
    np.testing.assert_allclose(log[0], np.log(0.5) + np.log([3 / 7, 1 / 7]))
    np.testing.assert_allclose(log[1], np.log(0.5) + np.log([1 / 7, 1 / 7]))


def test_a_declared_class_without_rows_is_impossible():
    for model in (GaussianNB(), MultinomialNB(), BernoulliNB(), CategoricalNB()):
        model.partial_fit([[1.0, 2.0], [3.0, 1.0]], [0, 2], classes=[0, 1, 2])
        proba = model.predict_proba([[1.0, 2.0]])
        assert proba[0, 1] == 0
        assert proba.sum() == pytest.approx(1)


X4, Y4 = np.array([[1.0, 2], [2, 1], [3, 5], [4, 4]]), [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: MultinomialNB().fit(-X4, Y4), "Negative values in data passed to MultinomialNB: .*; got -5"),
        (lambda: GaussianNB(priors=[0.5, 0.6]).fit(X4, Y4), "priors must be non-negative with sum 1; got sum 1.1"),
        (lambda: GaussianNB(priors=[1.0]).fit(X4, Y4), "priors must have one number for each of the 2 classes"),
        (lambda: GaussianNB().partial_fit(X4, Y4), "first call of partial_fit needs classes"),
        (lambda: GaussianNB().partial_fit(X4, Y4, [0, 2]), "y holds 1, which is not among classes"),
        (lambda: GaussianNB().fit(X4, Y4, [0, 0, 0, 0]), "at least one non-zero number"),
        (lambda: GaussianNB(var_smoothing=0).fit(X4 * [0, 1], Y4).predict(X4), "column 0 is constant in class 0"),
        (lambda: BernoulliNB(binarize=None).fit(X4, Y4), "X must hold zeros and ones only"),
        (
            lambda: BernoulliNB(binarize=-1.0).fit(sp.csr_array(X4), Y4),
            "at least 0 for sparse X; got -1",
        ),
        (lambda: GaussianNB().fit(X4 * np.nan, Y4), "NaN"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_refused_chunk_changes_nothing():
    model = GaussianNB().partial_fit(X4, Y4, [0, 1])
    before = model.theta_.copy()
    for bad in (lambda: model.partial_fit(X4, [0, 0, 0, 7]), lambda: model.partial_fit(X4 * np.inf, Y4)):
        with pytest.raises(ValueError):
            bad()
    np.testing.assert_array_equal(model.theta_, before)


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "CategoricalNB"])
def test_smoothing_options_and_learned_attributes_are_those_of_scikit_learn(name):
    from sklearn import naive_bayes

    import margin.bayes

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 4)) * [1, 1, 2, 3], rng.integers(0, 3, 60)  # codes 1, 3, ... may not occur
    choices = [{}, {"alpha": 0.3}, {"fit_prior": False}]
    choices += [{"alpha": [0.1, 1.0, 2.0, 0.5]}] if name == "MultinomialNB" else []
    choices += [{"min_categories": 5}, {"min_categories": [3, 4, 5, 6]}] if name == "CategoricalNB" else []
    for options in choices:
        ours, their = (getattr(room, name)(**options).fit(X, y) for room in (margin.bayes, naive_bayes))
        np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(ours.class_log_prior_, their.class_log_prior_)
        if name == "CategoricalNB":
            np.testing.assert_array_equal(ours.n_categories_, their.n_categories_)
            for mine, other in zip(ours.category_count_, their.category_count_, strict=True):
                np.testing.assert_array_equal(mine, other)
            for mine, other in zip(ours.feature_log_prob_, their.feature_log_prob_, strict=True):
                # Their log-probabilities are normalized over the declared categories, ours too.
                np.testing.assert_allclose(mine, other)
        else:
            np.testing.assert_allclose(ours.feature_log_prob_, their.feature_log_prob_)


def test_without_smoothing_what_was_never_seen_is_impossible():
    from margin.bayes import MultinomialNB

    model = MultinomialNB(alpha=0.0).fit([[2, 0], [1, 1]], [0, 1])
    assert np.isneginf(model.feature_log_prob_[0, 1])
    np.testing.assert_allclose(model.predict_proba([[0, 1], [1, 0]]), [[0, 1], [2 / 3, 1 / 3]])


@pytest.mark.parametrize("model", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_another_alpha_than_the_given_one_is_told(model):
    from sklearn import naive_bayes

    X, y = np.random.default_rng(0).integers(0, 3, (40, 2)), np.arange(40) % 2
    their = getattr(naive_bayes, model.__name__)
    with pytest.warns(UserWarning, match=f"{model.__name__}: alpha=0.0 is taken for 1e-10"):
        ours = model(alpha=0.0, force_alpha=False).fit(X, y)
    with pytest.warns(UserWarning, match="alpha too small"):
        other = their(alpha=0.0, force_alpha=False).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-9)
