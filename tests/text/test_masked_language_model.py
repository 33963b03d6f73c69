"""The masked language model: what is hidden, what is asked, filling in, next sentences, bad input."""

import itertools
import pickle

import numpy as np
import pytest
import torch
from torch.nn import functional

import margin
from margin.neural.nets.language_nets import BERT
from margin.text.masked_language_model import MaskedLanguageModel
from margin.text.masking import Marks, hide_tokens, masked_objective, rows_of
from margin.text.token_codes import TextCodes

TEXTS = ["the cat drinks milk", "the dog eats meat", "a cat drinks milk today", "a dog eats meat, too"] * 10
SMALL = {"d_model": 16, "n_heads": 2, "n_blocks": 1, "context": 16, "max_iter": 60, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return MaskedLanguageModel(**SMALL).fit(TEXTS)


def test_tokens_are_hidden_as_by_bert():
    marks = Marks(50, 51, 52)
    ids = torch.randint(1, 50, (200, 40), generator=torch.Generator().manual_seed(0))
    ids[:, 0], ids[:, 30:] = marks.first, 0
    inputs, positions = hide_tokens(ids, marks, 0.3, torch.Generator().manual_seed(1))
    assert not positions[:, 0].any()
    assert not positions[:, 30:].any()
    assert torch.equal(inputs[~positions], ids[~positions])
    n = int(positions.sum())
    for fraction, expected, of in (
        (n, 0.3, 200 * 29),
        (int((inputs[positions] == marks.mask).sum()), 0.8, n),
        (int((inputs[positions] == ids[positions]).sum()), 0.1 + 0.1 / 49, n),
    ):
        assert abs(fraction / of - expected) < 5 * np.sqrt(expected * (1 - expected) / of)
    assert int(inputs[positions & (inputs != marks.mask)].max()) < marks.first


def test_the_loss_is_the_cross_entropy_of_the_hidden_tokens(model):
    module, marks = model._ready_module(), Marks.after(model._codes().size)
    assert isinstance(module, BERT)
    arrays = rows_of([[model._codes().encode(text)] for text in TEXTS[:6]], marks)
    ids, segments = (torch.from_numpy(np.pad(a, ((0, 0), (0, 3)))) for a in arrays)  # padding decides nothing
    with torch.no_grad():
        loss = masked_objective(marks, 0.5)(module, (ids, segments), torch.Generator().manual_seed(0))["loss"]
        length = ids.shape[1] - 3
        inputs, positions = hide_tokens(ids[:, :length], marks, 0.5, torch.Generator().manual_seed(0))
        total = 0.0
        for row, target, asked in zip(inputs, ids, positions):
            kept = row[: int((target != 0).sum())]
            scores = module(kept[None]).tokens[0].double()
            total += sum(float(functional.cross_entropy(scores[n], target[n])) for n in range(len(kept)) if asked[n])
    assert float(loss.total) == pytest.approx(total, rel=1e-5)
    assert loss.mass == int(positions.sum())


def test_hidden_words_are_named(model):
    (found,) = model.fill("a cat [MASK] milk", n=3)
    assert found[0][0] == "drinks"
    assert len(found) == 3
    assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
    first, second = model.fill("[MASK] dog eats [MASK]")
    assert {first[0][0], first[1][0]} == {"the", "a"}
    assert second[0][0] == "meat"
    with pytest.raises(ValueError, match=r"must have \[MASK\] where a token is asked for; got 'a cat'"):
        model.fill("a cat")


def test_probabilities_of_hidden_words_are_those_of_the_pass(model):
    codes = model._codes()
    ids = codes.encode("the cat drinks milk")
    expected = []
    for n in range(len(ids)):
        hidden = ids.copy()
        hidden[n] = codes.size + 2
        row = torch.tensor([[codes.size, *hidden, codes.size + 1]])
        with torch.no_grad():
            log_p = torch.log_softmax(model._ready_module()(row).tokens[0, n + 1].double(), 0)
        expected.append(float(log_p[ids[n]]))
    found = model.pseudo_log_likelihood(["the cat drinks milk", "a dog"])
    assert found[0] == pytest.approx(np.mean(expected), rel=1e-5)
    assert model.score(["the cat drinks milk"]) > model.score(["milk drinks cat the"])


def test_vectors_do_not_depend_on_the_texts_beside_them(model):
    together = model.transform(TEXTS[:5])
    alone = np.vstack([model.transform([text]) for text in TEXTS[:5]])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert model.get_feature_names_out()[0] == "maskedlanguagemodel0"


def test_next_sentences(tmp_path):
    rng = np.random.default_rng(0)
    words = [[name + letter for letter in "abcd"] for name in ("sea", "wine", "sky")]
    documents = ["\n".join(" ".join(rng.choice(w, 4)) for _ in range(50)) for w in words]
    model = MaskedLanguageModel(**{**SMALL, "next_sentence": True, "max_iter": 40}, learning_rate_init=0.01).fit(
        documents
    )
    pairs = list(itertools.product(range(3), repeat=2))
    first, second = [[" ".join(words[i][:4]) for i in side] for side in zip(*pairs)]
    p = model.predict_next(first, second)
    same = np.array([a == b for a, b in pairs])
    assert p[same].min() > p[~same].max()
    margin.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict_next(first, second), p)


def test_a_fit_can_be_stopped_and_continued_with_the_same_bits(model):
    half, rest = (MaskedLanguageModel(**SMALL, record_steps=1) for _ in range(2))
    list(itertools.islice(half.iterate(TEXTS), 3))
    list(rest.iterate(TEXTS, state=pickle.loads(pickle.dumps(half.get_state()))))
    for name, array in model.weights_.items():
        np.testing.assert_array_equal(rest.weights_[name], array, err_msg=name)


def test_long_texts_train_in_pieces_and_are_refused_or_cut_when_asked_about():
    long = " ".join(["milk"] * 40)
    model = MaskedLanguageModel(**{**SMALL, "max_iter": 1}).fit([*TEXTS, long])
    with pytest.raises(ValueError, match="at most 14 tokens, or truncate must be True; text 1 has 40"):
        model.transform(["milk", long])
    cut = model.set_params(truncate=True).transform([long])
    np.testing.assert_array_equal(cut, model.transform([" ".join(["milk"] * 14)]))


def test_pairs_are_cut_evenly():
    model = MaskedLanguageModel(**SMALL, truncate=True)
    lengths = [[len(p) for p in model._shorten(0, np.arange(a), np.arange(b))] for a, b in ((20, 3), (20, 21), (4, 5))]
    assert lengths == [[10, 3], [6, 7], [4, 5]]


def test_words_that_were_not_in_fit_are_one_token():
    codes = TextCodes.learn("word", ["a b", "a c"], 2)
    assert codes.encode("a zebra c").tolist() == [2, 1, 1]
    assert codes.decode([2, 1]) == "a \ufffd"


@pytest.mark.parametrize(
    "options,X,sentence",
    [
        ({}, [], "at least one text; got none"),
        ({}, ["", ""], "X must have tokens in some text; all of them are empty"),
        ({"next_sentence": True}, ["one line"], "a text must have at least two lines"),
        ({"n_heads": 3}, TEXTS, "MaskedLanguageModel: n_heads must divide d_model 16; got 3"),
    ],
)
def test_bad_input_is_refused(options, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        MaskedLanguageModel(**{**SMALL, **options}).fit(X)


def test_an_empty_text_does_not_end_a_batch(model):
    alone = model.transform(TEXTS[:1])
    with pytest.warns(UserWarning, match="1 of 2 texts have no token, the first is text 1; its vector is 0"):
        vectors = model.transform([TEXTS[0], ""])
    np.testing.assert_allclose(vectors, [alone[0], np.zeros(alone.shape[1])], atol=1e-6)
    with pytest.warns(UserWarning, match="its log-likelihood is NaN"):
        values = model.pseudo_log_likelihood([TEXTS[0], ""])
    assert np.isfinite(values[0])
    assert np.isnan(values[1])
    with pytest.warns(UserWarning, match="no token"):
        assert model.score([TEXTS[0], ""]) == pytest.approx(values[0])
    with pytest.raises(ValueError, match="all of them are empty"):
        model.transform([""])


def test_next_sentences_must_have_been_learned(model):
    with pytest.raises(ValueError, match="predict_next needs a fit with next_sentence=True"):
        model.predict_next(["a"], ["b"])
