"""BLEU by hand, beam search against all sequences, pairs of sequences, and the translator."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
import torch

from margin.neural.training.pairs import PairBatches
from margin.store import StoreError, load, save
from margin.text.beam import beam_search, length_worth
from margin.text.bleu import bleu, bleu_counts
from margin.text.translator import Translator

NAMES = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier"}
SOURCES = [" ".join(words) + "." for words in itertools.product(NAMES, repeat=3)]
TARGETS = [" ".join(NAMES[word] for word in reversed(text[:-1].split())) + "." for text in SOURCES]
SMALL = {
    "tokens": "char", "d_model": 32, "n_heads": 2, "n_blocks": 1, "context": 24, "max_iter": 40, "batch_size": 16,
    "random_state": 0,
}  # fmt: skip

RECURRENT = {**SMALL, "architecture": "gru", "max_iter": 30, "learning_rate_init": 0.01}


@pytest.fixture(scope="module")
def model():
    return Translator(**SMALL).fit(SOURCES, TARGETS)


@pytest.fixture(scope="module")
def recurrent():
    return Translator(**RECURRENT).fit(SOURCES, TARGETS)


def test_bleu_by_hand():
    # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples; equally long, so no penalty.
    value = bleu(["the cat sat on the mat"], ["the cat sat on a mat"])
    assert value == pytest.approx((5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    # All of 4 words found, but the reference has 6: e^(1 - 6/4).
    assert bleu(["the cat sat on"], ["the cat sat on a mat"]) == pytest.approx(math.exp(1 - 6 / 4))
    # Counts are summed before they are divided: (4 + 1)/(4 + 2) words, (3 + 0)/(3 + 1) pairs.
    value = bleu(["a b c d", "x z"], ["a b c d", "x y"], max_n=2)
    assert value == pytest.approx(math.sqrt(5 / 6 * 3 / 4))


def test_counts_are_clipped_at_the_most_of_any_reference():
    references = [["the", "cat", "is", "on", "the", "mat"], ["there", "is", "a", "cat", "on", "the", "mat"]]
    assert bleu_counts(["the"] * 7, references, 1) == (2, 7)  # the example of the paper
    value = bleu([["the"] * 7], [references], max_n=1)
    assert value == pytest.approx(2 / 7)
    # Of references with 6 and 7 tokens the nearer one counts: 5 tokens against 6.
    assert bleu([["cat", "is", "on", "the", "mat"]], [references], max_n=1) == pytest.approx(math.exp(1 - 6 / 5))


def test_bleu_of_nothing_in_common_is_zero_and_of_the_same_is_one():
    assert bleu(["a b c d"], ["e f g h"]) == 0.0
    assert bleu(["a b"], ["a b"]) == 0.0  # there are no triples
    assert bleu(["a b"], ["a b"], smooth=True) == 1.0
    assert bleu(["a, b c. d"], ["a , b c . d"]) == 1.0
    assert bleu([""], ["a"]) == 0.0
    with pytest.raises(ValueError, match="every hypothesis needs its references; got 1 and 2"):
        bleu(["a"], ["a", "b"])


def chain(seed, n_tokens):
    """Log-probabilities of the next token that depend on the last one, and a search over them."""
    logits = torch.from_numpy(np.random.default_rng(seed).normal(size=(n_tokens + 1, n_tokens)))
    return logits.log_softmax(dim=1)


def worth(table, tokens, end, alpha):
    rows = [len(table) - 1, *tokens]
    total = sum(float(table[a, b]) for a, b in zip(rows, [*tokens, end]))
    return total / length_worth(len(tokens) + 1, alpha)


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_best_of_all_sequences(seed):
    tables = [chain(seed, 3), chain(seed + 100, 3)]
    both = torch.stack(tables)

    def next_scores(tokens, parents):
        return both[torch.arange(2).repeat_interleave(30), tokens]

    found = beam_search(next_scores, 2, begin=3, end=0, width=30, max_tokens=4, alpha=0.0)
    for table, (tokens, value) in zip(tables, found):
        everything = [list(t) for n in range(4) for t in itertools.product((1, 2), repeat=n)]
        best = max(everything, key=lambda t: worth(table, t, 0, 0.0))
        assert tokens == best
        assert value == pytest.approx(worth(table, best, 0, 0.0))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_beam_of_one_takes_the_best_token_each_time(alpha):
    table = chain(3, 5)
    ((tokens, value),) = beam_search(
        lambda last, _: table[last], 1, begin=5, end=0, width=1, max_tokens=50, alpha=alpha
    )
    last, greedy = 5, []
    while (last := int(table[last].argmax())) != 0 and len(greedy) < 50:
        greedy.append(last)
    if len(greedy) < 50:
        assert tokens == greedy
        assert value == pytest.approx(worth(table, greedy, 0, alpha))


def test_what_does_not_end_is_given_as_it_is():
    table = torch.tensor([[-torch.inf, 0.0], [-torch.inf, 0.0]])
    ((tokens, value),) = beam_search(lambda last, _: table[last], 1, begin=0, end=0, width=2, max_tokens=3)
    assert tokens == [1, 1, 1]
    assert value == 0.0


def pairs_of(n):
    rng = np.random.default_rng(0)
    return [(np.full(rng.integers(1, 9), i), np.full(rng.integers(2, 9), i)) for i in range(n)]


def test_pairs_come_once_per_pass_and_resume():
    pairs = pairs_of(100)
    batches = PairBatches(pairs, 8, seed=1)
    assert batches.steps_per_epoch == 13
    first = [batches.draw() for _ in range(13)]
    seen = sorted(int(i) for batch in first for i in batch.tensors[0][:, 0])
    assert seen == list(range(100))
    for batch in first:
        for row, target in zip(*batch.tensors):
            source, given = pairs[int(row[0])]
            assert row[row >= 0].tolist() == source.tolist()
            assert target[target >= 0].tolist() == given.tolist()
        assert batch.mass == sum(len(pairs[int(i)][1]) - 1 for i in batch.tensors[0][:, 0])
    batches.draw()
    again = PairBatches(pairs, 8, seed=5)
    again.load_state(pickle.loads(pickle.dumps(batches.state())))
    for _ in range(20):
        for a, b in zip(batches.draw().tensors, again.draw().tensors):
            assert torch.equal(a, b)
    with pytest.raises(ValueError, match="the state belongs to 100 pairs; got 3"):
        PairBatches(pairs[:3], 8, seed=0).load_state(batches.state())


def test_little_of_a_batch_is_padding():
    pairs = pairs_of(3000)
    batches = PairBatches(pairs, 32, seed=0)
    drawn = [batches.draw().tensors[1] for _ in range(batches.steps_per_epoch)]
    padding = sum(int((target < 0).sum()) for target in drawn) / sum(target.numel() for target in drawn)
    assert padding < 0.05  # 40 % without sorting


def test_words_are_translated_in_their_order(model):
    assert model.score(SOURCES, TARGETS) > 0.95
    assert model.predict(["one two three."]).tolist() == ["drei zwei eins."]
    greedy = Translator(**SMALL)
    vars(greedy).update(vars(model))
    assert greedy.set_params(beam_width=1).score(SOURCES, TARGETS) > 0.9
    texts = ["four four one", "one", "two three one"]
    assert model.predict(texts).tolist() == [model.predict([text])[0] for text in texts]


def test_recurrent_networks_translate_too(recurrent, tmp_path):
    assert recurrent.score(SOURCES, TARGETS) > 0.95
    assert recurrent.predict(["one two three."]).tolist() == ["drei zwei eins."]
    texts = ["four four one", "one", "two three one", ""]
    assert recurrent.predict(texts).tolist() == [recurrent.predict([text])[0] for text in texts]
    together = recurrent.score_pairs(SOURCES[:7], TARGETS[:7])
    alone = [recurrent.score_pairs([s], [t])[0] for s, t in zip(SOURCES[:7], TARGETS[:7])]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    (weights,) = recurrent.alignment("one two", "zwei eins")
    assert weights.shape == (1, 10, 8)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-5)
    save(recurrent, tmp_path / "gru.margin")
    again = load(tmp_path / "gru.margin")
    assert again.predict(SOURCES[:9]).tolist() == recurrent.predict(SOURCES[:9]).tolist()
    np.testing.assert_array_equal(again.score_pairs(SOURCES, TARGETS), recurrent.score_pairs(SOURCES, TARGETS))


def test_a_file_that_names_another_network_than_its_weights_is_refused(recurrent, tmp_path):
    other = copy.copy(recurrent)
    other.network_ = {name: value for name, value in recurrent.network_.items() if name != "architecture"}
    save(other, tmp_path / "wrong.margin")
    with pytest.raises(StoreError, match="weights_"):
        load(tmp_path / "wrong.margin")


def test_a_beam_finds_what_is_at_least_as_probable(model):
    texts = ["one two", "three", "four four four"]
    wide = model.predict(texts)
    model.beam_width = 1
    narrow = model.predict(texts)
    model.beam_width = 4
    n = [[len(t) + 1 for t in side] for side in (wide, narrow)]
    found = [
        model.score_pairs(texts, side.tolist()) * lengths / [length_worth(k, 0.6) for k in lengths]
        for side, lengths in zip((wide, narrow), map(np.array, n))
    ]
    assert (found[0] >= found[1] - 1e-5).all()


def test_scores_do_not_depend_on_the_pairs_beside_them(model):
    together = model.score_pairs(SOURCES[:7], TARGETS[:7])
    alone = [model.score_pairs([s], [t])[0] for s, t in zip(SOURCES[:7], TARGETS[:7])]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together.mean() > model.score_pairs(SOURCES[:7], TARGETS[7:14]).mean()


def test_the_alignment_shows_where_the_decoder_looks(model):
    (weights,) = model.alignment("one two", "zwei eins")
    assert weights.shape == (2, 10, 8)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("network", ["transformer", "gru"])
def test_a_fit_can_be_stopped_and_continued_with_the_same_bits(network):
    short = {**SMALL, "architecture": network, "dropout": 0.1, "max_iter": 2, "record_steps": 1, "early_stopping": True}
    whole, half, rest = (Translator(**short) for _ in range(3))
    expected = [record.as_dict() for record in whole.iterate(SOURCES, TARGETS)]
    seen = [record.as_dict() for record in itertools.islice(half.iterate(SOURCES, TARGETS), 3)]
    state = pickle.loads(pickle.dumps(half.get_state()))
    seen += [record.as_dict() for record in rest.iterate(SOURCES, TARGETS, state=state)]
    assert seen == expected
    for name, array in whole.weights_.items():
        np.testing.assert_array_equal(rest.weights_[name], array, err_msg=name)


@pytest.mark.parametrize(
    "X,y,sentence",
    [
        (["a"], None, "requires y to be passed"),
        (["a", "b"], ["c"], "X and y must have equally many texts; got 2 and 1"),
        (["a" * 24], ["b"], "less than 24 tokens, or truncate must be True; source 0 has 24"),
        (["a"], ["b" * 30], "less than 24 tokens, or truncate must be True; target 0 has 30"),
    ],
)
def test_bad_pairs_are_refused(X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        Translator(**SMALL, truncate=False).fit(X, y)


def test_empty_texts_and_unseen_characters_do_not_end_a_batch():
    model = Translator(**{**SMALL, "max_iter": 1}).fit(["ab", "ba", ""], ["cd", "dc", ""])
    alone = model.predict(["ab"])
    with pytest.warns(UserWarning, match="1 character was not in fit and is left out.*'é' at position 1 of text 2"):
        assert model.predict(["ab", "", "aéb"]).tolist() == [alone[0], "", alone[0]]


def test_long_texts_are_cut_with_a_warning():
    model = Translator(**{**SMALL, "max_iter": 1})
    with pytest.warns(
        UserWarning, match="1 source text is cut to 23 tokens, the first of them source 0; a context of 51"
    ):
        model.fit(["a" * 50, "a"], ["b", "b" * 23])
    with pytest.warns(UserWarning, match="2 source texts are cut to 23 tokens, the first of them source 1"):
        assert len(model.predict(["a", "a" * 70, "a" * 24])[1]) <= 24
