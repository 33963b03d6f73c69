"""Losses of language models against torch's, drawing against the probabilities it follows."""

import numpy as np
import pytest
import torch

from margin.text.decoding import generate, next_token_log_probabilities
from margin.text.language import embed_tokens, mask_tokens, masked_token_loss, next_token_loss, sentence_pairs
from margin.text.vocabulary import VocabularyTokenizer, train_tokenizer


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_next_token_loss_is_shifted_cross_entropy(reduction):
    torch.manual_seed(0)
    logits, ids = torch.randn(3, 8, 11), torch.randint(11, (3, 8))
    expected = torch.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, 11), ids[:, 1:].reshape(-1), reduction=reduction
    )
    got = next_token_loss(logits, ids, reduction=reduction)
    torch.testing.assert_close(got.reshape(expected.shape), expected)


def test_masked_loss_counts_only_chosen_positions():
    torch.manual_seed(0)
    logits, ids = torch.randn(3, 8, 11), torch.randint(11, (3, 8))
    chosen = torch.rand(3, 8) < 0.4
    marked = torch.where(chosen, ids, -100)
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), marked.flatten(), ignore_index=-100)
    torch.testing.assert_close(masked_token_loss(logits, ids, chosen), expected)


def test_masks_replace_as_bert_says():
    ids = np.random.default_rng(1).integers(0, 1000, 200_000)
    inputs, targets, positions = mask_tokens(ids, 1000, rate=0.15, random_state=3, vocab_size=1000)
    np.testing.assert_array_equal(targets, ids)
    np.testing.assert_array_equal(inputs[~positions], ids[~positions])
    assert abs(positions.mean() - 0.15) < 0.005
    assert abs((inputs[positions] == 1000).mean() - 0.8) < 0.02
    assert abs((inputs[positions] == ids[positions]).mean() - 0.1) < 0.02
    plain = mask_tokens(ids, 1000, rate=0.5, random_state=3)
    assert (plain.inputs[plain.positions] == 1000).all()


def test_half_of_the_pairs_follow():
    documents = [[f"{d} {s}" for s in range(6)] for d in range(5)]
    pairs = sentence_pairs(documents, random_state=0)
    assert sum(follows for *_, follows in pairs) == (len(pairs) + 1) // 2
    for first, second, follows in pairs:
        (d, s), (e, t) = first.split(), second.split()
        assert (d == e and int(t) == int(s) + 1) == follows


def test_embedding_is_a_product_with_one_hot_columns():
    torch.manual_seed(0)
    table = torch.randn(4, 9, dtype=torch.float64, requires_grad=True)
    ids = torch.tensor([3, 3, 8, 0])
    expected = table @ torch.nn.functional.one_hot(ids, 9).double().T
    assert torch.equal(embed_tokens(table, ids), expected)


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.6}, {"top_k": 4, "top_p": 0.9}]
)
def test_tokens_are_drawn_by_their_probabilities(options):
    logits = np.array([0.3, 2.0, -1.0, 1.0, 0.2])
    drawn = [token for token, _ in generate(lambda ids: logits, [], 20_000, random_state=0, **options)]
    p = np.exp(next_token_log_probabilities(logits, **options))
    frequencies = np.bincount(drawn, minlength=5) / len(drawn)
    assert p.sum() == pytest.approx(1)
    np.testing.assert_allclose(frequencies, p, atol=0.015)
    assert (frequencies[p == 0] == 0).all()


def test_nucleus_is_the_smallest_set_that_reaches_p():
    p = np.array([0.1, 0.5, 0.3, 0.1])
    kept = np.exp(next_token_log_probabilities(np.log(p), top_p=0.75)) > 0
    assert kept.tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"temperature": -1}, "temperature"), ({"top_k": 0}, "top_k"), ({"top_p": 0}, "top_p"), ({"mode": "x"}, "mode")],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        next(generate(lambda ids: np.zeros(3), [], 1, **options))


def test_unknown_words_are_the_unknown_token():
    tokenizer = VocabularyTokenizer.train(["one two two"], level="word")
    assert tokenizer.decode(tokenizer.encode("two three")) == "two \ufffd"
    assert train_tokenizer(["ab"], level="char").vocab_size == 3
    with pytest.raises(ValueError, match="level must be one of"):
        VocabularyTokenizer.train(["a"], level="letter")
