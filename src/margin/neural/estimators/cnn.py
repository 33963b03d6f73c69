"""What the two convolutional networks for images share: their parameters and their network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from margin.core.domains import Choice, Either, Named, Number, Optional, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.parameters import parameter
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.fine_tuning import PretrainedNetwork, image_start
from margin.neural.estimators.image_estimator import ImageEstimator
from margin.neural.estimators.parameters import InitialWeights
from margin.neural.nets.images import ARCHITECTURES, image_network
from margin.neural.nets.layer_list import parse_layer
from margin.neural.normalization.normalizations import IMAGE_NORMS, NORMALIZATIONS, Normalization
from margin.neural.parts import describe

__all__ = ["CNNEstimator"]

USUAL_RATE, SLOW_RATE = 3e-3, 3e-4
ENCODER_PARTS = ("architecture", "width", "activation", "norm", "pooling", "dropout")  # what weights belong to


class CNNEstimator(InitialWeights, ImageEstimator):
    """A convolutional network with the face of an estimator; a subclass says what its outputs and its loss are."""

    architecture: str | Sequence[str] = parameter(
        "lenet-5",
        Either(Choice(*ARCHITECTURES, search=False), SequenceOf(Text(), min_length=1)),
        "Name of a network, or a list of layers such as ['conv 16 3', 'pool 2', 'residual 32 stride=2', 'dense 64'].",
    )
    _: KW_ONLY
    width: float = parameter(
        1.0, Number(above=0), "Factor on the channels and units of a named network; a list of layers has its own."
    )
    activation: str | Activation = parameter(
        "relu",
        Named(Activation, ACTIVATIONS),
        "Activation function of the hidden units, by name or an object like ELU(alpha=0.5).",
    )
    norm: str | Normalization | None = parameter(
        None,
        Optional(Named(Normalization, IMAGE_NORMS)),
        "Normalization behind every convolution, by name or an object like GroupNormalization(groups=4); None: what "
        "the architecture has, batch norm in residual and dense networks and where a list says 'norm'.",
    )
    pooling: str = parameter(
        "max",
        Choice("max", "avg"),
        "Pooling of LeNet, AlexNet, VGG and of 'pool' in a list; residual and dense networks have their own.",
    )
    dropout: float | None = parameter(
        None,
        Optional(Number(low=0, below=1, search=(0, 0.5))),
        "Probability that a unit before the last layer is left out of an update (AlexNet and VGG: before the last "
        "two); None: 0.5 in AlexNet and VGG, else 0.",
    )
    learning_rate_init: float | None = parameter(  # type: ignore[assignment]
        None,
        Optional(Number(above=0, search=(1e-4, 1e-2), log=True)),
        "Initial learning rate of the schedule; None: 0.0003 in AlexNet and VGG, which have no normalization and whose "
        "wide layers do not learn at larger ones, else 0.003.",
    )

    @classmethod
    def from_encoder(cls, encoder: Any, **params: Any) -> Self:
        """A network that begins with what a fitted model of images learned: SimCLR, CLIP or a convolutional network.

        It has the layers of ``encoder`` and a new last one for the ``y`` of ``fit``, whose images have the sizes, the
        channels and the units of those that ``encoder`` saw. ``freeze="encoder"`` keeps what it learned,
        ``layer_rates`` slows it down; ``params`` are parameters of the network.
        """
        if not hasattr(encoder, "as_pretrained"):
            raise ValueError(
                f"{cls.__name__}: encoder must be a fitted SimCLR, CLIP or convolutional network; "
                f"got {type(encoder).__name__}."
            )
        start = encoder.as_pretrained()
        if "layers" not in start.network:
            raise ValueError(f"{cls.__name__}: encoder must read images; got {type(encoder).__name__}.")
        given = {**start.network["layers"], "pretrained": start}
        for name in params.keys() & given.keys():
            raise ValueError(f"{cls.__name__}: {name} is what the encoder has; got {params[name]!r} as well.")
        model = cls(**params, **given)
        model._check_parameters()
        return model

    def as_pretrained(self) -> PretrainedNetwork:
        """What this network has learned, as where the fit of another begins."""
        check_is_fitted(self)
        layers = {name: getattr(self, name) for name in ENCODER_PARTS}
        return image_start(type(self).__name__, layers, self.network_, self.weights_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        if not isinstance(self.architecture, str):
            for text in self.architecture:
                try:
                    parse_layer(text)
                except ValueError as error:
                    raise ValueError(f"{owner}: architecture: {error}.") from None
            if self.width != 1:
                raise ValueError(f"{owner}: width must be 1 where architecture is a list of layers; got {self.width}.")

    def _initial_rate(self) -> float:
        if self.learning_rate_init is not None:
            return float(self.learning_rate_init)
        plain = isinstance(self.architecture, str) and self.architecture.startswith(("alexnet", "vgg"))
        return SLOW_RATE if plain and self.norm is None else USUAL_RATE

    def _description(self, shape: list[int], n_outputs: int) -> dict[str, Any]:
        named = isinstance(self.architecture, str)
        owner = type(self).__name__
        norm = {} if self.norm is None else {"norm": describe(f"{owner}: norm", self.norm, NORMALIZATIONS)}
        return norm | {
            "architecture": self.architecture if named else [str(text) for text in self.architecture],
            "shape": shape,
            "n_outputs": n_outputs,
            "activation": describe(f"{owner}: activation", self.activation, ACTIVATIONS),
            "pooling": self.pooling,
            "width": float(self.width),
            "dropout": None if self.dropout is None else float(self.dropout),
        }

    def _body(self, parts: dict[str, Any]) -> nn.Module:
        return image_network(**parts, initializer=self.initializer)

    def _network(self) -> nn.Module:
        # Channels side by side in memory: convolutions and above all pooling of few channels then run over vectors.
        module = super()._network()
        for weight in module.parameters():
            if weight.ndim == 4:
                weight.data = weight.data.contiguous(memory_format=torch.channels_last)
        return module
