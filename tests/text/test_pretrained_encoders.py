"""Classifiers of texts that begin with the encoder and the tokenizer of a folder of transformers."""

import json
import shutil

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import margin
from margin.neural import save_transformers
from margin.neural.attention.config import TransformerConfig
from margin.neural.nets.encoder_scores import EncoderScores
from margin.neural.nets.language_nets import BERT
from margin.neural.weights import build
from margin.text import TextClassifier, TokenTagger
from margin.text.folder_tokenizer import FolderTokenizer

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["a", "warm", "and", "funny", "film", "dull", "too", "long", ",", "won", "##der", "##ful"]
TEXTS = ["a warm and funny film", "a film too long", "Funny, warm, wonderful", "long and dull"] * 4
LABELS = ["good", "bad", "good", "bad"] * 4


def tokenizer_json():
    return {
        "added_tokens": [{"id": i, "content": mark, "special": True} for i, mark in enumerate(MARKS)],
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "vocab": {token: i for i, token in enumerate([*MARKS, *WORDS])},
        },
    }


def write_folder(folder, *, labels=None, model_type="bert", per_token=False):
    """A small random encoder, with a head for ``labels`` or with a pooler alone."""
    sizes = {"d_model": 16, "n_heads": 2, "n_blocks": 2, "d_ff": 24, "context": 12}
    config = TransformerConfig(**sizes, norm_first=False, norm_eps=1e-12, init_std=0.3)
    n_segments = {"bert": 2, "roberta": 1, "distilbert": 0}[model_type]
    pooler = labels is None and model_type == "bert"
    heads = {"pooler": pooler, "masked_head": False, "next_sentence": False}

    def network():
        encoder = BERT(24, config, n_segments, **heads, model_type=model_type)
        return encoder if labels is None else EncoderScores(encoder, len(labels), per_token=per_token)

    module = build(network, seed=0).eval()
    save_transformers(module, folder)
    if labels:
        settings = json.loads((folder / "config.json").read_text())
        settings["id2label"] = {str(i): label for i, label in enumerate(labels)}
        (folder / "config.json").write_text(json.dumps(settings))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("encoder")
    write_folder(path)
    return path


def classifier(folder, **params):
    return TextClassifier.from_transformers(
        folder, **{"learning_rate_init": 0.003, "max_iter": 4, "random_state": 0, **params}
    )


@pytest.mark.parametrize("model_type", ["bert", "roberta", "distilbert"])
def test_a_folder_with_classes_predicts_at_once(model_type, tmp_path):
    module = write_folder(tmp_path, labels=["pos", "neg", "mid"], model_type=model_type)
    model = TextClassifier.from_transformers(tmp_path)
    tokenizer = FolderTokenizer(tokenizer_json())
    assert tokenizer.encode("A wonderful 🙂 film") == [2, 5, 14, 15, 16, 1, 9, 3]
    with torch.inference_mode():
        scores = [module(torch.tensor([tokenizer.encode(text)])).double().softmax(-1)[0] for text in TEXTS[:4]]
    expected = torch.stack(scores).numpy()
    assert model.classes_.tolist() == ["mid", "neg", "pos"]
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(model.predict_proba(TEXTS[:4]), expected[:, [2, 1, 0]], atol=1e-6)


def test_fit_replaces_the_head_and_learns(folder):
    with pytest.raises(NotFittedError):
        classifier(folder).predict(TEXTS)
    model = classifier(folder, learning_rate_init=0.01, max_iter=12, dropout=0.0).fit(TEXTS, LABELS)
    assert model.loss_curve_[-1] < 0.5 * model.loss_curve_[0]
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.weights_["head.weight"].shape == (2, 16)
    assert cross_val_score(classifier(folder, max_iter=1), TEXTS, LABELS, cv=2, error_score="raise").shape == (2,)
    assert clone(model).pretrained is model.pretrained


def test_frozen_layers_keep_their_weights(folder):
    start = classifier(folder).pretrained.weights
    learned = classifier(folder, freeze="encoder", max_iter=1).fit(TEXTS, LABELS).weights_
    assert all(np.array_equal(learned[name], start[name]) for name in start if name.startswith("encoder."))
    assert not np.array_equal(learned["dense.weight"], start["dense.weight"])
    learned = classifier(folder, freeze=2, max_iter=1).fit(TEXTS, LABELS).weights_
    same = {name for name in start if np.array_equal(learned[name], start[name])}
    assert {name for name in start if ".blocks.0." in name or "embedding" in name} <= same
    assert not {name for name in same if ".blocks.1." in name and name.endswith("weight")}
    with pytest.raises(ValueError, match="freeze must leave a layer to learn; the network has 4, got 4"):
        classifier(folder, freeze=4).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="none begins with 'decoder'"):
        classifier(folder, freeze=["decoder"]).fit(TEXTS, LABELS)


def test_rates_fall_by_layer(folder):
    plain = {"solver": "sgd", "momentum": 0.0, "alpha": 0.0, "clip_norm": None, "warmup": 0.0, "dropout": 0.0}
    plain |= {
        "learning_rate": "constant",
        "learning_rate_init": 0.5,
        "batch_size": len(TEXTS),
        "max_iter": 1,
        "shuffle": False,
    }
    start = classifier(folder).pretrained.weights
    even, falling = (classifier(folder, layer_rates=rate, **plain).fit(TEXTS, LABELS).weights_ for rate in (1.0, 0.5))
    for name, factor in {"dense.weight": 1.0, "encoder.stack.blocks.1.feed.up.weight": 0.5,
                         "encoder.stack.blocks.0.feed.up.weight": 0.25, "encoder.embedding.tokens.weight": 0.125,
                         }.items():  # fmt: skip
        moved = even[name] - start[name]
        np.testing.assert_allclose(falling[name] - start[name], factor * moved, atol=1e-6)
        assert np.abs(moved).max() > 1e-4
    with pytest.raises(ValueError, match="solver must move layers apart for layer_rates; got 'muon'"):
        classifier(folder, layer_rates=0.5, solver="muon")


def test_resume_is_exact_and_a_stored_model_goes_on(folder, tmp_path):
    settings = {"layer_rates": 0.8, "freeze": 1, "token_dropout": 0.2, "record_steps": None, "max_iter": 3}
    whole = classifier(folder, **settings).fit(TEXTS, LABELS)
    half = classifier(folder, **settings)
    next(half.iterate(TEXTS, LABELS))
    again = classifier(folder, **settings)
    for _ in again.iterate(TEXTS, LABELS, state=half.get_state()):
        pass
    assert all(np.array_equal(again.weights_[name], whole.weights_[name]) for name in whole.weights_)
    loaded = margin.load(margin.save(whole, tmp_path / "model.margin"))
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), whole.predict_proba(TEXTS))
    with pytest.raises(ValueError, match="a model file leaves the network out; got 'pretrained' and None"):
        loaded.fit(TEXTS, LABELS)
    loaded.set_params(warm_start=True, max_iter=1).fit(TEXTS, LABELS)
    assert loaded.n_iter_ == 1


def test_written_folders_are_read_again(folder, tmp_path):
    model = classifier(folder, max_iter=1).fit(TEXTS, LABELS)
    again = TextClassifier.from_transformers(model.to_transformers(tmp_path))
    np.testing.assert_allclose(again.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-7)
    assert again.classes_.tolist() == ["bad", "good"]
    plain = TextClassifier(d_model=4, max_iter=1).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="architecture must be 'pretrained' for the files of transformers"):
        plain.to_transformers(tmp_path / "plain")


SENTENCES = ["a wonderful film", "a long , dull film", "funny and warm"] * 4
TAGS = ["D A N", "D A P A N", "A C A"] * 4


def test_a_folder_with_tags_tags_words_by_their_first_pieces(tmp_path):
    module = write_folder(tmp_path, labels=["N", "D", "A"], per_token=True)
    model = TokenTagger.from_transformers(tmp_path)
    ids = FolderTokenizer(tokenizer_json()).encode("a wonderful film")
    with torch.inference_mode():
        scores = module(torch.tensor([ids]))[0, [1, 2, 5]].numpy()  # behind [CLS]: a, won ##der ##ful, film
    np.testing.assert_allclose(model._scores([["a", "wonderful", "film"]]), scores[:, [2, 1, 0]], atol=1e-5)
    assert model.tags_ == ["A", "D", "N"]
    again = TokenTagger.from_transformers(model.to_transformers(tmp_path / "again"))
    assert again.predict(SENTENCES) == model.predict(SENTENCES)


@pytest.mark.parametrize("chain", [False, True])
def test_taggers_learn_from_an_encoder_and_are_stored(chain, folder, tmp_path):
    settings = {"learning_rate_init": 0.01, "max_iter": 15, "dropout": 0.0, "random_state": 0}
    model = TokenTagger.from_transformers(folder, chain=chain, **settings).fit(SENTENCES, TAGS)
    assert model.loss_curve_[-1] < 0.5 * model.loss_curve_[0]
    assert [len(tags) for tags in model.predict(["a film", "", "warm wonderful film"])] == [2, 0, 3]
    loaded = margin.load(margin.save(model, tmp_path / "model.margin"))
    assert loaded.predict(SENTENCES) == model.predict(SENTENCES)
    with pytest.raises(ValueError, match="at most 12 pieces, which is what the network reads; the longest has 22"):
        model.predict(["film " * 20])
    if chain:
        with pytest.raises(ValueError, match="for architecture 'pretrained' without a chain; got 'pretrained' and"):
            model.to_transformers(tmp_path / "folder")


def _tokenizer(**changes):
    def change(path):
        content = tokenizer_json()
        for name, value in changes.items():
            part, _, key = name.partition("__")
            target = content[part] if key else content
            target[key or part] = value
        (path / "tokenizer.json").write_text(json.dumps(content))

    return change


WRONG = {
    "no tokenizer": (lambda path: (path / "tokenizer.json").unlink(), "tokenizer.json cannot be read"),
    "a list": (lambda path: (path / "tokenizer.json").write_text("[]"), "must hold a JSON object"),
    "another model": (_tokenizer(model__type="Unigram"), "must be WordPiece or byte-level BPE; got 'Unigram'"),
    "another normalizer": (_tokenizer(normalizer={"type": "NFKC"}), "must follow a BertNormalizer"),
    "no unknown": (_tokenizer(model__unk_token="?"), r"unk_token '\?' must be in the vocabulary"),
    "a gap": (_tokenizer(model__vocab={"[UNK]": 1, "a": 99}), "must be 0, 1, 2, ... without a gap"),
    "huge ids": (_tokenizer(model__vocab={"[UNK]": 10**12}), "ids must be integers from 0"),
    "vocabulary as a list": (_tokenizer(model__vocab=[1, 2]), r"is no tokenizer.json"),
    "more tokens": (_tokenizer(model__vocab={f"t{i}" if i > 4 else MARKS[i]: i for i in range(40)}), "at most the 24"),
    "other marks": (_tokenizer(post_processor={"type": "Sequence"}), "must put marks before and after one text"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tokenizers_are_refused_with_one_sentence(name, folder, tmp_path):
    path = tmp_path / "wrong"
    shutil.copytree(folder, path)
    change, sentence = WRONG[name]
    change(path)
    with pytest.raises(ValueError, match=sentence) as caught:
        TextClassifier.from_transformers(path)
    assert "\n" not in str(caught.value)


def test_parameters_that_the_folder_decides_are_refused(folder):
    with pytest.raises(ValueError, match="architecture is what the folder says; got 'rnn' as well"):
        TextClassifier.from_transformers(folder, architecture="rnn")
    with pytest.raises(ValueError, match="'pretrained' and a pretrained network belong together"):
        TextClassifier("pretrained").fit(TEXTS, LABELS)


STRINGS = [
    "The quick brown fox isn't lazy?", "Où est la bibliothèque? ΣΊΣΥΦΟΣ", "東京 is big\u3000and\xa0nice\u200b!", "",
    "hello [MASK] world</s> <mask> x", "a\tb\nc\r d\x00e\x07f", "ÀÉÎõü ﬁ ½ ²", "x" * 120, "🙂👍🏽 ok", "I'm $5 — “so”…",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["lower", "cased", "bytes"])
def test_tokens_are_those_of_the_library_that_wrote_the_file(kind):
    peer = pytest.importorskip("tokenizers", reason="tokenizers is not installed: nothing to compare with.")
    if kind == "bytes":
        theirs = peer.Tokenizer(peer.models.BPE())
        theirs.pre_tokenizer = peer.pre_tokenizers.ByteLevel(add_prefix_space=False)
        marks, alphabet = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], peer.pre_tokenizers.ByteLevel.alphabet()
        trainer = peer.trainers.BpeTrainer(vocab_size=330, special_tokens=marks, initial_alphabet=alphabet)
        theirs.train_from_iterator(STRINGS * 3, trainer)
        theirs.post_processor = peer.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    else:
        theirs = peer.Tokenizer(peer.models.WordPiece(unk_token="[UNK]"))
        theirs.normalizer = peer.normalizers.BertNormalizer(lowercase=kind == "lower")
        theirs.pre_tokenizer = peer.pre_tokenizers.BertPreTokenizer()
        trainer = peer.trainers.WordPieceTrainer(vocab_size=200, special_tokens=MARKS, show_progress=False)
        theirs.train_from_iterator(STRINGS * 3, trainer)
        theirs.post_processor = peer.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    ours = FolderTokenizer(json.loads(theirs.to_str()))
    for text in STRINGS:
        assert ours.encode(text) == theirs.encode(text).ids
