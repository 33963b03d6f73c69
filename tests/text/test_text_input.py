"""What every model of texts takes and refuses: columns and tables of one column, but nothing without an order."""

import numpy as np
import pandas as pd
import pytest

from margin.text import (
    CRFTagger,
    GloVe,
    HMMTagger,
    LanguageModel,
    MaskedLanguageModel,
    TextClassifier,
    TokenTagger,
    Translator,
    Word2Vec,
)
from margin.text.texts import text_items
from margin.text.token_codes import one_text

TEXTS = ["the sea is wide", "the wine is red", "a wide red sea"] * 4
TAGS = [" ".join("x" * len(word) for word in text.split()) for text in TEXTS]
SMALL = {"d_model": 8, "n_heads": 2, "n_blocks": 1, "max_iter": 1, "random_state": 0}

MODELS = {
    "word2vec": (lambda: Word2Vec(4, min_count=1, max_iter=1, random_state=0), None),
    "glove": (lambda: GloVe(4, min_count=1, max_iter=1, random_state=0), None),
    "hmm": (HMMTagger, TAGS),
    "crf": (lambda: CRFTagger(max_iter=2), TAGS),
    "token": (lambda: TokenTagger(d_model=8, hidden_size=8, max_iter=1, random_state=0), TAGS),
    "classifier": (lambda: TextClassifier(d_model=8, max_iter=1, random_state=0), ["sea", "wine", "sea"] * 4),
    "language": (lambda: LanguageModel(context=8, **SMALL), None),
    "masked": (lambda: MaskedLanguageModel(context=32, **SMALL), None),
    "translator": (lambda: Translator(tokens="char", context=48, **SMALL), TAGS),
}


@pytest.fixture(params=MODELS)
def model_and_target(request):
    build, target = MODELS[request.param]
    return build(), target


def said(model, X):
    method = next(getattr(model, name) for name in ("transform", "predict", "score_samples") if hasattr(model, name))
    return [np.asarray(part).tolist() for part in method(X)]


def test_a_table_of_one_column_is_its_column_and_not_its_name(model_and_target):
    model, y = model_and_target
    expected = said(model.fit(TEXTS, y) if y is not None else model.fit(TEXTS), TEXTS)
    table = pd.DataFrame({"text": TEXTS}, index=range(5, 17))
    assert said(model.fit(table, y) if y is not None else model.fit(table), table) == expected
    column = np.array(TEXTS)[:, None]
    assert said(model.fit(column, y) if y is not None else model.fit(column), column) == expected


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (set(TEXTS), "X must be a sequence of texts; got set"),
        ({"text": TEXTS}, "X must be a sequence of texts; got dict"),
        (np.array("one text"), "X must be a sequence of texts; got an array without axes"),
        (None, "X must be a sequence of texts; got NoneType"),
        (7, "X must be a sequence of texts; got int"),
        (pd.DataFrame({"a": TEXTS, "b": TEXTS}), "X must be one column of strings; got 2 columns"),
    ],
    ids=["set", "dict", "no axes", "None", "number", "two columns"],
)
def test_what_is_no_sequence_of_texts_is_refused(model_and_target, X, sentence):
    model, y = model_and_target
    with pytest.raises(ValueError, match=f"^{type(model).__name__}: {sentence}"):
        model.fit(X, y) if y is not None else model.fit(X)


def test_words_may_stand_in_the_columns_of_an_array():
    words = np.array([["the", "sea"], ["red", "wine"]])
    assert [item.tolist() for item in text_items("Model", words, words_in_columns=True)] == words.tolist()
    with pytest.raises(ValueError, match="one column of strings; got 2 columns"):
        text_items("Model", words)


def test_an_argument_that_is_one_text_is_no_list():
    assert one_text("Model", "prompt", "sea") == "sea"
    for wrong in (["sea", "wine"], 3, None):
        with pytest.raises(ValueError, match="Model: prompt must be one string; got"):
            one_text("Model", "prompt", wrong)
    model = MODELS["masked"][0]().fit(TEXTS)
    with pytest.raises(ValueError, match="MaskedLanguageModel: text must be one string"):
        model.fill(["a [MASK] sea", "a [MASK] wine"])


def test_translator_names_what_does_not_fit():
    model = MODELS["translator"][0]().fit(TEXTS, TAGS)
    for method in (model.score, model.score_pairs):
        with pytest.raises(ValueError, match=r"^Translator: X and y must have equally many texts; got 12 and 11"):
            method(TEXTS, TAGS[:-1])
    with pytest.raises(TypeError, match=r"^Translator: y must be strings; text 0 is of type int"):
        model.fit(TEXTS, list(range(12)))


@pytest.mark.parametrize("model", [Word2Vec(4, min_count=1), GloVe(4, min_count=1)], ids=["word2vec", "glove"])
def test_word_vectors_that_overflow_are_not_kept(model):
    model.set_params(learning_rate_init=1e30, random_state=0)
    with pytest.raises(
        FloatingPointError, match=r"vectors are not finite after pass \d+; .* smaller learning_rate_init"
    ):
        model.fit(TEXTS)
    assert np.isfinite(model.vectors_).all()


def test_glove_refuses_weights_that_are_all_zero():
    with pytest.raises(ValueError, match="give every pair of words the weight 0"):
        GloVe(4, min_count=1, alpha=1e9, x_max=1e9).fit(TEXTS)
