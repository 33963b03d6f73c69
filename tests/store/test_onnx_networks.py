"""Networks in ONNX files against themselves, by onnxruntime, on other numbers of rows than they were exported with."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import margin
from margin.service.exporting import export_model

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: nothing reads the files.")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch cannot export.")

TEXTS = ["a warm and funny film", "a film far too long", "funny, warm", "long and dull"] * 2
LABELS = ["good", "bad", "good", "bad"] * 2


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", ["cnn", "vit"])
def test_images_of_any_number(kind, images, tmp_path):
    y = np.arange(12) % 3
    if kind == "cnn":
        model = margin.CNNClassifier(["conv 4 3", "pool 2", "dense 8"], norm="batch", max_iter=2, random_state=0)
    else:
        model = margin.VisionTransformer(4, d_model=8, n_heads=2, n_blocks=1, max_iter=2, random_state=0)
    model.fit(images, y)
    session = onnxruntime.InferenceSession(str(margin.export_onnx(model, tmp_path / "model.onnx")))
    for n in (1, 5, 12):
        label, found = session.run(None, {"images": images[:n].transpose(0, 3, 1, 2)})
        np.testing.assert_allclose(found, model.predict_proba(images[:n]), atol=1e-5)
        np.testing.assert_array_equal(label, model.predict(images[:n]))


def test_texts_of_any_number_and_length(tmp_path):
    model = margin.TextClassifier("transformer", d_model=8, n_heads=2, max_iter=2, random_state=0).fit(TEXTS, LABELS)
    session = onnxruntime.InferenceSession(str(margin.export_onnx(model, tmp_path / "model.onnx")))
    for some in (["dull"], TEXTS[:3], ["funny film " * 9, "long"]):
        label, found = session.run(None, {"ids": model.token_ids(some)})
        np.testing.assert_allclose(found, model.predict_proba(some), atol=1e-5)
        assert label.tolist() == model.predict(some).tolist()


def test_the_network_is_a_public_module_that_torch_exports(images, tmp_path):
    model = margin.CNNClassifier(["conv 4 3", "dense 8"], max_iter=1, random_state=0).fit(images, np.arange(12) % 3)
    margin.save(model, tmp_path / "model.margin")
    again = torch.export.load(export_model(tmp_path / "model.margin", format="torch")).module()
    rows = torch.from_numpy(images.transpose(0, 3, 1, 2).copy())
    with torch.inference_mode():
        np.testing.assert_allclose(again(rows).softmax(1).numpy(), model.predict_proba(images), atol=1e-6)
        np.testing.assert_allclose(model.module_(rows[:1]), again(rows[:1]), atol=1e-5)
    with pytest.raises(NotFittedError):
        _ = margin.CNNClassifier().module_
    with pytest.raises(ValueError, match="CNNClassifier is no network that transformers has"):
        export_model(tmp_path / "model.margin", format="transformers")
    with pytest.raises(ValueError, match="format must be one of onnx, torch, transformers; got 'pickle'"):
        export_model(tmp_path / "model.margin", format="pickle")
