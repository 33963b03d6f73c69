"""Labels made from raw text, and what an encoder learns from them."""

import numpy as np
import pytest

from margin.representation.pretraining import masked_words, next_words, pretrain
from margin.representation.word_codes import FIRST_WORD, PADDING, UNKNOWN, vocabulary_of, word_codes, words_of

TEXTS = ["red green red blue", "green blue", "blue red green"]


def codes():
    return word_codes(TEXTS, vocabulary_of(TEXTS), 4)


def test_codes_are_places_in_the_vocabulary():
    vocabulary = vocabulary_of(TEXTS)
    for row, text in zip(codes(), TEXTS):
        words = words_of(text)
        assert [vocabulary[code - FIRST_WORD] for code in row[: len(words)]] == words
        assert (row[len(words) :] == PADDING).all()
    assert word_codes(["pink red"], vocabulary, 1).tolist() == [[UNKNOWN]]


def test_the_next_word_follows_its_input():
    inputs, labels = next_words(codes())
    assert len(labels) == 3 + 1 + 2  # every text has one label less than words
    for row, label in zip(inputs, labels):
        length = int((row != PADDING).sum())
        matches = [text for text in codes() if (text[:length] == row[:length]).all() and text[length] == label]
        assert matches


def test_one_word_of_every_text_is_hidden():
    for seed in range(5):
        inputs, labels = masked_words(codes(), np.random.default_rng(seed))
        hidden = inputs == UNKNOWN
        assert (hidden.sum(axis=1) == 1).all()
        assert (codes()[hidden] == labels).all()
        assert (inputs[~hidden] == codes()[~hidden]).all()


def test_the_same_seed_gives_the_same_encoder():
    first, second = (pretrain("next", TEXTS, width=5, steps=6, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.encode(TEXTS), second.encode(TEXTS))
    assert first.losses[-1] < first.losses[0]
    assert pretrain("next", TEXTS, width=5, steps=0, seed=3).losses == []


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="objective must be one of next, masked; got 'other'"):
        pretrain("other", TEXTS)
    for corpus in ([], ["..."], [3]):
        with pytest.raises(ValueError, match="corpus must be a sequence of strings with words"):
            pretrain("next", corpus)
