"""The language model: exact scores, generation against the full pass, resuming, warm starts, bad input."""

import math
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone

from margin.neural.weights import copy_weights
from margin.text.continuing import Drawing, NextToken, continue_text, penalize, until
from margin.text.language_model import LanguageModel
from margin.text.scoring import token_log_probabilities, window_start
from margin.text.token_codes import TextCodes

TEXTS = ["the cat sat on the mat. ", "the dog sat on the log. ", "a cat and a dog. "] * 12
SMALL = {"d_model": 16, "n_heads": 2, "n_blocks": 2, "context": 16, "max_iter": 3, "batch_size": 4, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return LanguageModel(**SMALL).fit(TEXTS)


@pytest.mark.parametrize("kind", ["char", "byte", "bpe", "word"])
def test_codes_round_trip(kind):
    text = "naïve 🙂\n\x00 text"
    codes = TextCodes.learn(kind, [text], 300)
    again = TextCodes(codes.kind, codes.content)
    assert again.decode(codes.encode(text)) == text
    assert codes.encode(text).min() >= 1
    assert codes.encode(text).max() < codes.size


def test_scores_are_log_probabilities_one_by_one(model):
    text = "the cat sat. "
    codes = model._codes().join_texts([text], "")
    with torch.no_grad():
        expected = [
            float(torch.log_softmax(model._ready_module()(torch.from_numpy(codes[None, :k])).double()[0, -1], 0)[code])
            for k, code in enumerate(codes[1:].tolist(), start=1)
        ]
    np.testing.assert_allclose(model.token_log_proba(text), expected, rtol=1e-5)
    assert model.score_samples([text, "a dog. "])[0] == pytest.approx(np.mean(expected), rel=1e-6)
    assert model.score([text]) == pytest.approx(np.mean(expected), rel=1e-6)
    assert model.perplexity([text]) == pytest.approx(math.exp(-np.mean(expected)), rel=1e-6)
    assert model.bits_per_byte([text]) == pytest.approx(-sum(expected) / math.log(2) / len(text), rel=1e-6)


def test_long_texts_are_scored_as_they_would_be_written(model):
    """Each token given the tokens that a text in the making would draw it from: all, or at least half a context."""
    text = "".join(TEXTS)[:77]
    codes, found = model._codes().join_texts([text], ""), model.token_log_proba(text)
    assert len(found) == 78
    writer = NextToken(model._ready_module(), 16)
    for n in range(78):
        logits = writer.after(codes[n : n + 1])
        assert found[n] == pytest.approx(logits[codes[n + 1]] - np.logaddexp.reduce(logits), rel=1e-4), n
        at_once = NextToken(model._ready_module(), 16).after(codes[: n + 1])
        np.testing.assert_allclose(at_once, logits, rtol=1e-3, atol=1e-4)
        assert n < 16 or 8 <= n + 1 - window_start(n + 1, 16) <= 16
    together = model.score_samples(["a cat.", text, "the dog sat on"])
    np.testing.assert_allclose(together, [model.score_samples(t)[0] for t in ("a cat.", text, "the dog sat on")], 1e-5)


def test_probabilities_of_all_continuations_sum_to_one(model):
    """Over every text of at most one character, and all longer ones together."""
    codes = model._codes()
    first = model.token_log_proba("a")[0]
    logits = NextToken(model._ready_module(), 16).after([0])
    p = np.exp(logits - np.logaddexp.reduce(logits))
    assert p.sum() == pytest.approx(1.0)
    assert np.exp(first) == pytest.approx(p[codes.encode("a")[0]], rel=1e-5)


def test_samples_are_texts_from_their_first_token_to_their_end(model):
    texts = model.sample(4, random_state=2, max_tokens=30)
    assert texts == model.sample(4, random_state=2, max_tokens=30)
    assert len(set(texts)) > 1
    assert all(len(text) <= 30 for text in texts)
    with pytest.raises(ValueError, match="n_samples must be an integer at least 1; got 0"):
        model.sample(0)


def test_greedy_text_is_that_of_the_full_pass(model):
    found = model.generate("the ", max_tokens=9, temperature=0)
    ids = model._codes().join_texts(["the "], "")[:-1].tolist()
    with torch.no_grad():
        for character in found:
            logits = model._ready_module()(torch.tensor([ids]))[0, -1]
            ids.append(int(logits.argmax()))
            assert model._codes().decode(ids[-1:]) == character


def test_text_goes_on_beyond_the_context_and_follows_from_the_seed(model):
    options = {"max_tokens": 60, "temperature": 0.8, "random_state": 3}
    text = model.generate("the cat", **options)
    assert text == model.generate("the cat", **options)
    assert text == "".join(model.stream("the cat", **options))
    assert text != model.generate("the cat", **{**options, "random_state": 4})
    assert len(model.generate("".join(TEXTS), max_tokens=5, temperature=0)) <= 5


def test_stop_strings_end_the_text_before_them_however_they_are_cut():
    codes = TextCodes("byte")
    text = "one. two! théend"
    for stop, expected in [([". "], "one"), (["! t", "two"], "one. "), (["é"], "one. two! th"), (["zz"], text)]:
        pieces = list(until(codes.encode(text).tolist(), codes, stop))
        assert "".join(pieces) == expected
        assert all(pieces)
    assert list(until(codes.encode("ab").tolist(), codes, [])) == ["a", "b"]


def test_a_repetition_penalty_pushes_repetitions_down(model):
    np.testing.assert_array_equal(penalize(np.array([1.0, -1.0]), [0, 1], 1.5), [1 / 1.5, -1.5])
    long = {"max_tokens": 40, "temperature": 0}
    variety = [len(set(model.generate("t", repetition_penalty=p, **long))) for p in (1.0, 3.0)]
    assert variety[1] > variety[0]


def test_draws_follow_the_probabilities(model):
    module, ids = model._ready_module(), model._codes().join_texts(["the "], "")[:-1].tolist()
    logits = NextToken(module, 16).after(ids)
    p = np.exp(logits - np.logaddexp.reduce(logits))
    draws = [next(continue_text(NextToken(module, 16), ids, 1, Drawing(), s), 0) for s in range(400)]
    best = int(p.argmax())
    assert abs(np.mean(np.array(draws) == best) - p[best]) < 5 * math.sqrt(p[best] * (1 - p[best]) / 400)


def test_a_fit_can_be_stopped_and_continued_with_the_same_bits(model):
    half, records = LanguageModel(**SMALL, record_steps=2), []
    for record in half.iterate(TEXTS):
        records.append(record)
        if len(records) == 5:
            break
    rest = LanguageModel(**SMALL, record_steps=2)
    list(rest.iterate(TEXTS, state=pickle.loads(pickle.dumps(half.get_state()))))
    for name, array in model.weights_.items():
        np.testing.assert_array_equal(rest.weights_[name], array, err_msg=name)


def test_copies_say_the_same(model):
    same = pickle.loads(pickle.dumps(model))
    assert same.generate("a", max_tokens=9, random_state=0) == model.generate("a", max_tokens=9, random_state=0)
    assert clone(model).get_params() == model.get_params()


def test_early_stopping_holds_out_the_end():
    model = LanguageModel(**SMALL, early_stopping=True).fit(TEXTS)
    assert len(model.validation_scores_) == model.n_iter_ == 3
    tokens = model._codes().join_texts(TEXTS, "")
    held = tokens[len(tokens) - math.ceil(0.1 * len(tokens)) :]
    assert max(model.validation_scores_) == pytest.approx(
        token_log_probabilities(model._ready_module(), [held], 16)[0].mean(), rel=1e-5
    )


def test_a_warm_start_goes_on():
    model = LanguageModel(**SMALL, warm_start=True).fit(TEXTS)
    before = copy_weights(model._ready_module())
    model.fit(TEXTS)
    assert model.n_iter_ == 3, "those of the last fit"
    assert len(model.loss_curve_) == 6
    assert model.loss_curve_[3] < model.loss_curve_[0]
    assert any((before[name] != array).any() for name, array in model.weights_.items())


@pytest.mark.parametrize(
    "options", [{"tokens": "byte"}, {"tokens": "bpe", "vocab_size": 270}, {"feed_forward": "experts"}]
)
def test_other_tokens_and_parts_learn(options):
    model = LanguageModel(**{**SMALL, **options}).fit(TEXTS)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert isinstance(model.generate("the", max_tokens=5, random_state=0), str)


@pytest.mark.parametrize(
    "X,error,sentence",
    [
        ([], ValueError, "at least one text; got none"),
        ("short", ValueError, "more tokens to learn from than the context of 16; got 7"),
        (["fine", 3], TypeError, "must be strings; text 1 is of type int"),
        (["", ""], ValueError, "at least one character; all texts are empty"),
        (["fine", "a\ud800"], ValueError, "valid Unicode; text 1 has a lone surrogate at position 1"),
    ],
)
def test_bad_texts_are_refused(X, error, sentence):
    with pytest.raises(error, match=sentence):
        LanguageModel(**SMALL).fit(X)


def test_empty_texts_and_unseen_characters_do_not_end_a_batch(model):
    alone = model.score_samples(["a "])
    np.testing.assert_allclose(model.score_samples(["a ", ""])[:1], alone, atol=1e-5)
    assert np.isfinite(model.token_log_proba("")).all()
    assert len(model.token_log_proba("")) == 1
    with pytest.warns(UserWarning, match=r"3 characters were not in fit .*; the first is 'Ω' at position 2 of text 1"):
        scores = model.score_samples(["a ", "a Ω", "ΩΩ"])
    np.testing.assert_allclose(scores, [alone[0], alone[0], model.score([""])], atol=1e-5)
    with pytest.warns(UserWarning, match=r"1 character was not in fit and is left out"):
        text = model.generate("a Ω", max_tokens=5, random_state=0)
    assert text == model.generate("a ", max_tokens=5, random_state=0)
    with pytest.raises(ValueError, match="all texts are empty"):
        model.bits_per_byte([""])
    fitted = LanguageModel(**{**SMALL, "max_iter": 1}).fit(["some text to learn from", "", "and more of it"])
    assert np.isfinite(fitted.score([""]))


def test_bad_questions_are_refused(model):
    with pytest.raises(ValueError, match="stop must be strings that are not empty"):
        model.generate("a", stop=[""])
    with pytest.raises(ValueError, match="repetition_penalty must be above 0; got 0"):
        model.generate("a", repetition_penalty=0)
    for name, value in (("temperature", np.nan), ("temperature", "hot"), ("top_k", 1.5), ("top_p", np.nan),
                        ("repetition_penalty", np.inf), ("stop", 3)):  # fmt: skip
        with pytest.raises(ValueError, match=f"{name} must be .*; got"):
            model.generate("a", **{name: value})
    with pytest.raises(ValueError, match="max_tokens must be an integer at least 1; got 0"):
        model.generate("a", 0)
    with pytest.raises(ValueError, match="top_p must be above 0 and at most 1; got 2"):
        model.stream("a", top_p=2)  # told at once, not when the first piece is asked for


@pytest.mark.parametrize(
    "options,sentence",
    [
        ({"n_heads": 3}, "LanguageModel: n_heads must divide d_model 16; got 3"),
        ({"n_kv_heads": 3, "n_heads": 4}, "LanguageModel: n_kv_heads must divide n_heads 4; got 3"),
        ({"d_model": 6}, "LanguageModel: position 'rope' needs heads of even width; got d_model 6 and n_heads 2"),
        ({"feed_forward": "experts", "top_k": 5}, "LanguageModel: top_k must be from 1 to n_experts 4; got 5"),
    ],
)
def test_sizes_that_do_not_fit_together_are_refused_before_anything_changes(options, sentence):
    model = LanguageModel(**{**SMALL, **options})
    with pytest.raises(ValueError, match=sentence):
        model.fit(TEXTS)
    assert not [name for name in vars(model) if name.endswith("_")]
