"""Networks for tables, targets, pixels and tokens in ONNX files, by onnxruntime, at several sizes of a batch."""

import numpy as np
import pytest
import torch

import margin
from margin.store.onnx.export import export_onnx
from margin.store.onnx.graph import CannotExport
from margin.store.onnx.torch_networks import export_torch

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: nothing reads the files.")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch cannot export.")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1, 10, 0.1, 5]
IMAGES = RNG.random((30, 8, 8, 3)).astype(np.float32)
SETTINGS = {"max_iter": 2, "random_state": 0}


def session_of(model, tmp_path):
    return onnxruntime.InferenceSession(str(export_onnx(model, tmp_path / "model.onnx")))


def test_tables(tmp_path):
    y = np.where(X[:, 0] > 0, "up", "down")
    model = margin.TabularNetClassifier(n_networks=2, **SETTINGS).fit(X, y)
    session = session_of(model, tmp_path)
    for n in (1, 7, 60):
        label, found = session.run(None, {"X": X[:n]})
        np.testing.assert_allclose(found, model.predict_proba(X[:n]), atol=1e-5)
        assert label.tolist() == model.predict(X[:n]).tolist()
    targets = np.stack([X[:, 1] * 100, X[:, 2] + 7], axis=1)
    regressor = margin.TabularNetRegressor(n_networks=2, **SETTINGS).fit(X, targets)
    session = session_of(regressor, tmp_path)
    for n in (1, 7):
        np.testing.assert_allclose(session.run(None, {"X": X[:n]})[0], regressor.predict(X[:n]), rtol=1e-4, atol=1e-4)


def test_numbers_of_images_are_in_their_units(tmp_path):
    model = margin.CNNRegressor(["conv 4 3", "pool 2"], **SETTINGS).fit(IMAGES, IMAGES.mean(axis=(1, 2, 3)) * 500)
    session = session_of(model, tmp_path)
    for n in (1, 7):
        found = session.run(None, {"images": IMAGES[:n].transpose(0, 3, 1, 2)})[0]
        np.testing.assert_allclose(found[:, 0], model.predict(IMAGES[:n]), rtol=1e-5)


def test_pixels_of_images_of_other_sizes(tmp_path):
    model = margin.Segmenter("fcn", base_channels=4, **SETTINGS).fit(IMAGES, 10 + (IMAGES[..., 0] > 0.5))
    session = session_of(model, tmp_path)
    for n, height, width in ((1, 8, 8), (3, 16, 24)):
        images = RNG.random((n, height, width, 3)).astype(np.float32)
        label, found = session.run(None, {"images": images.transpose(0, 3, 1, 2)})
        np.testing.assert_allclose(found, model.predict_proba(images), atol=1e-5)
        assert (label == model.predict(images)).mean() > 0.99  # a tie of two classes may fall either way
        assert set(np.unique(label)) <= {10, 11}


def test_a_language_model_reads_on_from_what_it_has_read(tmp_path):
    blocks = {"n_kv_heads": 1, "feed_forward": "swiglu", "window": 4}
    model = margin.LanguageModel(d_model=16, n_heads=2, n_blocks=2, context=16, **{**SETTINGS, "max_iter": 1}, **blocks)
    model.fit("abcd efg " * 30)
    session = session_of(model, tmp_path)
    ids = np.array([[0, 1, 2, 3, 4, 5], [0, 3, 2, 1, 5, 5]])
    with torch.inference_mode():
        expected = model.module_(torch.from_numpy(ids)).numpy()
    for ends in ((6,), (3, 4, 6), (1, 2)):
        past, start, parts = np.zeros((2, 2, 2, blocks.get("n_kv_heads", 2), 0, 8), np.float32), 0, []
        for end in ends:
            scores, past = session.run(None, {"ids": ids[:, start:end], "past": past})
            parts.append(scores)
            start = end
        np.testing.assert_allclose(np.concatenate(parts, axis=1), expected[:, : ends[-1]], atol=1e-5)
        assert past.shape[4] == ends[-1]
    again = torch.export.load(export_torch(model, tmp_path / "model.pt2")).module()
    empty = torch.zeros((2, 2, 2, blocks.get("n_kv_heads", 2), 3, 8))
    again(torch.from_numpy(ids), empty)


def test_experts_are_refused_with_one_sentence(tmp_path):
    model = margin.LanguageModel(d_model=8, n_heads=2, n_blocks=1, context=8, feed_forward="experts", **SETTINGS)
    with pytest.raises(CannotExport, match="feed_forward 'experts' cannot be exported"):
        export_onnx(model.fit("abcd efg " * 30), tmp_path / "model.onnx")
