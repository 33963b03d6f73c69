"""CLIP of two transformers, against transformers' own: networks, tokenizer, and the estimator around them."""

import json

import numpy as np
import pytest
import torch

import margin
from margin.neural import load_transformers, save_transformers
from margin.service.exporting import export_model
from margin.text.folder_tokenizer import FolderTokenizer

peer = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with.")

START, END = "<|startoftext|>", "<|endoftext|>"
BLOCKS = {"num_hidden_layers": 2, "num_attention_heads": 4}


def random_network(end, activation="quick_gelu"):
    text = {"hidden_size": 16, "intermediate_size": 24, "vocab_size": 40, "max_position_embeddings": 12}
    image = {"hidden_size": 24, "intermediate_size": 32, "image_size": 8, "patch_size": 4, "hidden_act": activation}
    config = peer.CLIPConfig(
        text_config={**BLOCKS, **text, "eos_token_id": end, "bos_token_id": 38},
        vision_config={**BLOCKS, **image},
        projection_dim=10,
    )
    network = peer.CLIPModel(config).eval()
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=drawn) * 0.3 + ("norm.weight" in name))
        network.logit_scale.fill_(2.0)
    return network


@pytest.mark.parametrize(("end", "activation"), [(39, "quick_gelu"), (2, "gelu")])
def test_vectors_are_those_of_transformers_both_ways(end, activation, tmp_path):
    network = random_network(end, activation)
    drawn = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 38, (4, 9), generator=drawn)
    for row, stop in enumerate((8, 5, 3, 6)):
        ids[row, stop:] = 39
    pixels = torch.randn(4, 3, 8, 8, generator=drawn)

    def theirs(model):
        with torch.inference_mode():
            return model(input_ids=ids, pixel_values=pixels).logits_per_image.numpy()

    network.save_pretrained(tmp_path / "theirs")
    expected = theirs(network)
    module = load_transformers(tmp_path / "theirs")
    with torch.inference_mode():
        got = module(pixels, ids).numpy()
    assert np.ptp(expected) > 0.5
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
    save_transformers(module, tmp_path / "ours")
    again, report = peer.CLIPModel.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["missing_keys"]
    np.testing.assert_allclose(theirs(again.eval()), expected, rtol=0, atol=1e-5)


MERGES = [("a", "t</w>"), ("c", "at</w>"), ("d", "o"), ("do", "g</w>")]
TEXTS = ["A  cat", "dog's GO-cart!", "tattoo dog", "cat \u00e7a 3", "a cat " * 9]


def tokenizer_of_clip():
    """A small tokenizer of CLIP's kind, as transformers makes it."""
    vocab: dict[str, int] = {}
    for token in (*"acdgotr", *(f"{c}</w>" for c in "acdgotrs!'-"), "at</w>", "cat</w>", "do", "dog</w>", START, END):
        vocab.setdefault(token, len(vocab))
    return peer.CLIPTokenizer(vocab=vocab, merges=MERGES)


def write_folder(folder):
    tokenizer = tokenizer_of_clip()
    network = random_network(tokenizer.eos_token_id)
    network.save_pretrained(folder)
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    (folder / "tokenizer.json").write_text(json.dumps(content))
    scaling = {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.25, 0.5]}
    (folder / "preprocessor_config.json").write_text(json.dumps(scaling))
    return network, tokenizer, content


def test_texts_are_cut_as_by_transformers():
    tokenizer = tokenizer_of_clip()
    ours = FolderTokenizer(json.loads(tokenizer.backend_tokenizer.to_str()))
    for text in [*TEXTS, "a\u00a0dog\tat it's", "\u039f\u03a3 cat\u0130", "<|endoftext|> dog"]:
        assert ours.encode(text) == tokenizer(text)["input_ids"], text
    assert len(ours.encode(TEXTS[1])) > 8


def test_the_estimator_has_the_similarities_of_transformers(tmp_path):
    network, tokenizer, content = write_folder(tmp_path / "theirs")
    images = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    pixels = torch.from_numpy(((images / 255 - [0.4, 0.5, 0.6]) / [0.2, 0.25, 0.5]).transpose(0, 3, 1, 2)).float()
    read = tokenizer(TEXTS, padding=True, truncation=True, max_length=12, return_tensors="pt")
    with torch.inference_mode():
        scores = network(input_ids=read["input_ids"], pixel_values=pixels).logits_per_image.double()
    model = margin.CLIP.from_transformers(tmp_path / "theirs")
    expected = (scores / network.logit_scale.exp().item()).detach().numpy()
    assert np.ptp(expected) > 0.05
    np.testing.assert_allclose(model.similarity(images, TEXTS), expected, atol=1e-5)
    with pytest.warns(UserWarning, match="are they in other units"):
        model.similarity(images.astype(np.float32) / 255, TEXTS)
    assert model.zero_shot(images, ["cat", "dog"], "a {c}").sum(axis=1) == pytest.approx(1)

    stored = margin.load(margin.save(model, tmp_path / "clip.safetensors"))
    np.testing.assert_array_equal(stored.similarity(images, TEXTS), model.similarity(images, TEXTS))
    written = export_model(tmp_path / "clip.safetensors", tmp_path / "ours", "transformers")
    again = peer.CLIPModel.from_pretrained(written).eval()
    with torch.inference_mode():
        back = again(input_ids=read["input_ids"], pixel_values=pixels).logits_per_image.double()
    np.testing.assert_allclose(back.numpy(), scores.numpy(), atol=1e-5)
    assert json.loads((written / "tokenizer.json").read_text()) == content
    third = margin.CLIP.from_transformers(written)
    np.testing.assert_allclose(third.similarity(images, TEXTS), expected, atol=1e-5)


def test_a_fit_goes_on(tmp_path):
    write_folder(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(32) % 2
    images = (rng.integers(0, 60, (32, 8, 8, 3)) + 150 * y[:, None, None, None]).astype(np.uint8)
    captions = [("a dog", "a cat")[c] for c in y]
    further = {"warm_start": True, "learning_rate_init": 0.003, "batch_size": 8, "max_iter": 6, "random_state": 0}
    model = margin.CLIP.from_transformers(tmp_path, **further).fit(images, captions)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    predicted = model.zero_shot(images, ["dog", "cat"], "a {c}").argmax(axis=1)
    assert (predicted == y).mean() > 0.9
    fresh = model.set_params(warm_start=False, max_iter=1).fit(images, captions)
    assert not hasattr(fresh, "reading_")
    with pytest.raises(ValueError, match="only a network of from_transformers"):
        fresh.to_transformers(tmp_path / "own")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (
            "config.json",
            lambda c: c["vision_config"].update(patch_size=3),
            "patch_size in vision_config .* must divide",
        ),
        ("config.json", lambda c: c.update(text_config=[1]), "text_config in .* must be a JSON object"),
        ("config.json", lambda c: c["text_config"].update(num_hidden_layers=2**20), "too few tensors"),
        ("config.json", lambda c: c["text_config"].update(eos_token_id=5), "must end every text with the token 5"),
        ("config.json", lambda c: c["text_config"].update(hidden_size=20), "must have shape"),
        ("tokenizer.json", lambda c: c["model"].update(continuing_subword_prefix="@@"), "continuing_subword_prefix"),
        ("tokenizer.json", lambda c: c["normalizer"]["normalizers"].pop(), "must follow NFC"),
        ("tokenizer.json", lambda c: c["pre_tokenizer"]["pretokenizers"].pop(), "must be cut by CLIP's"),
        ("tokenizer.json", lambda c: c["model"].update(merges=[["x", "y"]]), "is no tokenizer.json"),
        ("tokenizer.json", lambda c: c.update(normalizer={"normalizers": 3}), "is no tokenizer.json"),
        ("preprocessor_config.json", lambda c: c.update(image_std=[0, 1, 1]), "image_std in .* must be 3 numbers"),
    ],
)
def test_files_that_do_not_fit_are_refused(name, change, words, tmp_path):
    write_folder(tmp_path)
    content = json.loads((tmp_path / name).read_text())
    change(content)
    (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(ValueError, match=words):
        margin.CLIP.from_transformers(tmp_path)
