"""VisionTransformer that begins in a folder of transformers, and ends in one."""

import json

import numpy as np
import pytest
import torch

import margin
from margin.neural import load_transformers
from margin.service.exporting import export_model

peer = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with.")

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
CENTER, SCALE = [0.4, 0.5, 0.6], [0.2, 0.25, 0.5]


def write_folder(folder, **changes):
    torch.manual_seed(0)
    config = peer.ViTConfig(
        **{**SIZES, "image_size": 8, "patch_size": 4, "num_labels": 3, "initializer_range": 0.3, **changes}
    )
    network = peer.ViTForImageClassification(config).eval()
    network.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({"image_mean": CENTER, "image_std": SCALE}))
    return network


def scores_of(network, images, center=CENTER, scale=SCALE):
    """Scores by transformers of bytes (n, h, w, c)."""
    x = (images.astype(np.float64) / 255 - center) / scale
    with torch.inference_mode():
        return network(torch.from_numpy(x.transpose(0, 3, 1, 2)).float()).logits.numpy()


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.integers(0, 100, (40, 8, 8, 3)) + 120 * y[:, None, None, None]
    return X.astype(np.uint8), np.array(["dark", "light"])[y]


def test_scores_are_those_of_transformers_also_with_another_function_inside(tmp_path, images):
    for activation in ("gelu", "relu", "quick_gelu"):
        network = write_folder(tmp_path, hidden_act=activation)
        X, _ = images
        expected = scores_of(network, X)
        module = load_transformers(tmp_path)
        x = torch.from_numpy(((X / 255 - CENTER) / SCALE).transpose(0, 3, 1, 2)).float()
        with torch.inference_mode():
            got = module(x).numpy()
        assert np.ptp(expected) > 0.5
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)


def test_a_fit_from_the_folder_is_written_and_read_by_transformers(tmp_path, images):
    X, y = images
    write_folder(tmp_path / "start")
    model = margin.VisionTransformer.from_transformers(
        tmp_path / "start", learning_rate_init=0.003, max_iter=4, dropout=0.0, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.8
    margin.save(model, tmp_path / "vit.safetensors")
    written = export_model(tmp_path / "vit.safetensors", tmp_path / "out", "transformers")
    again, report = peer.ViTForImageClassification.from_pretrained(written, output_loading_info=True)
    assert not report["missing_keys"]
    assert again.config.id2label == {0: "dark", 1: "light"}
    scaling = json.loads((written / "preprocessor_config.json").read_text())
    assert scaling["size"] == {"height": 8, "width": 8}
    theirs = scores_of(again.eval(), X, scaling["image_mean"], scaling["image_std"])
    expected = torch.from_numpy(theirs).double().softmax(-1).numpy()
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)
    third = margin.VisionTransformer.from_transformers(written)
    np.testing.assert_allclose(third.pretrained.network["center"], model.pretrained.network["center"], rtol=1e-12)


def test_layers_stay_as_they_are_where_frozen(tmp_path, images):
    X, y = images
    write_folder(tmp_path)
    further = {"max_iter": 1, "learning_rate_init": 0.01, "random_state": 0}
    model = margin.VisionTransformer.from_transformers(tmp_path, freeze="encoder", **further).fit(X, y)
    start = model.pretrained.weights
    moved = {name for name, array in model.weights_.items() if not np.array_equal(array, start.get(name))}
    assert moved == {f"body.{layer}.{part}" for layer in ("stack.norm", "head") for part in ("weight", "bias")}
    slow = margin.VisionTransformer.from_transformers(tmp_path, layer_rates=1e-6, **further).fit(X, y)
    steps = {name: np.abs(slow.weights_[name] - start[name]).max() for name in start if "head" not in name}
    assert steps["body.project.weight"] < 1e-3 * steps["body.stack.norm.weight"]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("config.json", {"patch_size": 3}, "patch_size in .* must divide image_size 8; got 3"),
        ("config.json", {"hidden_size": 20}, "must have shape"),
        ("config.json", {"hidden_act": "tan"}, "hidden_act in .* must be one of"),
        ("config.json", {"num_hidden_layers": 10**9}, "num_hidden_layers in .* must be an integer"),
        ("preprocessor_config.json", {"image_std": [0.0, 1, 1]}, "image_std in .* must be 3 numbers"),
        ("preprocessor_config.json", {"image_mean": "0.5"}, "image_mean in .* must be 3 numbers"),
    ],
)
def test_files_that_do_not_fit_are_refused(name, change, words, tmp_path):
    write_folder(tmp_path)
    path = tmp_path / name
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=words):
        margin.VisionTransformer.from_transformers(tmp_path)


def test_a_network_that_transformers_has_not_is_not_written(tmp_path, images):
    X, y = images
    model = margin.VisionTransformer(d_model=16, n_blocks=1, max_iter=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="save_transformers: norm must be 'layer' for vit of transformers; got 'rms'"):
        model.to_transformers(tmp_path / "own")
    assert not (tmp_path / "own").exists()
