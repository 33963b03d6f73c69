"""Networks in ONNX files beside the networks themselves: ``python -m benchmarks.studies.onnx_parity``.

Every kind of network is fitted for an epoch or two, written, and read by onnxruntime on batches of 1, 2 and 7; the
largest difference of any number is stored. A language model reads all tokens at once, and again one by one from the
cache. What depends on chance in training does not matter here: the same weights
stand on both sides.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import margin
from benchmarks.measuring.evidence import Finding, save_findings
from margin.data.scenes import shape_scenes
from margin.graphs.generators import karate_club, ring
from margin.text.masking import Marks, rows_of

BATCHES = (1, 2, 7)
BOUND = 1e-5
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 4))
IMAGES = RNG.random((24, 8, 8)).astype(np.float32)
TEXTS = ["red wine and cheese", "blue sea", "a green land far away", "red sea"] * 6
SETTINGS = {"max_iter": 2, "random_state": 0}

Parity = tuple[Any, Callable[[int], dict[str, np.ndarray]], Callable[[int], list[np.ndarray]]]


def pictures(model: Any) -> Parity:
    return model, lambda n: {"images": IMAGES[:n, None]}, lambda n: [model.predict_proba(IMAGES[:n])]


def dense(graphs: list[Any]) -> dict[str, np.ndarray]:
    """Graphs of several sizes side by side."""
    most = max(map(len, graphs))
    nodes = np.zeros((len(graphs), most, graphs[0].node_features.shape[1]), dtype=np.float32)
    adjacency, inside = np.zeros((len(graphs), most, most), np.float32), np.zeros((len(graphs), most), bool)
    for k, graph in enumerate(graphs):
        nodes[k, : len(graph)], inside[k, : len(graph)] = graph.node_features, True
        np.add.at(adjacency[k], (graph.edges[1], graph.edges[0]), 1)
    return {"nodes": nodes, "adjacency": adjacency, "inside": inside}


def networks() -> dict[str, Callable[[], Parity]]:
    """What is written, what goes in, and what must come out."""
    y, two = ROWS[:, 0] > 0, IMAGES.mean(axis=(1, 2)) > 0.5

    def rows(model: Any, target: Any, ask: str) -> Parity:
        model.fit(ROWS, target)
        return model, lambda n: {"X": ROWS[:n]}, lambda n: [np.asarray(getattr(model, ask)(ROWS[:n]))]

    def texts(architecture: str) -> Parity:
        model = margin.TextClassifier(architecture, d_model=16, n_heads=2, **SETTINGS).fit(TEXTS, [0, 1, 2, 1] * 6)
        return model, lambda n: {"ids": model.token_ids(TEXTS[:n])}, lambda n: [model.predict_proba(TEXTS[:n])]

    def tags(architecture: str) -> Parity:
        model = margin.TokenTagger(architecture, d_model=8, n_heads=2, hidden_size=6, **SETTINGS)
        model.fit(["Ann saw Rome", "Bob left Bern"] * 6, ["P O L", "P O L"] * 6)

        def given(n: int) -> dict[str, np.ndarray]:
            ids, outlines, _ = model._encode_rows([["Ann", "left", "Bern"]] * n)
            return {"ids": ids.reshape(n, 3), "outlines": outlines.reshape(n, 3)}

        def expected(n: int) -> list[np.ndarray]:
            with torch.inference_mode():
                return [model.module_(*map(torch.from_numpy, given(n).values())).numpy()]

        return model, given, expected

    def hidden() -> Parity:
        model = margin.MaskedLanguageModel(d_model=16, n_heads=2, n_blocks=2, **SETTINGS).fit(TEXTS)
        codes = model._codes()

        def given(n: int) -> dict[str, np.ndarray]:
            ids, segments = rows_of([[codes.encode(text)] for text in TEXTS[:n]], Marks.after(codes.size))
            return {"ids": ids, "segments": segments}

        def expected(n: int) -> list[np.ndarray]:
            ids, segments = map(torch.from_numpy, given(n).values())
            with torch.inference_mode():
                states = model.module_.states(ids, segments, (ids != 0)[:, None, None, :])
                return [model.module_.token_scores(states).numpy(), states.numpy()]

        return model, given, expected

    def language(position: str, **options: Any) -> Parity:
        model = margin.LanguageModel(d_model=16, n_heads=2, n_blocks=2, context=16, position=position, **options)
        model.set_params(max_iter=1, random_state=0).fit("abcd efg " * 30)
        heads = options.get("n_kv_heads", 2)

        def given(n: int) -> dict[str, np.ndarray]:
            ids = np.tile(np.arange(1, 6), (n, 1))
            return {"ids": ids, "past": np.zeros((2, 2, n, heads, 0, 8), np.float32)}

        def expected(n: int) -> list[np.ndarray]:
            with torch.inference_mode():
                return [model.module_(torch.from_numpy(given(n)["ids"])).numpy()]

        return model, given, expected

    def pixels(architecture: str) -> Parity:
        model = margin.Segmenter(architecture, base_channels=4, **SETTINGS).fit(IMAGES, (IMAGES > 0.5).astype(int))
        return model, lambda n: {"images": IMAGES[:n, None]}, lambda n: [model.predict_proba(IMAGES[:n])]

    def objects(architecture: str) -> Parity:
        scenes = shape_scenes(np.random.default_rng(0), n_samples=8)
        model = margin.ObjectDetector(architecture, base_channels=4, max_iter=1, random_state=0)
        model.fit(scenes.images, scenes.boxes)
        images = np.asarray(scenes.images, dtype=np.float32)

        def given(n: int) -> dict[str, np.ndarray]:
            return {"images": images[:n].reshape(n, -1, *images.shape[1:3])}

        def expected(n: int) -> list[np.ndarray]:
            module = model.module_
            with torch.inference_mode():
                x = torch.from_numpy(given(n)["images"])
                boxes, labels, scores = module.body.candidates(module.prepare(x))
            return [boxes.numpy(), labels.numpy() * 0, scores.numpy()]  # of two nearly equal classes either may lead

        return model, given, expected

    def graphs(architecture: str) -> Parity:
        made = [ring(n) for n in (3, 5, 9, 4)] * 3
        model = margin.GraphClassifier(architecture=architecture, **SETTINGS).fit(made, [len(g) > 4 for g in made])
        return model, lambda n: dense(made[:n]), lambda n: [model.predict_proba(made[:n])]

    def nodes() -> Parity:
        club = karate_club()
        model = margin.NodeClassifier(**SETTINGS).fit(club, club.target)
        return model, lambda n: dense([club] * n), lambda n: [np.stack([model.predict_proba(club)] * n)]

    def many(architecture: Any, target: np.ndarray, **options: Any) -> Parity:
        kind = margin.CNNRegressor if target.dtype.kind == "f" else margin.CNNClassifier
        images = np.kron(IMAGES, np.ones((1, 4, 4), dtype=np.float32))  # as large as the deep ones need
        model = kind(architecture, **SETTINGS, **options).fit(images, target)
        ask = model.predict if target.dtype.kind == "f" else model.predict_proba
        return model, lambda n: {"images": images[:n, None]}, lambda n: [ask(images[:n])]

    def sizes() -> Parity:
        made = [ring(n) for n in (3, 5, 9, 4)] * 3
        model = margin.GraphRegressor(**SETTINGS).fit(made, [float(len(g)) for g in made])
        return model, lambda n: dense(made[:n]), lambda n: [model.predict(made[:n])]

    labels = np.stack([ROWS[:, 0] > 0, ROWS[:, 1] > 0], axis=1).astype(int)
    return {
        "MLPClassifier": lambda: rows(margin.MLPClassifier((8,), max_iter=300, random_state=0), y, "predict_proba"),
        "MLPClassifier, labels": lambda: rows(
            margin.MLPClassifier((8,), max_iter=300, random_state=0), labels, "predict_proba"
        ),
        "TabularNetClassifier": lambda: rows(margin.TabularNetClassifier(**SETTINGS), y, "predict_proba"),
        "MLPRegressor": lambda: rows(margin.MLPRegressor((8,), max_iter=300, random_state=0), ROWS[:, 0], "predict"),
        "TabularNetRegressor": lambda: rows(margin.TabularNetRegressor(**SETTINGS), ROWS[:, 0], "predict"),
        "CNNClassifier": lambda: pictures(margin.CNNClassifier(["conv 4 3", "pool 2"], **SETTINGS).fit(IMAGES, two)),
        **{  # type: ignore[misc]
            f"CNNClassifier, {a}": lambda a=a: many(a, two, width=0.25)
            for a in ("lenet-5", "vgg-11", "resnet-18", "densenet-40")
        },
        "CNNRegressor": lambda: many(["conv 4 3", "pool 2"], IMAGES.mean(axis=(1, 2)).astype(float)),
        "VisionTransformer": lambda: pictures(
            margin.VisionTransformer(d_model=16, n_blocks=2, **SETTINGS).fit(IMAGES, two)
        ),
        **{f"TextClassifier, {a}": lambda a=a: texts(a) for a in ("bag-of-words", "cnn", "rnn", "transformer")},  # type: ignore[misc]
        **{f"TokenTagger, {a}": lambda a=a: tags(a) for a in ("rnn", "cnn", "transformer")},  # type: ignore[misc]
        "MaskedLanguageModel": hidden,
        **{  # type: ignore[misc]
            f"LanguageModel, {p}": lambda p=p: language(p)
            for p in ("rope", "learned", "sinusoidal", "alibi", "relative", "none")
        },
        "LanguageModel, groups and gates": lambda: language("rope", n_kv_heads=1, feed_forward="swiglu"),
        **{f"Segmenter, {a}": lambda a=a: pixels(a) for a in ("unet", "fcn", "hourglass")},  # type: ignore[misc]
        **{f"ObjectDetector, {a}": lambda a=a: objects(a) for a in ("yolo", "detr")},  # type: ignore[misc]
        **{f"GraphClassifier, {a}": lambda a=a: graphs(a) for a in ("gcn", "sage", "gat", "gin")},  # type: ignore[misc]
        "GraphRegressor": sizes,
        "NodeClassifier": nodes,
    }


def difference(parity: Parity, folder: Path) -> float:
    """The largest difference of any number, relative to 1 where numbers are larger."""
    import onnxruntime

    model, given, expected = parity
    session = onnxruntime.InferenceSession(str(margin.export_onnx(model, folder / "model.onnx")))
    names = [output.name for output in session.get_outputs()]
    worst = 0.0
    for n in BATCHES:
        found = session.run(None, given(n))
        numbers = [array for name, array in zip(names, found) if name != "label"]
        for k, truth in enumerate(expected(n)):
            got = np.asarray(numbers[k], dtype=np.float64)
            if model.__class__.__name__ == "ObjectDetector":
                got = got * 0 if k == 1 else got
            got = got.reshape(truth.shape)
            worst = max(worst, largest(got, truth))
        if "past" in given(n):
            (truth,) = expected(n)
            worst = max(worst, largest(by_tokens(session, given(n)), truth))
    return worst


def largest(got: np.ndarray, truth: np.ndarray) -> float:
    return float(np.max(np.abs(got - truth) / np.maximum(1.0, np.abs(truth))))


def by_tokens(session: Any, given: dict[str, np.ndarray]) -> np.ndarray:
    """Scores of all tokens, of which the first two are read at once and the others one by one from the cache."""
    scores, past, ids = [], given["past"], given["ids"]
    for part in (ids[:, :2], *np.split(ids[:, 2:], ids.shape[1] - 2, axis=1)):
        found, past = session.run(None, {"ids": part, "past": past})
        scores.append(found)
    return np.concatenate(scores, axis=1).astype(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.onnx_parity", description=__doc__)
    parser.add_argument("--only", default="", help="networks whose name has this in it; nothing is stored then")
    only = parser.parse_args().only
    raw: dict[str, float] = {}
    for name, make in networks().items():
        if only in name:
            with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
                warnings.simplefilter("ignore")
                raw[name] = difference(make(), Path(folder))
            print(f"{name}: {raw[name]:.1e}", flush=True)
    if only:
        return
    findings = [
        Finding(f"{name}, largest difference", f"{worst:.1e}", f"at most {BOUND:g}", worst <= BOUND)
        for name, worst in raw.items()
    ]
    save_findings(
        "onnx-parity",
        "Networks in ONNX files, by onnxruntime",
        protocol="Networks of every kind, written and read by onnxruntime on batches of 1, 2 and 7 rows; differences "
        "of numbers above 1 are relative to them. Language models read all tokens at once, and again token by token "
        "from the cache that the graph gives back.",
        command="python -m benchmarks.studies.onnx_parity",
        findings=findings,
        raw=json.loads(json.dumps(raw)),
    )


if __name__ == "__main__":
    main()
