"""Chains against the sum over all sequences, likelihoods against finite differences, taggers on planted sentences."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

import margin
from margin.neural.nets.tagging import TaggingNetwork, chain_log_likelihood
from margin.text.chain import TagChain, decode_chain, path_score, sum_chain
from margin.text.entities import entities, entity_scores
from margin.text.taggers import CRFTagger, HMMTagger, _Likelihood
from margin.text.token_tagger import TAGGING_ARCHITECTURES, TokenTagger


@pytest.mark.parametrize("seed", range(5))
def test_sums_and_maxima_are_those_over_all_sequences(seed):
    rng = np.random.default_rng(seed)
    k, lengths = 3, [4, 0, 1, 5]
    chain = TagChain(rng.normal(size=k), rng.normal(size=(k, k)), rng.normal(size=k))
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


@pytest.mark.parametrize("seed", range(3))
def test_log_likelihood_of_a_padded_batch_is_that_of_the_chain(seed):
    rng = np.random.default_rng(seed)
    k, lengths = 3, [4, 1, 5]
    chain = TagChain(rng.normal(size=k), rng.normal(size=(k, k)), rng.normal(size=k))
    scores, tags = [rng.normal(size=(n, k)) for n in lengths], [rng.integers(k, size=n) for n in lengths]
    log_z = sum_chain(np.concatenate(scores), np.cumsum(lengths), chain).log_z
    expected = [path_score(s, t, chain) - z for s, t, z in zip(scores, tags, log_z)]
    padded = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(s) for s in scores], batch_first=True)
    marks = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(t) for t in tags], batch_first=True)
    there = torch.arange(5) < torch.tensor(lengths)[:, None]
    found = chain_log_likelihood(padded, marks, there, *(torch.from_numpy(part) for part in chain))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


def test_without_a_chain_every_word_has_its_softmax():
    torch.manual_seed(0)
    net = TaggingNetwork(10, 5, 3, "cnn", chain=False, d_model=4).eval()
    ids, outlines = torch.tensor([[3, 4, 5], [6, 0, 0]]), torch.tensor([[2, 3, 2], [4, 0, 0]])
    tags, zeros = torch.tensor([[0, 2, 1], [1, 0, 0]]), (torch.zeros(3), torch.zeros(3, 3), torch.zeros(3))
    expected = -chain_log_likelihood(net(ids, outlines), tags, ids != 0, *zeros)
    torch.testing.assert_close(net.losses(ids, outlines, tags), expected)


def people(seed, n):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        first, place = ("".join(rng.choice(list("aeioulmnr"), 5)).capitalize() for _ in range(2))
        X.append(f"{rng.choice(['today', 'once'])} {first} {first}son left {place}ville")
        y.append("O B-PER I-PER O B-LOC")
    return X, y


@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("architecture", TAGGING_ARCHITECTURES)
def test_networks_find_names_never_seen(architecture, chain, tmp_path):
    options = {"d_model": 8, "hidden_size": 8, "n_filters": 8, "n_heads": 2, "kernel_sizes": (3,)}
    model = TokenTagger(architecture, chain=chain, **options, max_iter=10, learning_rate_init=0.02, random_state=0).fit(
        *people(0, 80)
    )
    new, truth = people(1, 40)
    assert model.score(new, truth) > 0.9
    for p in model.predict_proba([*new, ""]):
        np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.predict(["", "once Ana Anason left Oville"])[0] == []
    margin.save(model, tmp_path / "tagger.safetensors")
    again = margin.load(tmp_path / "tagger.safetensors")
    np.testing.assert_array_equal(np.concatenate(again.predict_proba(new)), np.concatenate(model.predict_proba(new)))


def test_order_and_company_of_sentences_do_not_matter_to_a_network():
    model = TokenTagger(d_model=8, hidden_size=8, max_iter=2, random_state=0).fit(*people(0, 40))
    X = ["once Ana left", "a", "", "today Bo Boson left Oville now"]
    together = model.predict_proba(X)
    for text, p in zip(X, together):
        np.testing.assert_allclose(model.predict_proba([text])[0], p, atol=1e-6)


def test_early_stopping_scores_tags_and_warm_starts_keep_them():
    model = TokenTagger(d_model=8, hidden_size=8, max_iter=3, early_stopping=True, warm_start=True, random_state=0)
    model.fit(*people(0, 40))
    assert len(model.validation_scores_) == 3
    assert 0 <= min(model.validation_scores_) <= max(model.validation_scores_) <= 1
    with pytest.raises(ValueError, match="warm_start must go on with tags"):
        model.fit(["a b"] * 4, ["X Y"] * 4)


@pytest.mark.parametrize("tagger", [HMMTagger, CRFTagger, TokenTagger])
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ("a b", ["O O"], "X must be a sequence of texts; got str"),
        (["a b"], ["O"], "text 0 has 2 words and 1 tags"),
        (["a b"], ["O O", "O"], "there must be tags for every text; got 1 texts, 2 sequences of tags"),
        (["a b", 3], ["O O", "O"], "X must be strings or sequences of strings; text 1 is int"),
        (["a b"], [["O", 1]], "y must be strings or sequences of strings; text 0 is list"),
        ([["a", "b\udcff"]], ["O O"], "X must be valid Unicode; text 0 has a lone surrogate at position 1"),
        (["", " "], ["", ""], "X must hold at least one word; all texts are empty"),
        (["a"], None, "requires y to be passed, but the target y is None"),
    ],
)
def test_bad_sentences_are_one_sentence(tagger, X, y, message):
    with pytest.raises(ValueError, match=f"^{tagger.__name__}: {message}.$"):
        tagger().fit(X, y)


def test_a_score_takes_tags_as_strings_too():
    X, y = ["the cat sleeps", "a dog sees the cat"], ["D N V", "D N V D N"]
    model = HMMTagger().fit(X, y)
    assert model.score(X, y) == model.score(X, [tags.split() for tags in y]) == 1.0
    assert model.score(X, ["N D V", "D N V D N"]) == 6 / 8
