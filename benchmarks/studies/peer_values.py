"""Attributions and detection metrics against captum, shap, pycocotools: ``python -m benchmarks.studies.peer_values``.

Small problems are handed to the peer and to us. The inputs and the peer's answers are stored beside the tests
(``tests/interpretation/peer_values.json``, ``tests/detection/peer_values.json``), which compare ours with them where no
peer is installed; the largest differences are findings. ``attributions`` needs captum and shap, ``detection``
pycocotools.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding, save_findings

TESTS = Path(__file__).parents[2] / "tests"
COMMAND = "python -m benchmarks.studies.peer_values"
WHAT = ("attributions", "detection")
RUNS = tuple((what,) for what in WHAT)  # what ``python -m benchmarks peer_values`` runs


def pooled_network(weights: dict[str, Any]) -> Any:
    """Convolutions, their mean over the image, and three classes; its attributions are exact in float64."""
    import torch
    from torch import nn

    net = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4, 3),
    ).double()  # fmt: skip
    net.load_state_dict({name: torch.tensor(values, dtype=torch.float64) for name, values in weights.items()})
    return net


def captum_values() -> dict[str, Any]:
    """A network with its weights, images, and what captum says of them."""
    import captum.attr as captum
    import torch

    rng = np.random.default_rng(0)
    shapes = {
        "0.weight": (3, 1, 3, 3),
        "0.bias": 3,
        "2.weight": (4, 3, 3, 3),
        "2.bias": 4,
        "6.weight": (3, 4),
        "6.bias": 3,
    }
    weights = {name: rng.normal(scale=0.5, size=shape).tolist() for name, shape in shapes.items()}
    images, labels = rng.normal(size=(2, 1, 8, 7)), [0, 2]
    net, x, target = pooled_network(weights), torch.from_numpy(images), torch.tensor(labels)
    positions = 4 * 3  # of the last maps
    cam = captum.LayerGradCam(net, net[3]).attribute(x, target=target) * positions
    attributions_of = {
        "cam": cam[:, 0],
        "grad_cam": captum.LayerGradCam(net, net[3]).attribute(x, target=target, relu_attributions=True)[:, 0],
        "integrated_gradients": captum.IntegratedGradients(net).attribute(
            x, torch.full_like(x, 0.2), target=target, n_steps=32, method="gausslegendre"
        ),
        "occlusion": captum.Occlusion(net).attribute(
            x, sliding_window_shapes=(1, 2, 2), strides=(1, 2, 2), target=target, baselines=0.5
        )[:, 0, ::2, :-1:2],
    }
    return {"weights": weights, "images": images.tolist(), "labels": labels,
            "captum": {name: values.detach().numpy().tolist() for name, values in attributions_of.items()}}  # fmt: skip


def our_maps(problem: dict[str, Any]) -> dict[str, np.ndarray]:
    """The same four attributions by ours."""
    import torch

    from margin.interpretation.attribution import class_activation_map, grad_cam, integrated_gradients, occlusion

    net, label = pooled_network(problem["weights"]), torch.tensor(problem["labels"])
    x = torch.tensor(problem["images"], dtype=torch.float64)
    maps = {
        "cam": class_activation_map(net[:4](x), net[6].weight, label),
        "grad_cam": grad_cam(net, net[3], x, label),
        "integrated_gradients": integrated_gradients(net, x, label, baseline=0.2, steps=32),
        "occlusion": occlusion(net, x, label, size=2, value=0.5),
    }
    return {name: values.detach().numpy() for name, values in maps.items()}


def interacting(rows: np.ndarray) -> np.ndarray:
    """A function of five columns with products of them, whose Shapley values no additive model has."""
    return np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2] ** 2 - rows[:, 3] * rows[:, 0] + 0.5 * rows[:, 4]


def shap_values() -> dict[str, Any]:
    """Rows, background and trees, and what shap's kernel and tree explainers say of them."""
    import shap

    from margin.trees import DecisionTreeRegressor, RandomForestRegressor

    rng = np.random.default_rng(1)
    X, background = rng.normal(size=(4, 5)), rng.normal(size=(7, 5))
    kernel = shap.KernelExplainer(interacting, background)
    train = rng.normal(size=(80, 5))
    y = interacting(train)
    models = [DecisionTreeRegressor(max_depth=4, random_state=0), RandomForestRegressor(3, max_depth=3, random_state=0)]
    trees = [_trees_of(model.fit(train, y)) for model in models]
    theirs = [np.mean([shap.TreeExplainer({"trees": [_for_shap(tree)]}).shap_values(X) for tree in several], axis=0)
              for several in trees]  # fmt: skip
    return {
        "rows": X.tolist(), "background": background.tolist(), "trees": trees,
        "shap": {"kernel": kernel.shap_values(X, nsamples=1000, l1_reg=False, silent=True).tolist(),
                 "expected": float(kernel.expected_value), "tree": [values.tolist() for values in theirs]},
    }  # fmt: skip


TREE_ARRAYS = ("feature", "threshold", "left", "right", "value", "weight")


def _trees_of(model: Any) -> list[dict[str, Any]]:
    members = [model] if hasattr(model, "tree_") else model.estimators_
    return [{name: member.tree_[name].tolist() for name in TREE_ARRAYS} for member in members]


def _for_shap(tree: dict[str, Any]) -> dict[str, np.ndarray]:
    names = {"children_left": "left", "children_right": "right", "features": "feature", "thresholds": "threshold",
             "values": "value", "node_sample_weight": "weight"}  # fmt: skip
    arrays = {theirs: np.array(tree[ours]) for theirs, ours in names.items()}
    return arrays | {"children_default": arrays["children_left"].copy(), "base_offset": 0.0}


def our_shapley(problem: dict[str, Any]) -> dict[str, Any]:
    from margin.interpretation import shapley_values
    from margin.trees.shap import tree_shap

    X, background = np.array(problem["rows"]), np.array(problem["background"])
    kernel = shapley_values(interacting, X, background, method="kernel", n_samples=30)
    tree = [np.mean([tree_shap(full_tree(one), X).values[:, :, 0] for one in several], axis=0)
            for several in problem["trees"]]  # fmt: skip
    return {"kernel": kernel.values[:, :, 0], "expected": float(kernel.expected[0]), "tree": tree}


def full_tree(stored: dict[str, Any]) -> Any:
    """The arrays of a tree of numbers without missing values."""
    n = len(stored["feature"])
    tree: dict[str, Any] = {name: np.array(stored[name], dtype=np.int32) for name in ("feature", "left", "right")}
    tree |= {name: np.array(stored[name], dtype=np.float64) for name in ("threshold", "value", "weight")}
    return tree | {"missing_left": np.ones(n, dtype=bool), "category_row": np.full(n, -1, dtype=np.int32),
                    "category_set": np.zeros((0, 32), dtype=np.uint8)}  # fmt: skip


def attributions() -> None:
    maps, values = captum_values(), shap_values()
    _write(TESTS / "interpretation" / "peer_values.json", {"maps": maps, "shapley": values}, ("captum", "shap"))
    ours, theirs = our_maps(maps), maps["captum"]
    findings = [_close(f"{name} against captum", ours[name], theirs[name], 1e-5) for name in ours]
    shapley, of_shap = our_shapley(values), values["shap"]
    findings += [
        _close("kernel Shapley values against shap (all coalitions)", shapley["kernel"], of_shap["kernel"], 1e-8),
        _close("tree Shapley values against shap, one tree", shapley["tree"][0], of_shap["tree"][0], 1e-8),
        _close("tree Shapley values against shap, a forest", shapley["tree"][1], of_shap["tree"][1], 1e-8),
    ]
    save_findings(
        "attributions",
        "Attributions beside captum and shap",
        protocol="A small convolutional network in float64, two images; a function of five columns with interactions, "
        f"four rows, seven background rows, trees and forests; captum {version('captum')}, shap {version('shap')}. "
        "Tests compare ours with the stored answers.",
        command=f"{COMMAND} attributions",
        findings=findings,
    )


def crowded_scenes() -> list[dict[str, Any]]:
    """Objects of three classes, found with errors, twice, or not at all, and false alarms; scores with ties."""
    rng = np.random.default_rng(2)
    scenes = []
    for _ in range(8):
        k = int(rng.integers(1, 9))
        low = rng.uniform(0, 60, size=(k, 2))
        boxes = np.concatenate([low, low + rng.uniform(8, 40, size=(k, 2))], axis=1)
        labels = rng.integers(3, size=k)
        again = np.concatenate([np.arange(k), rng.integers(k, size=k // 2)])
        moved = boxes[again] + rng.normal(scale=2.5, size=(len(again), 4))
        found_labels = np.where(rng.random(len(again)) < 0.85, labels[again], rng.integers(3, size=len(again)))
        scores = np.round(rng.random(len(again)), 2)
        scenes.append({"boxes": boxes.tolist(), "labels": labels.tolist(), "found": moved.tolist(),
                       "found_labels": found_labels.tolist(), "scores": scores.tolist()})  # fmt: skip
    return scenes


def pycocotools_values(scenes: list[dict[str, Any]]) -> dict[str, float]:
    """COCO's mean average precision, at 0.5 and at 0.75, and the mean of its precisions at 11 levels of recall."""
    from contextlib import redirect_stdout
    from io import StringIO

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    def listed(boxes: str, labels: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for image, scene in enumerate(scenes, start=1):
            for n, ((left, top, right, bottom), label) in enumerate(zip(scene[boxes], scene[labels])):
                size = [left, top, right - left, bottom - top]
                score = scene["scores"][n] if boxes == "found" else 1.0
                rows.append({"id": len(rows) + 1, "image_id": image, "category_id": label, "bbox": size, "iscrowd": 0,
                             "area": size[2] * size[3], "score": score})  # fmt: skip
        return rows

    with redirect_stdout(StringIO()):
        known = COCO()
        known.dataset = {
            "images": [{"id": k + 1} for k in range(len(scenes))],
            "annotations": listed("boxes", "labels"),
            "categories": [{"id": k} for k in range(3)],
        }
        known.createIndex()
        judge = COCOeval(known, known.loadRes(listed("found", "found_labels")), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
        precisions = {"coco": judge.stats[0], "at_0.5": judge.stats[1], "at_0.75": judge.stats[2]}
        judge.params.iouThrs, judge.params.recThrs = np.array([0.5]), np.linspace(0, 1, 11)
        judge.evaluate()
        judge.accumulate()
        precisions["eleven_levels_at_0.5"] = judge.eval["precision"][0, :, :, 0, -1].mean()
    return {name: float(value) for name, value in precisions.items()}


def our_precisions(scenes: list[dict[str, Any]]) -> dict[str, float]:
    """The same four; eleven levels of VOC, with COCO's rule of which object a detection belongs to."""
    from margin.data.boxes import Boxes
    from margin.vision.detection.average_precision import (
        average_precision,
        coco_map,
        mean_average_precision,
        precision_recall,
    )

    truth = [Boxes(np.array(s["boxes"]), np.array(s["labels"])) for s in scenes]
    detected = [Boxes(np.array(s["found"]), np.array(s["found_labels"]), np.array(s["scores"])) for s in scenes]
    eleven = [average_precision(*precision_recall(truth, detected, k, 0.5, "coco"), "voc07") for k in range(3)]
    return {
        "coco": coco_map(truth, detected),
        "at_0.5": mean_average_precision(truth, detected, 0.5, "coco"),
        "at_0.75": mean_average_precision(truth, detected, 0.75, "coco"),
        "eleven_levels_at_0.5": float(np.mean(eleven)),
    }


def detection() -> None:
    scenes = crowded_scenes()
    theirs, ours = pycocotools_values(scenes), our_precisions(scenes)
    _write(TESTS / "detection" / "peer_values.json", {"scenes": scenes, "pycocotools": theirs}, ("pycocotools",))
    save_findings(
        "detection-metrics",
        "Mean average precision beside pycocotools",
        protocol="Eight crowded scenes of three classes with tied scores, doubles, misses and false alarms. "
        f"pycocotools {version('pycocotools')} knows COCO's matching alone: VOC's eleven levels are compared under "
        "that matching; its own matching and its area are held by a loop over the definition in the tests.",
        command=f"{COMMAND} detection",
        findings=[_close(f"mean average precision, {name}", ours[name], theirs[name], 1e-12) for name in theirs],
        raw={"ours": ours, "pycocotools": theirs},
    )


def _close(what: str, ours: Any, theirs: Any, tolerance: float) -> Finding:
    gap = float(np.max(np.abs(np.asarray(ours) - np.asarray(theirs))))
    return Finding(what, f"largest difference {gap:.1e}", f"at most {tolerance:.0e}", gap <= tolerance)


def _write(path: Path, content: dict[str, Any], peers: Sequence[str]) -> None:
    made = {"made_by": COMMAND, "peers": {peer: version(peer) for peer in peers}}
    path.write_text(json.dumps(made | content) + "\n", encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    arguments.add_argument("what", choices=WHAT)
    return arguments


def main(arguments: Sequence[str] | None = None) -> None:
    {"attributions": attributions, "detection": detection}[parser().parse_args(arguments).what]()


if __name__ == "__main__":
    main()
