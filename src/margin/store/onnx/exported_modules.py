"""What networks give outside: a torch module around each, its inputs by name, and their axes of any length."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp
from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.masks import causal_mask
from margin.neural.attention.positions import LearnedPositions
from margin.neural.nets.transformer import DecoderTransformer
from margin.neural.robust_scaling import BOUND
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


class TableNetwork(nn.Module):
    """The networks of a table behind its scaling: rows (n, p) give (networks, n, outputs)."""

    center: Tensor
    scale: Tensor

    def __init__(self, model: Any):
        super().__init__()
        self.body = model.module_
        self.dtype = next(self.body.parameters()).dtype
        self.register_buffer("center", torch.as_tensor(np.asarray(model.center_, dtype=np.float64)))
        self.register_buffer("scale", torch.as_tensor(np.asarray(model.scale_, dtype=np.float64)))

    def forward(self, x: Tensor) -> Tensor:
        z = (x - self.center) / self.scale
        out: Tensor = self.body((z / (1 + (z / BOUND).square()).sqrt()).to(self.dtype))
        return out


class MeanProbabilities(nn.Module):
    """The mean over the networks of the probabilities of classes, at a temperature."""

    def __init__(self, rows: TableNetwork, temperature: float):
        super().__init__()
        self.rows, self.temperature = rows, temperature

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.rows(x)
        logs = fused_log_softmax(outputs / self.temperature, dim=2)
        return torch.exp(fused_logsumexp(logs, dim=0) - math.log(outputs.shape[0]))


class CachedDecoder(nn.Module):
    """Tokens (n, t) after those with keys and values ``past`` (layers, 2, n, heads, p, d_head): scores, all of these.

    The masks are made here, for any t and p, so the blocks make none.
    """

    def __init__(self, module: DecoderTransformer):
        super().__init__()
        self.body = copy.deepcopy(module)  # which goes on to make masks for the estimator
        for block in self.body.stack.blocks:
            block.causal = False  # type: ignore[assignment]

    def forward(self, ids: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        body, cache = self.body, KeyValueCache()
        for layer in range(len(body.stack.blocks)):
            cache.layers[layer] = past[layer, 0], past[layer, 1]
        start = past.shape[-2]
        mask = causal_mask(ids.shape[1], start + ids.shape[1], ids.device)
        h = body.stack(body.embedding(ids, start), mask=mask, cache=cache)
        weight = body.embedding.tokens.weight if body.head is None else body.head.weight
        present = torch.stack([torch.stack(cache.layers[layer]) for layer in range(len(body.stack.blocks))])
        return nn.functional.linear(h, weight), present


def _images(model: Any) -> NetworkInput:
    example = np.zeros((2, *model.image_shape_), dtype=model.input_dtype_)
    return NetworkInput("images", example, {0: "n"})


def _image_classifier(model: Any) -> ExportedNetwork:
    module = nn.Sequential(model.module_, nn.Softmax(dim=1))
    return ExportedNetwork(module, [_images(model)], ["probabilities"], model.classes_)


def _text_classifier(model: Any) -> ExportedNetwork:
    if model.network_["architecture"] == "rnn":
        raise CannotExport(
            "export_onnx: TextClassifier with architecture 'rnn' cannot be exported: it reads packed sequences."
        )
    ids = NetworkInput("ids", np.ones((2, 5), dtype=np.int64), {0: "n", 1: "length"})
    module = nn.Sequential(model.module_, nn.Softmax(dim=1))
    return ExportedNetwork(module, [ids], ["probabilities"], model.classes_)


def _image_regressor(model: Any) -> ExportedNetwork:
    return ExportedNetwork(Predictions(model, model.module_), [_images(model)], ["prediction"])


def _rows_of_table(model: Any) -> NetworkInput:
    return NetworkInput("X", np.zeros((2, model.n_features_in_)), {0: "n"})


def _table_classifier(model: Any) -> ExportedNetwork:
    module = MeanProbabilities(TableNetwork(model), float(model.temperature_))
    return ExportedNetwork(module, [_rows_of_table(model)], ["probabilities"], model.classes_)


def _table_regressor(model: Any) -> ExportedNetwork:
    return ExportedNetwork(Predictions(model, TableNetwork(model)), [_rows_of_table(model)], ["prediction"])


def _segmenter(model: Any) -> ExportedNetwork:
    side = 2 ** (model.network_["depth"] + 2)
    example = np.zeros((2, model.network_["in_channels"], side, side + 2 ** model.network_["depth"]), dtype=np.float32)
    images = NetworkInput("images", example, {0: "n", 2: "height", 3: "width"}, least=side // 2)
    return ExportedNetwork(nn.Sequential(model.module_, nn.Softmax(dim=1)), [images], ["probabilities"], model.classes_)


def _language_model(model: Any) -> ExportedNetwork:
    config = model.module_.config
    heads = config.n_kv_heads or config.n_heads
    shape = (config.n_blocks, 2, 2, heads, 3, config.d_model // config.n_heads)
    if isinstance(model.module_.embedding.positions, LearnedPositions) or config.position in ("alibi", "relative"):
        raise CannotExport(
            f"export_onnx: LanguageModel with position {config.position!r} cannot be exported with its cache; 'rope', "
            "'sinusoidal' and 'none' can."
        )
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
}


def described_network(model: Any) -> ExportedNetwork:
    """The module of a fitted estimator that is written outside."""
    return NETWORKS[type(model).__name__](model)
