"""Topics against scikit-learn, brute force over all assignments, and planted topics."""

import itertools

import numpy as np
import pytest
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation as TheirLDA

from margin.compiled.text import digamma
from margin.text import topics as topic_functions
from margin.text.lda import LatentDirichletAllocation
from margin.text.topics import collapsed_log_likelihood, document_posterior, draw_documents, gibbs_sweep, topic_bound


def test_digamma_is_that_of_scipy():
    x = np.geomspace(1e-6, 1e6, 200)
    np.testing.assert_allclose([digamma(value) for value in x], psi(x), rtol=1e-12, atol=1e-13)


def planted(seed, n=200, length=80):
    rng = np.random.default_rng(seed)
    topics = np.full((3, 12), 0.01)
    for k in range(3):
        topics[k, 4 * k : 4 * k + 4] += 0.22
    topics /= topics.sum(axis=1, keepdims=True)
    return draw_documents(rng, topics, n, length, 0.3)[0], topics


def test_posterior_and_bound_are_those_of_scikit_learn():
    X, _ = planted(0, 40)
    theirs = TheirLDA(3, max_iter=5, mean_change_tol=1e-9, max_doc_update_iter=5000, random_state=0).fit(X)
    gamma, expected = document_posterior(X, theirs.components_, 1 / 3, tol=1e-9, max_iter=5000)
    np.testing.assert_allclose(gamma / gamma.sum(axis=1, keepdims=True), theirs.transform(X), atol=1e-6)
    assert expected.sum() == pytest.approx(X.sum())
    bound = topic_bound(X, gamma, theirs.components_, 1 / 3, 1 / 3)
    assert bound == pytest.approx(theirs.score(X), rel=1e-6)


def test_the_bound_is_below_the_log_probability_and_rises():
    rng = np.random.default_rng(1)
    X = np.array([[1, 1], [0, 2]])
    documents, words = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    each = []
    for topics in itertools.product(range(2), repeat=4):
        ndk, nkw = np.zeros((2, 2)), np.zeros((2, 2))
        np.add.at(ndk, (documents, topics), 1)
        np.add.at(nkw, (topics, words), 1)
        each.append(collapsed_log_likelihood(ndk, nkw, 0.5, 0.7))
    exact = np.logaddexp.reduce(each)
    topics = rng.gamma(1.0, 1.0, (2, 2))
    bounds = []
    for _ in range(20):
        gamma, expected = document_posterior(X, topics, 0.5, tol=1e-10, max_iter=1000)
        topics = 0.7 + expected
        gamma, _ = document_posterior(X, topics, 0.5, tol=1e-10, max_iter=1000)
        bounds.append(topic_bound(X, gamma, topics, 0.5, 0.7))
    assert (np.diff(bounds) > -1e-9).all()
    assert bounds[-1] < exact


def test_gibbs_draws_from_the_posterior_of_all_assignments():
    documents, words = np.array([0, 0, 1]), np.array([0, 1, 0])
    alpha, eta = 0.5, 0.3
    each = {}
    for topics in itertools.product(range(2), repeat=3):
        ndk, nkw = np.zeros((2, 2)), np.zeros((2, 2))
        np.add.at(ndk, (documents, topics), 1)
        np.add.at(nkw, (topics, words), 1)
        each[topics] = np.exp(collapsed_log_likelihood(ndk, nkw, alpha, eta))
    rng, assigned = np.random.default_rng(0), np.zeros(3, dtype=np.int64)
    ndk, nkw = np.array([[2, 0], [1, 0]]), np.array([[2, 1], [0, 0]])
    seen = dict.fromkeys(each, 0)
    for _ in range(20_000):
        gibbs_sweep(documents, words, assigned, ndk, nkw, alpha, eta, rng.random(3))
        seen[tuple(assigned.tolist())] += 1
    total = sum(each.values())
    np.testing.assert_allclose([seen[z] / 20_000 for z in each], [each[z] / total for z in each], atol=0.02)


@pytest.mark.parametrize("method", ["batch", "online", "gibbs"])
@pytest.mark.parametrize("seed", range(2))
def test_planted_topics_are_found(method, seed):
    X, topics = planted(seed)
    model = LatentDirichletAllocation(
        3, learning_method=method, doc_topic_prior=0.3, max_iter=60, batch_size=50, random_state=seed
    ).fit(X)
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    best = min(np.abs(found[list(order)] - topics).sum(axis=1).max() for order in itertools.permutations(range(3)))
    assert best < 0.2
    theirs = TheirLDA(3, doc_topic_prior=0.3, max_iter=60, random_state=seed).fit(X)
    assert model.perplexity(X) < 1.02 * theirs.perplexity(X)


def test_an_evaluated_fit_ends_when_it_has_settled():
    X, _ = planted(0, 60)
    model = LatentDirichletAllocation(3, max_iter=200, evaluate_every=1, perp_tol=0.05, random_state=0)
    values = [record["perplexity"] for record in model.iterate(X)]
    assert len(values) < 200
    assert abs(values[-1] - values[-2]) < 0.05
    assert model.n_iter_ == len(values)


def test_bad_counts_are_named():
    with pytest.raises(ValueError, match="counts must be at least 0; got -1"):
        LatentDirichletAllocation(2).fit([[1.0, -1.0]])
    with pytest.raises(ValueError, match="needs integer counts"):
        LatentDirichletAllocation(2, learning_method="gibbs").fit([[1.0, 0.5]])


def test_partial_fit_learns_planted_topics_batch_by_batch_as_scikit_learn_does():
    X, topics = planted(4, 300)
    settings = {"total_samples": 300, "batch_size": 50, "learning_offset": 2.0, "random_state": 0}
    ours, theirs = (kind(3, **settings) for kind in (LatentDirichletAllocation, TheirLDA))
    for _ in range(4):
        ours.partial_fit(X), theirs.partial_fit(X)
    assert (ours.n_iter_, ours.n_batch_iter_) == (4, 24)
    found = ours.components_ / ours.components_.sum(axis=1, keepdims=True)
    distances = np.abs(found[:, None] - topics).sum(axis=2) / 2
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]
    assert distances.min(axis=1).max() < 0.1
    assert ours.perplexity(X) == pytest.approx(theirs.perplexity(X), rel=0.01)


def test_perplexity_of_a_sample_and_what_fit_keeps_are_those_of_scikit_learn():
    X, _ = planted(5, 40)
    settings = {"mean_change_tol": 1e-9, "max_doc_update_iter": 5000, "total_samples": 1000, "random_state": 0}
    theirs = TheirLDA(3, **settings).fit(X)
    ours = LatentDirichletAllocation(3, **settings).fit(X)
    assert ours.bound_ == pytest.approx(ours.perplexity(X))
    ours.components_ = theirs.components_
    assert ours.perplexity(X, sub_sampling=True) == pytest.approx(theirs.perplexity(X, sub_sampling=True), rel=1e-6)
    np.testing.assert_allclose(ours.exp_dirichlet_component_, theirs.exp_dirichlet_component_, rtol=1e-7)


def test_partial_fit_goes_on_from_a_fit_and_refuses_other_words():
    X, _ = planted(6, 40)
    model = LatentDirichletAllocation(3, max_iter=3, random_state=0).fit(X)
    before = model.components_
    model.partial_fit(X[:10])
    assert (model.n_iter_, model.n_batch_iter_) == (4, 4)
    moved = np.abs(before / before.sum() - model.components_ / model.components_.sum()).sum() / 2
    assert 0 < moved < 0.3
    with pytest.raises(ValueError, match="X has 7 features"):
        model.partial_fit(X[:, :7])


def test_parts_of_the_documents_give_the_posterior_of_all(monkeypatch):
    """Split or not, on one thread or two: posteriors are the same bits, expected counts too for the same parts."""
    rng = np.random.default_rng(0)
    counts, lam = rng.poisson(0.4, size=(90, 40)), rng.gamma(2.0, size=(5, 40))
    whole = document_posterior(counts, lam, 0.2)
    monkeypatch.setattr(topic_functions, "WORK_PER_PART", 1000.0)
    split = document_posterior(counts, lam, 0.2)
    monkeypatch.setattr(topic_functions, "threads_for", lambda work: 2)
    shared = document_posterior(counts, lam, 0.2)
    np.testing.assert_array_equal(whole[0], split[0])
    np.testing.assert_allclose(whole[1], split[1], rtol=1e-13)
    for one, other in zip(split, shared):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_any_number_of_jobs_gives_the_same_topics(n_jobs):
    X = np.random.default_rng(0).poisson(0.5, size=(60, 30))
    for method in ("batch", "online"):
        settings = {"learning_method": method, "max_iter": 3, "random_state": 0}
        alone = LatentDirichletAllocation(4, **settings).fit(X)
        model = LatentDirichletAllocation(4, n_jobs=n_jobs, **settings).fit(X)
        np.testing.assert_array_equal(model.components_, alone.components_)
        np.testing.assert_array_equal(model.transform(X), alone.transform(X))
