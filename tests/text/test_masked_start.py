"""A classifier that begins with a masked language model of ours."""

import numpy as np
import pytest
import torch

import margin
from margin.text.masking import Marks, rows_of

TEXTS = ["the red cat sat", "a blue dog ran", "the old cat slept", "a young dog barked"] * 8
Y = np.array(["cat", "dog"] * 16)


@pytest.fixture(scope="module")
def encoder():
    settings = {"d_model": 16, "n_heads": 2, "n_blocks": 1, "context": 24, "max_iter": 3, "random_state": 0}
    return margin.MaskedLanguageModel(tokens="bpe", vocab_size=270, dropout=0.0, **settings).fit(TEXTS)


def test_the_classifier_reads_and_sees_what_the_model_does(encoder):
    start = encoder.as_pretrained()
    model = margin.TextClassifier.from_encoder(encoder, learning_rate_init=1e-9, max_iter=1, random_state=0)
    model.fit(TEXTS, Y)
    codes = encoder._codes()
    marks = Marks.after(codes.size)
    text = "the blue cat"
    ids, segments = rows_of([[codes.encode(text)]], marks)
    seen = model.token_ids([text])
    assert (seen == ids).all()  # a token of the classifier is its row and one more, as here
    with torch.inference_mode():
        mask = (torch.from_numpy(ids) != 0)[:, None, None, :]
        ours = encoder.module_.states(torch.from_numpy(ids), torch.from_numpy(segments), mask)
        theirs = model.module_.encoder.states(torch.from_numpy(seen) - 1, None, mask)
    np.testing.assert_allclose(theirs, ours, atol=1e-5)
    assert start.reading
    assert start.network["n_tokens"] == codes.size + 2


def test_it_learns_freezes_and_is_stored(encoder, tmp_path):
    model = margin.TextClassifier.from_encoder(encoder, learning_rate_init=0.01, random_state=0).fit(TEXTS, Y)
    assert model.score(TEXTS, Y) == 1.0
    stored = margin.load(margin.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(stored.predict_proba(TEXTS), model.predict_proba(TEXTS))
    frozen = margin.TextClassifier.from_encoder(encoder, freeze="encoder", max_iter=1, random_state=0).fit(TEXTS, Y)
    for name, array in encoder.as_pretrained().weights.items():
        if name.startswith(
            ("encoder.embedding", "encoder.segments", "encoder.stack.blocks")
        ):  # then comes the last norm
            np.testing.assert_array_equal(frozen.weights_[name], array)
    with pytest.raises(ValueError, match="norm must be 'layer' for bert of transformers; got 'rms'"):
        model.to_transformers(tmp_path / "folder")


def test_other_tokens_and_other_models_are_refused(encoder):
    letters = margin.MaskedLanguageModel(tokens="char", d_model=8, n_heads=2, n_blocks=1, max_iter=1).fit(TEXTS)
    with pytest.raises(ValueError, match="a classifier can begin with tokens 'bpe' or 'folder'; got 'char'"):
        margin.TextClassifier.from_encoder(letters)
    with pytest.raises(ValueError, match="encoder must be a fitted Word2Vec, GloVe or MaskedLanguageModel; got KMeans"):
        margin.TextClassifier.from_encoder(margin.KMeans())
    with pytest.raises(ValueError, match="architecture"):
        margin.TextClassifier.from_encoder(encoder, architecture="rnn")
