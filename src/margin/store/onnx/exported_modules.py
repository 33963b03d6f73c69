"""What networks give outside: a torch module around each, its inputs by name, and their axes of any length."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp, fused_softmax
from margin.neural.robust_scaling import BOUND
from margin.store.onnx.exported_detectors import Candidates
from margin.store.onnx.exported_graphs import DenseGraphNetwork
from margin.store.onnx.exported_texts import CachedDecoder, HiddenTokens, Tags, for_any_length
from margin.store.onnx.graph import CannotExport

__all__ = ["NETWORKS", "ExportedNetwork", "NetworkInput", "described_network"]


class NetworkInput(NamedTuple):
    """An input: its name, an example, and the names of the axes of any length; but for rows (n), from ``least`` on."""

    name: str
    example: np.ndarray
    axes: dict[int, str]
    least: int = 1


class ExportedNetwork(NamedTuple):
    """``module`` takes the inputs in order and gives ``outputs``; with classes these are their probabilities."""

    module: nn.Module
    inputs: list[NetworkInput]
    outputs: list[str]
    classes: np.ndarray | None = None


class Predictions(nn.Module):
    """A network whose outputs are targets, (n, k), in the units of the fit; with several networks their mean."""

    def __init__(self, model: Any, body: nn.Module):
        super().__init__()
        self.body, self.several = body, body is not model.module_
        self.linked = model._apply_link
        self.n_targets = len(model.target_center_)
        self.register_buffer("center", torch.as_tensor(np.asarray(model.target_center_, dtype=np.float64)))
        self.register_buffer("scale", torch.as_tensor(np.asarray(model.target_scale_, dtype=np.float64)))

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.linked(self.body(x).double(), self.n_targets)
        outputs = outputs.mean(dim=0) if self.several else outputs
        predictions: Tensor = outputs * self.scale + self.center
        return predictions


class ScaledTable(nn.Module):
    """The networks of a table behind its scaling: rows (n, p) give (networks, n, outputs)."""

    center: Tensor
    scale: Tensor

    def __init__(self, model: Any):
        super().__init__()
        self.body = model.module_
        self.dtype = next(self.body.parameters()).dtype
        if getattr(model, "categories_", {}):
            raise CannotExport(
                f"export_onnx: {type(model).__name__} with columns of categories cannot be exported; in a pipeline "
                "that makes numbers of them it can."
            )
        self.gaps: list[int] = np.flatnonzero(getattr(model, "missing_", [])).tolist()
        self.register_buffer("center", torch.as_tensor(np.asarray(model.center_, dtype=np.float64)))
        self.register_buffer("scale", torch.as_tensor(np.asarray(model.scale_, dtype=np.float64)))

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.isnan(x)
        z = torch.where(hidden, 0.0, (x - self.center) / self.scale)
        u = z / (1 + (z / BOUND).square()).sqrt()
        if self.gaps:
            u = torch.cat([u, hidden[:, self.gaps].to(u)], dim=1)
        out: Tensor = self.body(u.to(self.dtype))
        return out


class MeanProbabilities(nn.Module):
    """The mean over the networks of the probabilities of classes, at a temperature, or of several labels."""

    def __init__(self, rows: ScaledTable, temperature: float, several: bool):
        super().__init__()
        self.rows, self.temperature, self.several = rows, temperature, several

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.rows(x)
        if self.several:
            return torch.sigmoid(outputs).mean(dim=0)
        logs = fused_log_softmax(outputs / self.temperature, dim=2)
        return torch.exp(fused_logsumexp(logs, dim=0) - math.log(outputs.shape[0]))


def _images(model: Any) -> NetworkInput:
    example = np.zeros((2, *model.image_shape_), dtype=model.input_dtype_)
    return NetworkInput("images", example, {0: "n"})


def _of_classes(model: Any, module: nn.Module, inputs: list[NetworkInput]) -> ExportedNetwork:
    """Probabilities of classes with the class, or of several labels."""
    several = getattr(model, "out_activation_", "softmax") == "logistic"
    last = nn.Sigmoid() if several else nn.Softmax(dim=1)
    classes = None if several else model.classes_
    return ExportedNetwork(nn.Sequential(module, last), inputs, ["probabilities"], classes)


def _image_classifier(model: Any) -> ExportedNetwork:
    return _of_classes(model, model.module_, [_images(model)])


def _ids(name: str = "ids") -> NetworkInput:
    return NetworkInput(name, np.ones((2, 5), dtype=np.int64), {0: "n", 1: "length"})


def _text_classifier(model: Any) -> ExportedNetwork:
    return _of_classes(model, for_any_length(model.module_), [_ids()])


def _tagger(model: Any) -> ExportedNetwork:
    module = Tags(model.module_)
    beside = _ids("first_pieces" if module.pieces else "outlines")
    return ExportedNetwork(module, [_ids(), beside], ["scores", *(["first", "between", "last"] * module.chain)])


def _hidden_tokens(model: Any) -> ExportedNetwork:
    if model.module_.segments is None or model.module_.transform is None:
        raise CannotExport(f"export_onnx: {type(model).__name__} without segments or without its head is not exported.")
    segments = NetworkInput("segments", np.zeros((2, 5), dtype=np.int64), {0: "n", 1: "length"})
    return ExportedNetwork(HiddenTokens(model.module_), [_ids(), segments], ["scores", "states"])


def _graph_inputs(model: Any) -> list[NetworkInput]:
    axes = {0: "n", 1: "nodes"}
    width = model.network_["n_features"]
    return [
        NetworkInput("nodes", np.ones((2, 4, width), dtype=np.float32), axes),
        NetworkInput("adjacency", np.ones((2, 4, 4), dtype=np.float32), {**axes, 2: "nodes"}),
        NetworkInput("inside", np.ones((2, 4), dtype=np.bool_), axes),
    ]


class GraphTargets(nn.Module):
    """Outputs (n, 1) for graphs as targets in their units."""

    def __init__(self, body: nn.Module, center: float, scale: float):
        super().__init__()
        self.body, self.center, self.scale = body, center, scale

    def forward(self, nodes: Tensor, adjacency: Tensor, inside: Tensor) -> Tensor:
        out: Tensor = self.body(nodes, adjacency, inside) * self.scale + self.center
        return out


class GraphProbabilities(nn.Module):
    """Probabilities of classes, which are the last axis of what a body gives for graphs or their nodes."""

    def __init__(self, body: nn.Module):
        super().__init__()
        self.body = body

    def forward(self, nodes: Tensor, adjacency: Tensor, inside: Tensor) -> Tensor:
        p = fused_softmax(self.body(nodes, adjacency, inside), dim=-1)
        return p if p.ndim == 2 else p * inside[..., None]  # what fills a graph up has no class


def _graphs(model: Any) -> ExportedNetwork:
    body = DenseGraphNetwork(model.module_, type(model).__name__).float()
    if hasattr(model, "target_center_"):
        module: nn.Module = GraphTargets(body, float(model.target_center_), float(model.target_scale_))
        return ExportedNetwork(module, _graph_inputs(model), ["prediction"])
    of_graphs = model.network_["level"] == "graph"
    return ExportedNetwork(
        GraphProbabilities(body), _graph_inputs(model), ["probabilities"], model.classes_ if of_graphs else None
    )


def _detector(model: Any) -> ExportedNetwork:
    module = Candidates(model.module_, model.network_["architecture"])
    example = np.zeros((2, model.network_["in_channels"], 32, 36), dtype=np.float32)
    images = NetworkInput("images", example, {0: "n", 2: "height", 3: "width"}, least=8)
    return ExportedNetwork(module, [images], ["boxes", "labels", "scores"])


def _image_regressor(model: Any) -> ExportedNetwork:
    return ExportedNetwork(Predictions(model, model.module_), [_images(model)], ["prediction"])


def _rows_of_table(model: Any) -> NetworkInput:
    return NetworkInput("X", np.zeros((2, model.n_features_in_)), {0: "n"})


def _table_classifier(model: Any) -> ExportedNetwork:
    several = getattr(model, "out_activation_", "softmax") == "logistic"
    module = MeanProbabilities(ScaledTable(model), float(model.temperature_), several)
    classes = None if several else model.classes_
    return ExportedNetwork(module, [_rows_of_table(model)], ["probabilities"], classes)


def _table_regressor(model: Any) -> ExportedNetwork:
    return ExportedNetwork(Predictions(model, ScaledTable(model)), [_rows_of_table(model)], ["prediction"])


def _segmenter(model: Any) -> ExportedNetwork:
    side = 2 ** (model.network_["depth"] + 2)
    example = np.zeros((2, model.network_["in_channels"], side, side + 2 ** model.network_["depth"]), dtype=np.float32)
    images = NetworkInput("images", example, {0: "n", 2: "height", 3: "width"}, least=side // 2)
    return ExportedNetwork(nn.Sequential(model.module_, nn.Softmax(dim=1)), [images], ["probabilities"], model.classes_)


def _language_model(model: Any) -> ExportedNetwork:
    config = model.module_.config
    heads = config.n_kv_heads or config.n_heads
    shape = (config.n_blocks, 2, 2, heads, 3, config.d_model // config.n_heads)
    if config.feed_forward == "experts":
        raise CannotExport("export_onnx: LanguageModel with feed_forward 'experts' cannot be exported; others can.")
    ids = NetworkInput("ids", np.ones((2, 4), dtype=np.int64), {0: "n", 1: "length"})
    past = NetworkInput("past", np.zeros(shape, dtype=np.float32), {2: "n", 4: "read"}, least=0)
    return ExportedNetwork(CachedDecoder(model.module_), [ids, past], ["scores", "present"])


#: How an estimator becomes a module, by the name of its class.
NETWORKS = {
    "CNNClassifier": _image_classifier,
    "CNNRegressor": _image_regressor,
    "VisionTransformer": _image_classifier,
    "TextClassifier": _text_classifier,
    "TabularNetClassifier": _table_classifier,
    "TabularNetRegressor": _table_regressor,
    "Segmenter": _segmenter,
    "LanguageModel": _language_model,
    "MaskedLanguageModel": _hidden_tokens,
    "TokenTagger": _tagger,
    "GraphClassifier": _graphs,
    "GraphRegressor": _graphs,
    "NodeClassifier": _graphs,
    "ObjectDetector": _detector,
}


def described_network(model: Any) -> ExportedNetwork:
    """The module of a fitted estimator that is written outside."""
    return NETWORKS[type(model).__name__](model)
