"""Text classifiers that begin with vectors of words learned without labels."""

import numpy as np
import pytest
from sklearn.base import clone

import margin

WARM = ["a warm and tender film", "tender , warm , lovely", "a lovely warm story", "so tender and lovely"] * 6
COLD = ["a dull and tired film", "tired , dull , empty", "an empty dull story", "so tired and empty"] * 6


@pytest.fixture(scope="module")
def words():
    return margin.Word2Vec(8, min_count=1, max_iter=30, random_state=0).fit([text.title() for text in WARM + COLD])


def test_a_word_that_no_labeled_text_has_is_judged_by_its_vector():
    vectors = margin.Word2Vec(3, min_count=1, max_iter=1, random_state=0).fit(WARM + COLD)
    warm = np.array([word in " ".join(WARM) for word in vectors.vocabulary_])
    shared = np.array([word in " ".join(WARM) and word in " ".join(COLD) for word in vectors.vocabulary_])
    vectors.vectors_ = np.column_stack([np.where(shared, 0.0, np.where(warm, 1.0, -1.0)), 0.2 * shared, 0.1 * warm])
    X, y = ["warm tender", "dull tired"] * 4, ["good", "bad"] * 4
    model = margin.TextClassifier.from_encoder(vectors, freeze="encoder", max_iter=300, tol=0, random_state=0).fit(X, y)
    assert model.predict(["lovely", "empty"]).tolist() == ["good", "bad"]


def test_frozen_vectors_stay_and_are_those_of_the_words(words):
    model = margin.TextClassifier.from_encoder(words, freeze="encoder", max_iter=2, random_state=0)
    model.fit(["warm film", "dull film", "a new word"], [0, 1, 1])
    table, ids = model.weights_["encoder.embedding.weight"], {t: i + 2 for i, t in enumerate(model.vocabulary_)}
    for a, b in (("warm", "dull"), ("lovely", "empty")):
        rows = np.stack([table[ids[a]], table[ids[b]]])
        wanted = np.stack([words.vector(a.title()), words.vector(b.title())])
        np.testing.assert_allclose(rows / np.linalg.norm(rows), wanted / np.linalg.norm(wanted), rtol=1e-5, atol=1e-6)
    assert {"a", "new", "word"} <= set(ids)
    free = clone(model).set_params(freeze=None).fit(["warm film", "dull film", "a new word"], [0, 1, 1])
    assert not np.array_equal(free.weights_["encoder.embedding.weight"], table)


@pytest.mark.parametrize("architecture", ["bag-of-words", "cnn", "rnn", "transformer"])
def test_every_architecture_begins_with_them_is_stored_and_repeats(architecture, words, tmp_path):
    X, y = [*WARM[:8], *COLD[:8]], [0] * 8 + [1] * 8
    model = margin.TextClassifier.from_encoder(
        words, architecture=architecture, hidden_size=4, n_filters=4, max_iter=2, random_state=0
    )
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected)
    margin.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict_proba(X), expected)


def test_what_does_not_fit_is_refused(words):
    kinds = "Word2Vec, GloVe or MaskedLanguageModel"
    with pytest.raises(ValueError, match=rf"^TextClassifier: encoder must be a fitted {kinds}; got PCA\.$"):
        margin.TextClassifier.from_encoder(margin.PCA())
    with pytest.raises(ValueError, match=r"^TextClassifier: d_model is what the encoder has; got 16 as well\.$"):
        margin.TextClassifier.from_encoder(words, d_model=16)
    model = margin.TextClassifier.from_encoder(words).set_params(tokens="char")
    with pytest.raises(ValueError, match=r"tokens must be 'word', as the pretrained vectors have it; got 'char'\.$"):
        model.fit(["a", "b"], [0, 1])
