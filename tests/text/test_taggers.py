"""Chains against the sum over all sequences, likelihoods against finite differences, taggers on planted sentences."""

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from margin.text.chain import Chain, decode_chain, path_score, sum_chain
from margin.text.entities import entities, entity_scores
from margin.text.taggers import CRFTagger, HMMTagger, _Likelihood


@pytest.mark.parametrize("seed", range(5))
def test_sums_and_maxima_are_those_over_all_sequences(seed):
    rng = np.random.default_rng(seed)
    k, lengths = 3, [4, 0, 1, 5]
    chain = Chain(rng.normal(size=k), rng.normal(size=(k, k)), rng.normal(size=k))
    ends = np.cumsum(lengths)
    scores = rng.normal(size=(ends[-1], k))
    sums, (best, values) = sum_chain(scores, ends, chain), decode_chain(scores, ends, chain)
    pairs = np.zeros((k, k))
    for s, (n, end) in enumerate(zip(lengths, ends)):
        if n == 0:
            continue
        mine = scores[end - n : end]
        paths = np.array(list(itertools.product(range(k), repeat=n)))
        each = np.array([path_score(mine, path, chain) for path in paths])
        p = np.exp(each - logsumexp(each))
        assert sums.log_z[s] == pytest.approx(logsumexp(each))
        np.testing.assert_allclose(sums.marginals[end - n : end], [np.bincount(c, p, k) for c in paths.T])
        assert best[end - n : end].tolist() == paths[each.argmax()].tolist()
        assert values[s] == pytest.approx(each.max())
        for before, after in zip(paths.T[:-1], paths.T[1:]):
            np.add.at(pairs, (before, after), p)
    np.testing.assert_allclose(sums.pairs, pairs)


def test_gradient_of_the_likelihood_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    model = CRFTagger()
    sentences = [["Ann", "saw", "Rome"], [], ["Rome", "slept"]]
    model.features_ = ["word=ann", "word=rome", "before=saw", "bias"]
    codes = [np.array([0, 1, 2]), np.array([], dtype=np.int64), np.array([2, 1])]
    problem = _Likelihood(model._design(sentences), codes, 3, 0.3)
    start = rng.normal(size=problem.size)
    assert check_grad(lambda w: problem(w)[0], lambda w: problem(w)[1], start) < 1e-5


def test_entities_are_runs():
    assert entities(["I-PER", "I-PER", "O", "B-LOC", "I-LOC", "I-PER"]) == [
        ("PER", 0, 2),
        ("LOC", 3, 5),
        ("PER", 5, 6),
    ]
    scores = entity_scores([["B-PER", "I-PER", "O"], ["B-LOC"]], [["B-PER", "O", "O"], ["B-LOC"]])
    assert scores == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="as many sentences and tags"):
        entity_scores([["O"]], [["O", "O"]])


def planted(seed, n):
    """Sentences of persons, places and firms; surnames and firms of two words, many names seen only once."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        name, place = (
            "".join(rng.choice(list("aeioulmnr"), 5)).capitalize() + ending
            for ending in (rng.choice(["son", "er"]), "ville")
        )
        X.append(f"yesterday {rng.choice(['Ann', 'Bob', 'Eve'])} {name} visited {place} with Acme Corp")
        y.append("O B-PER I-PER O B-LOC O B-ORG I-ORG")
    return X, y


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter=1"):
        CRFTagger(max_iter=1).fit(*planted(0, 5))


@pytest.mark.parametrize("model", [HMMTagger(), CRFTagger(alpha=1.0)])
def test_entities_of_unseen_names_are_found(model):
    X, y = planted(0, 60)
    model.fit(X, y)
    new, true = planted(1, 30)
    assert model.score(new, [tags.split() for tags in true]) > 0.95
    for sentence, table in zip(new, model.predict_proba(new)):
        assert table.shape == (len(sentence.split()), len(model.tags_))
        np.testing.assert_allclose(table.sum(axis=1), 1)
    assert model.predict(["", "Ann"])[0] == []


def test_hmm_joint_probabilities_sum_to_one_over_tags_and_onward():
    X, y = planted(2, 10)
    model = HMMTagger(alpha=0.5).fit(X, y)
    np.testing.assert_allclose(np.exp(model.emissions_).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.between_).sum(axis=1) + np.exp(model.last_), 1)
    assert np.exp(model.first_).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["a b"], ["O"], "text 0 has 2 words and 1 tags"),
        (["a"], ["O", "O"], "got 1 texts, 2 tags"),
        ([""], [""], "all texts are empty"),
        ([1], ["O"], "text 0 is int"),
    ],
)
def test_bad_input_is_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        HMMTagger().fit(X, y)
