"""Taggers, hidden tokens, detectors and graph networks in ONNX files, by onnxruntime, at several sizes of a batch."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import margin
from margin.data.scenes import shape_scenes
from margin.graphs.generators import karate_club, ring
from margin.store.onnx.export import export_onnx
from margin.store.onnx.graph import CannotExport
from margin.store.onnx.torch_networks import export_torch
from margin.text.masking import Marks, rows_of

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: nothing reads the files.")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch cannot export.")

SETTINGS = {"max_iter": 2, "random_state": 0}
SENTENCES = ["Ann saw Rome", "Bob left", "Eve and Ann saw Oslo again"] * 4
TAGS = ["P O L", "P O", "P O P O L O"] * 4


def session_of(model, tmp_path):
    return onnxruntime.InferenceSession(str(export_onnx(model, tmp_path / "model.onnx")))


@pytest.mark.parametrize("architecture", ["rnn", "transformer"])
def test_scores_of_tags_and_their_chain(architecture, tmp_path):
    model = margin.TokenTagger(architecture, d_model=8, n_heads=2, hidden_size=5, n_layers=2, **SETTINGS)
    model.fit(SENTENCES, TAGS)
    session = session_of(model, tmp_path)
    for chosen in ([0], [2, 1, 0]):
        sentences = [SENTENCES[i].split() for i in chosen]
        flat, outlines, starts = model._encode_rows(sentences)
        longest = max(map(len, sentences))
        ids, beside = np.zeros((2, len(sentences), longest), dtype=np.int64)
        for k, (a, b) in enumerate(pairwise(starts)):
            ids[k, : b - a], beside[k, : b - a] = flat[a:b], outlines[a:b]
        found = session.run(None, {"ids": ids, "outlines": beside})
        with torch.inference_mode():
            expected = model.module_(torch.from_numpy(ids), torch.from_numpy(beside)).numpy()
        np.testing.assert_allclose(found[0][ids > 0], expected[ids > 0], atol=1e-5)
        for array, name in zip(found[1:], ("first", "between", "last"), strict=True):
            np.testing.assert_allclose(array, model.weights_[name], atol=1e-7)


def test_a_recurrent_classifier_reads_texts_from_both_ends(tmp_path):
    model = margin.TextClassifier("rnn", cell="lstm", d_model=8, hidden_size=5, n_layers=2, **SETTINGS)
    model.fit(SENTENCES, [len(text) > 9 for text in SENTENCES])
    session = session_of(model, tmp_path)
    for n in (1, 3):
        _, found = session.run(None, {"ids": model.token_ids(SENTENCES[:n])})
        np.testing.assert_allclose(found, model.predict_proba(SENTENCES[:n]), atol=1e-5)


def test_a_plain_recurrent_cell_is_refused(tmp_path):
    model = margin.TextClassifier("rnn", cell="rnn", d_model=4, hidden_size=2, max_iter=1, random_state=0)
    model.fit(SENTENCES, [len(text) > 9 for text in SENTENCES])
    with pytest.raises(CannotExport, match="cell 'rnn' cannot be exported"):
        export_onnx(model, tmp_path / "model.onnx")


def test_hidden_tokens(tmp_path):
    model = margin.MaskedLanguageModel(d_model=8, n_heads=2, n_blocks=2, **SETTINGS).fit(SENTENCES)
    session = session_of(model, tmp_path)
    codes = model._codes()
    for n in (1, 3):
        ids, segments = rows_of([[codes.encode(text)] for text in SENTENCES[:n]], Marks.after(codes.size))
        scores, states = session.run(None, {"ids": ids, "segments": segments})
        assert scores.shape == (*ids.shape, model.network_["vocabulary"])
        for text, row, seen in zip(SENTENCES[:n], states, ids):
            np.testing.assert_allclose(row[1 : (seen > 0).sum() - 1], model._states([codes.encode(text)])[0], atol=1e-5)


@pytest.mark.parametrize("architecture", ["yolo", "detr"])
def test_candidates_of_a_detector(architecture, tmp_path):
    scenes = shape_scenes(np.random.default_rng(0), n_samples=8)
    model = margin.ObjectDetector(architecture, base_channels=4, **{**SETTINGS, "max_iter": 1})
    model.fit(scenes.images, scenes.boxes)
    session = session_of(model, tmp_path)
    module = model.module_
    for images in (scenes.images[:1], scenes.images[:3], scenes.images[:2, :24, :28]):
        x = np.asarray(images, dtype=np.float32).reshape(len(images), -1, *images.shape[1:3])
        boxes, labels, scores = session.run(None, {"images": x})
        with torch.inference_mode():
            expected = module.body.candidates(module.prepare(torch.from_numpy(x)))
        np.testing.assert_allclose(scores, expected[2].numpy(), atol=1e-5)
        assert (labels == expected[1].numpy()).mean() > 0.9  # two classes of nearly one score may change places
        np.testing.assert_allclose(boxes, expected[0].numpy(), rtol=1e-4, atol=1e-3)


def test_detectors_that_look_at_regions_are_refused(tmp_path):
    scenes = shape_scenes(np.random.default_rng(0), n_samples=4)
    model = margin.ObjectDetector(base_channels=4, **{**SETTINGS, "max_iter": 1}).fit(scenes.images, scenes.boxes)
    with pytest.raises(CannotExport, match="architecture 'faster-r-cnn' cannot be exported"):
        export_onnx(model, tmp_path / "model.onnx")


def dense(graphs):
    """Features, adjacency and which nodes there are, of graphs of several sizes."""
    most = max(map(len, graphs))
    nodes = np.zeros((len(graphs), most, graphs[0].node_features.shape[1]), dtype=np.float32)
    adjacency, inside = np.zeros((len(graphs), most, most), np.float32), np.zeros((len(graphs), most), bool)
    for k, graph in enumerate(graphs):
        nodes[k, : len(graph)], inside[k, : len(graph)] = graph.node_features, True
        np.add.at(adjacency[k], (graph.edges[1], graph.edges[0]), 1)
    return {"nodes": nodes, "adjacency": adjacency, "inside": inside}


GRAPHS = [ring(n) for n in (3, 5, 9, 4)] * 3


@pytest.mark.parametrize(
    "options",
    [
        {"architecture": "gin", "batch_norm": True, "readout_layers": "all"},
        {"architecture": "gat", "width": 8, "readout": "max"},
    ],
    ids=lambda options: options["architecture"],
)
def test_classes_of_graphs_in_dense_form(options, tmp_path):
    model = margin.GraphClassifier(**SETTINGS, **options).fit(GRAPHS, [len(graph) > 4 for graph in GRAPHS])
    session = session_of(model, tmp_path)
    for n in (1, 4):
        label, found = session.run(None, dense(GRAPHS[:n]))
        np.testing.assert_allclose(found, model.predict_proba(GRAPHS[:n]), atol=1e-5)
        assert label.shape == (n,)


def test_numbers_of_graphs_and_classes_of_nodes(tmp_path):
    model = margin.GraphRegressor(**SETTINGS).fit(GRAPHS, [float(len(graph)) for graph in GRAPHS])
    found = session_of(model, tmp_path).run(None, dense(GRAPHS[:3]))[0]
    np.testing.assert_allclose(found[:, 0], model.predict(GRAPHS[:3]), rtol=1e-5)
    club = karate_club()
    nodes = margin.NodeClassifier(**SETTINGS).fit(club, club.target)
    found = session_of(nodes, tmp_path).run(None, dense([club]))[0]
    np.testing.assert_allclose(found[0], nodes.predict_proba(club), atol=1e-5)
    again = torch.export.load(export_torch(nodes, tmp_path / "model.pt2")).module()
    inputs = [torch.from_numpy(array) for array in dense([club, club]).values()]
    np.testing.assert_allclose(again(*inputs).detach().numpy()[1], nodes.predict_proba(club), atol=1e-5)


@pytest.mark.parametrize("position", ["learned", "alibi"])
def test_positions_of_any_kind_have_a_cache(position, tmp_path):
    model = margin.LanguageModel(d_model=16, n_heads=2, n_blocks=2, context=16, position=position, **SETTINGS)
    model.fit("abcd efg " * 30)
    session = session_of(model, tmp_path)
    ids = np.array([[0, 1, 2, 3, 4, 5], [0, 3, 2, 1, 5, 5]])
    with torch.inference_mode():
        expected = model.module_(torch.from_numpy(ids)).numpy()
    past, start, parts = np.zeros((2, 2, 2, 2, 0, 8), np.float32), 0, []
    for end in (3, 4, 6):
        scores, past = session.run(None, {"ids": ids[:, start:end], "past": past})
        parts.append(scores)
        start = end
    np.testing.assert_allclose(np.concatenate(parts, axis=1), expected, atol=1e-5)


def test_several_labels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[::5, 2] = np.nan
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1).astype(int)
    for model in (margin.TabularNetClassifier(n_networks=2, **SETTINGS), margin.MLPClassifier((4,), max_iter=200)):
        rows = X if model.__sklearn_tags__().input_tags.allow_nan else np.nan_to_num(X)
        session = session_of(model.fit(rows, Y), tmp_path)
        for n in (1, 7):
            np.testing.assert_allclose(session.run(None, {"X": rows[:n]})[0], model.predict_proba(rows[:n]), atol=1e-5)
