r"""SimCLR (Chen et al. 2020): representations from images without labels.

Two random changes of each image go through an encoder f and a projection head g; NT-Xent pulls
:math:`z = g(f(x))` of the two together and pushes them from those of the other images of the batch. Afterwards the
head is thrown away and :math:`h = f(x)` is the representation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Integer, Number, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.data.image_arrays import ImageParameters, channel_scaling, check_images
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.fine_tuning import PretrainedNetwork, image_start
from margin.neural.estimators.image_input import ImageRows
from margin.neural.estimators.parameters import FALLING_RATE
from margin.neural.nets.image_parts import Standardized
from margin.neural.nets.layer_list import layer_list_network, parse_layer
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.neural.weights import device_of
from margin.optimize.rate_schedules import RateSchedule
from margin.representation.contrastive import nt_xent
from margin.representation.stored import PROJECTED_ENCODER, encoder_is_stored
from margin.representation.views import parse_view_change, two_views

__all__ = ["ProjectedEncoder", "SimCLR", "simclr_network"]


class ProjectedEncoder(nn.Module):
    """Encoder f, a rectifier, and a head g of two layers."""

    def __init__(self, encoder: nn.Module, n_features: int, n_projected: int):
        super().__init__()
        self.encoder = encoder
        hidden = nn.Linear(n_features, n_features)
        self.head = nn.Sequential(nn.ReLU(), hidden, nn.ReLU(), nn.Linear(n_features, n_projected))

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x)


def simclr_network(described: Mapping[str, Any]) -> Standardized:
    """The network that the attribute ``network_`` of a :class:`SimCLR` describes."""
    c, h, w = described["shape"]
    encoder = layer_list_network(described["encoder"], (c, h, w), described["n_components"])
    body = ProjectedEncoder(encoder, described["n_components"], described["n_projected"])
    return Standardized(body, described["center"], described["scale"])


class SimCLR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ImageParameters, NeuralEstimator):
    """Representations of images from two views of each, without labels.

    ``transform`` gives the representation h, ``project`` what the loss sees; for what follows h is the better one.

    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().images[:64]
    >>> model = SimCLR(["conv 8 3", "global-avg-pool"], n_components=16, max_iter=2, random_state=0).fit(X)
    >>> model.transform(X).shape, model.project(X).shape
    ((64, 16), (64, 16))
    """

    _whole_batch = "its loss compares every row of a batch with all others"

    encoder: Sequence[str] = parameter(
        ("conv 16 3", "pool 2", "conv 32 3", "pool 2"),
        SequenceOf(Text(), min_length=1),
        "Layers of the encoder, written as for CNNClassifier; a dense layer of n_components units follows.",
    )
    _: KW_ONLY
    n_components: int = parameter(64, Integer(low=1), "Numbers of a representation.")
    n_projected: int = parameter(16, Integer(low=1), "Numbers behind the projection head.")
    temperature: float = parameter(
        0.1,
        Number(above=0, search=(0.05, 1.0), log=True),
        "By which similarities are divided; the lower, the more the nearest negatives count.",
    )
    augment: Sequence[str] = parameter(
        ("shift 1", "crop 2", "noise 0.1"),
        SequenceOf(Text()),
        "Random changes that make a view: flip, shift, crop, cutout, noise, contrast, blur, each with a strength.",
    )
    batch_size: int | str = parameter(
        128,
        Either(Choice("auto"), Integer(low=1, search=(32, 512), log=True)),
        "Images per update: all others of the batch are the negatives of a view; 'auto' is min(200, number of rows).",
    )
    learning_rate: str | RateSchedule = FALLING_RATE
    learning_rate_init: float = parameter(
        0.003, Number(above=0, search=(1e-4, 1e-2), log=True), "Initial learning rate of the schedule."
    )
    max_iter: int = default(30, "Most epochs.")

    network_: dict[str, Any] = attribute(PROJECTED_ENCODER)
    _stored_rules = (encoder_is_stored,)

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from images ``X``, yielding records; ``state`` continues a fit exactly. ``y`` is not used."""
        self._check_parameters()
        images = check_images(self, X, self.image_shape, self.channels)
        seed = self._seed(state)
        train, valid = self._split(len(images), seed)
        if not self._goes_on():
            center, scale = channel_scaling(images, np.ones(len(images)), train)
            self.network_ = {
                "encoder": [str(text) for text in self.encoder],
                "shape": [int(n) for n in images.shape[1:]],
                "n_components": int(self.n_components),
                "n_projected": int(self.n_projected),
                "center": center,
                "scale": scale,
            }
        yield from self._train(self._loss, ImageRows.of(images), train, valid, seed=seed, state=state)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """The representation h of every image."""
        return self._encode(X, project=False)

    def project(self, X: MatrixLike) -> np.ndarray:
        """What the projection head makes of the representation: what the loss compares."""
        return self._encode(X, project=True)

    def as_pretrained(self) -> PretrainedNetwork:
        """The encoder as where a fit begins: ``CNNClassifier.from_encoder(model)``."""
        check_is_fitted(self)
        layers = {"architecture": [*self.network_["encoder"], f"dense {self.network_['n_components']}"]}
        return image_start("SimCLR", layers, self.network_, self.weights_, "body.encoder.")

    def export(self) -> nn.Module:
        """The trained encoder alone, a torch module from images (N, C, H, W) to representations."""
        module: Any = self._ready_module()
        exported = Standardized(module.body.encoder, self.network_["center"], self.network_["scale"])
        return exported.to(device_of(module)).eval()

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        check_is_fitted(self)
        return self._ready_module(), torch.from_numpy(self._images(X)).to(next(self._ready_module().parameters()))

    def _images(self, X: Any) -> np.ndarray:
        return check_images(self, X, self.image_shape, self.channels, fitted=self.network_["shape"])

    def _encode(self, X: Any, project: bool) -> np.ndarray:
        check_is_fitted(self)
        module: Any = self._ready_module()
        images = self._images(X)
        parts = self._compute_predictions().rows(ImageRows.of(images)).chunks(EVALUATION_ROWS)
        with torch.inference_mode(), torch_threads(available()):
            codes = torch.cat([module(part.tensors[0]) for part in parts])
            return (module.body.head(codes) if project else codes).numpy(force=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.network_["n_components"]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for parse, name in ((parse_layer, "encoder"), (parse_view_change, "augment")):
            for text in getattr(self, name):
                try:
                    parse(text)
                except ValueError as error:
                    raise ValueError(f"SimCLR: {name} must name {error}.") from None

    def _network(self) -> nn.Module:
        return simclr_network(self.network_)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what convolutions cost is counted in the first step

    def _loss(self, module: Any, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
        views = two_views(module.prepare(batch[0]), self.augment, noise)
        body = module.body
        losses = nt_xent(body.head(body.encoder(torch.cat(views))), self.temperature)
        return {"loss": losses.reshape(2, -1).mean(dim=0)}  # of both views of an image
