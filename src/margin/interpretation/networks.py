"""What a fitted network looked at, asked of the estimator: attributions of the inputs to one of its outputs.

| method | result | for |
|---|---|---|
| ``"integrated-gradients"`` | what every input adds to the output, beside a baseline | tables, images, series |
| ``"occlusion"`` | by how much the output falls where a square (a column of a table) is painted over | tables, images |
| ``"grad-cam"`` | where the last feature maps raise the output | convolutional networks |
| ``"cam"`` | the same by the weights themselves | networks that end with average pooling and one dense layer |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.interpretation.attribution import (
    class_activation_map,
    grad_cam,
    integrated_gradients,
    occlusion,
    resize_map,
)
from margin.neural.convolution.layers import GlobalAvgPool
from margin.neural.estimators.base import NeuralEstimator

__all__ = ["ATTRIBUTIONS", "attribute_inputs", "last_maps"]


def attribute_inputs(
    model: NeuralEstimator, X: MatrixLike, label: Any = None, method: str = "integrated-gradients", **options: Any
) -> np.ndarray:
    """Attributions of the inputs ``X`` of a fitted network to the output ``label``.

    ``label`` is a class of a classifier, the number of a target or component otherwise, or one of them per row; None is
    the class with the largest score, or the first target. ``options`` are those of the method
    (:mod:`~margin.interpretation.attribution`): ``baseline`` and ``steps``; ``size``, ``stride`` and ``value``. The
    result of "integrated-gradients" has a number per input, (n, p) or (n, channels, h, w); "grad-cam" and "cam" give
    maps (n, h, w) in the size of the images.

    >>> from margin.neural import MLPRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> model = MLPRegressor((8,), max_iter=30, learning_rate_init=0.02, random_state=0).fit(X, 3 * X[:, 0])
    >>> added = attribute_inputs(model, X[:1])
    >>> zero = model.predict(np.zeros((1, 2)))
    >>> bool(np.isclose(added.sum(), model.predict(X[:1]) - zero, rtol=1e-2)[0])  # they add up to the difference
    True
    """
    if not isinstance(model, NeuralEstimator):
        raise TypeError(f"attribute_inputs: model must be one of the networks; got {type(model).__name__}.")
    if method not in ATTRIBUTIONS:
        raise ValueError(f"attribute_inputs: method must be one of {', '.join(ATTRIBUTIONS)}; got {method!r}.")
    outputs, x = model.differentiable(X)
    module = model._ready_module()
    learns = [weight for weight in module.parameters() if weight.requires_grad]
    network = _Function(module, outputs).requires_grad_(False)
    try:
        return ATTRIBUTIONS[method](network, x, _labels(model, network, x, label), **options).numpy(force=True)
    finally:  # a fit that is watched goes on learning with the same weights
        for weight in learns:
            weight.requires_grad_(True)


class _Function(nn.Module):
    """The outputs of an estimator as a module whose parts are those of its network."""

    def __init__(self, module: nn.Module, outputs: Callable[[Tensor], Tensor]):
        super().__init__()
        self.module, self.outputs = module, outputs

    def forward(self, x: Tensor) -> Tensor:
        return self.outputs(x)


def _labels(model: Any, network: nn.Module, x: Tensor, label: Any) -> Tensor:
    """Numbers (n,) of the requested outputs."""
    with torch.no_grad():
        scores = network(x)
    classes = getattr(model, "classes_", None)
    if label is None:
        return scores.argmax(dim=1) if classes is not None else torch.zeros(len(x), dtype=torch.int64, device=x.device)
    labels = np.broadcast_to(np.asarray(label), (len(x),)) if np.ndim(label) == 0 else np.asarray(label)
    known = np.arange(scores.shape[1]) if classes is None or len(classes) != scores.shape[1] else classes
    if labels.shape != (len(x),) or not np.isin(labels, known).all():
        raise ValueError(
            f"attribute_inputs: label must be one of {known.tolist()}, or one per row of X; got {label!r}."
        )
    return torch.from_numpy(np.searchsorted(known, labels)).to(x.device)


def _integrate(network: nn.Module, x: Tensor, label: Tensor, **options: Any) -> Tensor:
    return integrated_gradients(network, x, label, **options)


def _occlude(network: nn.Module, x: Tensor, label: Tensor, **options: Any) -> Tensor:
    if x.ndim == 4:
        return occlusion(network, x, label, **options)
    if x.ndim != 2:
        raise ValueError(f"attribute_inputs: 'occlusion' takes tables and images; got rows of shape {x.shape[1:]}.")
    columns = occlusion(lambda rows: network(rows[:, 0, 0]), x[:, None, None], label, size=1, **options)
    return columns[:, 0]


def _grad_cam(network: nn.Module, x: Tensor, label: Tensor) -> Tensor:
    return resize_map(grad_cam(network, last_maps(network, x), x, label), *_size(x))


def _cam(network: nn.Module, x: Tensor, label: Tensor) -> Tensor:
    layers = [layer for layer in network.modules() if not list(layer.children())]
    if len(layers) < 2 or not isinstance(layers[-1], nn.Linear) or not isinstance(layers[-2], GlobalAvgPool):
        raise ValueError("attribute_inputs: 'cam' needs a network that ends with global-avg-pool and its outputs.")
    maps: list[Tensor] = []
    hook = layers[-2].register_forward_pre_hook(lambda _layer, inputs: maps.append(inputs[0]))
    try:
        with torch.no_grad():
            network(x)
    finally:
        hook.remove()
    return resize_map(class_activation_map(maps[0], layers[-1].weight, label), *_size(x))


def _size(x: Tensor) -> tuple[int, int]:
    return int(x.shape[2]), int(x.shape[3])


def last_maps(network: nn.Module, x: Tensor) -> nn.Module:
    """The last layer that gives feature maps of more than one position for images ``x``."""
    layers: list[nn.Module] = []

    def note(layer: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.ndim == 4 and output.shape[2] * output.shape[3] > 1:
            layers.append(layer)

    hooks = [layer.register_forward_hook(note) for layer in network.modules() if not list(layer.children())]
    try:
        with torch.no_grad():
            network(x[:1])
    finally:
        for hook in hooks:
            hook.remove()
    if not layers:
        raise ValueError("attribute_inputs: 'grad-cam' needs a network with feature maps; got one without.")
    return layers[-1]


ATTRIBUTIONS: dict[str, Callable[..., Tensor]] = {
    "integrated-gradients": _integrate,
    "occlusion": _occlude,
    "grad-cam": _grad_cam,
    "cam": _cam,
}
