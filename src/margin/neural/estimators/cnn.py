"""What the two convolutional networks for images share: parameters, network, pictures, and the way to training."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn

from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.data.image_arrays import ImageParameters, channel_scaling, check_images
from margin.neural.activations import ACTIVATIONS
from margin.neural.augmentation import Augmentation, parse_augmentation
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.image_input import ImageRows
from margin.neural.nets.image_parts import Standardized
from margin.neural.nets.images import ARCHITECTURES, image_network
from margin.neural.nets.layer_list import parse_layer
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.neural.training.schedules import SCHEDULES
from margin.neural.training.steps import Objective

__all__ = ["CNNEstimator"]

UPDATES_PER_EPOCH = 20  # at least so many for 'auto' batches, so that small sets of images train too
SMALLEST_BATCH, LARGEST_BATCH = 8, 128
BYTE = 255.0


class CNNEstimator(ImageParameters, NeuralEstimator):
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
    activation: str = parameter("relu", Choice(*ACTIVATIONS, search=False), "Function of the hidden units.")
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
    augment: Sequence[str] | None = parameter(
        None,
        Optional(SequenceOf(Text())),
        "Random changes of every training batch, such as ['flip', 'shift 2', 'crop 4', 'cutout 4', 'mixup 0.2'].",
    )
    standardize: bool = parameter(
        True, Flag(), "Whether channels (and the targets of a regression) are brought to mean 0 and deviation 1."
    )
    batch_size: int | str = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=1, search=(16, 256), log=True)),
        "Images per update; 'auto': 8 to 128, such that an epoch has at least 20 updates.",
    )
    learning_rate: str = parameter(
        "cosine",
        Choice("constant", "invscaling", *(name for name in SCHEDULES if name != "constant"), search=False),
        "How the learning rate goes on from learning_rate_init; all but 'constant', 'invscaling' and 'adaptive' fall "
        "over max_iter epochs.",
    )
    learning_rate_init: float = parameter(
        0.003, Number(above=0, search=(1e-4, 1e-2), log=True), "Full learning rate, from which the schedule goes on."
    )
    max_iter: int = parameter(20, Integer(low=1), "Most epochs.")

    input_dtype_: str = attribute("Type of the images in fit: 'uint8' or 'float32'.")

    @property
    def image_shape_(self) -> tuple[int, int, int]:
        """Channels, height and width of the images."""
        c, h, w = self.network_["shape"]
        return c, h, w

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from images ``X`` and ``y``; an image of weight w counts like w images, one of weight 0 not at all."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    @abstractmethod
    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """What is predicted for every image."""

    def predict_files(self, files: Iterable[str | os.PathLike[str]]) -> np.ndarray:
        """Predictions for image files, each brought to the size of the images of the fit.

        A fit on bytes gets bytes, one on numbers gets numbers from 0 to 1.
        """
        check_is_fitted(self)
        from margin.data.image_folder import read_images

        c, h, w = self.image_shape_
        if c not in (1, 3):
            raise ValueError(f"{type(self).__name__}: files have 1 or 3 channels; the images of the fit had {c}.")
        pictures = read_images(list(files), resize=(h, w), color="gray" if c == 1 else "rgb").images
        images = pictures.reshape(len(pictures), h, w, c).transpose(0, 3, 1, 2)
        if self.input_dtype_ == "uint8":
            return self._predict_images(np.ascontiguousarray(images))
        return self._predict_images((images / BYTE).astype(np.float32))

    @abstractmethod
    def _predict_images(self, images: np.ndarray) -> np.ndarray:
        """Predictions for images of the fitted shape, channels first."""

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
        for text in self.augment or ():
            try:
                parse_augmentation(text)
            except ValueError as error:
                raise ValueError(f"{owner}: augment must name {error}.") from None

    def _images(self, X: Any, *, reset: bool) -> np.ndarray:
        fitted = None if reset else self.image_shape_
        return check_images(self, X, self.image_shape, self.channels, fitted=fitted)

    def _network(self) -> nn.Module:
        described = dict(self.network_)
        center, scale = described.pop("center"), described.pop("scale")
        return Standardized(image_network(**described), center, scale)

    def _describe(self, images: np.ndarray, weight: np.ndarray, train: np.ndarray, n_outputs: int) -> None:
        """Set ``network_``; the images numbered ``train`` decide the scaling."""
        named = isinstance(self.architecture, str)
        network: dict[str, Any] = {
            "architecture": self.architecture if named else [str(text) for text in self.architecture],
            "shape": [int(n) for n in images.shape[1:]],
            "n_outputs": n_outputs,
            "activation": self.activation,
            "pooling": self.pooling,
            "width": float(self.width),
            "dropout": None if self.dropout is None else float(self.dropout),
        }
        if self._goes_on():  # the weights belong to the scaling they were learned with
            before = {name: self.network_[name] for name in network if name != "dropout"}
            after = {name: network[name] for name in before}
            if before != after:
                changed = next(name for name in before if before[name] != after[name])
                raise ValueError(
                    f"{type(self).__name__}: warm_start must go on with the network of the last fit, whose {changed} "
                    f"is {before[changed]}; got {after[changed]}."
                )
            center, scale = self.network_["center"], self.network_["scale"]
        elif self.standardize:
            some = len(train) < len(images)
            center, scale = channel_scaling(images[train], weight[train]) if some else channel_scaling(images, weight)
        else:
            unit = BYTE if images.dtype == np.uint8 else 1.0
            center, scale = [0.0] * images.shape[1], [unit] * images.shape[1]
        self.network_ = network | {"center": center, "scale": scale}
        self.input_dtype_ = images.dtype.name

    def _augmented(self, loss: Callable[[Tensor, Tensor], Tensor]) -> Objective:
        """``loss`` per row of the outputs and targets, on changed images while the network learns."""
        change = Augmentation(self.augment) if self.augment else None

        def objective(module: Standardized, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
            X, y = batch
            if change is None or not module.training:
                return {"loss": loss(module(X), y)}
            changed = change(module.prepare(X), noise)
            outputs = module.body(changed.x)
            if changed.partner is None or changed.part is None:
                return {"loss": loss(outputs, y)}
            part = changed.part
            return {"loss": part * loss(outputs, y) + (1 - part) * loss(outputs, y[changed.partner])}

        return objective

    def _rows(self, images: np.ndarray, target: np.ndarray, weight: np.ndarray) -> ImageRows:
        check_consistent_length(images, target)
        return ImageRows.of(images, target, weight=weight)  # type: ignore[return-value]

    def _rows_per_update(self, n_rows: int) -> int:
        if self.batch_size == "auto":
            return min(LARGEST_BATCH, max(SMALLEST_BATCH, n_rows // UPDATES_PER_EPOCH))
        if int(self.batch_size) > n_rows:
            warnings.warn(
                f"{type(self).__name__}: batch_size {self.batch_size} is larger than the {n_rows} training images; "
                "all of them are one batch.",
                stacklevel=2,
            )
        return int(self.batch_size)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what convolutions cost is counted in the first step

    def differentiable(self, X: Any) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        check_is_fitted(self)
        module = self._ready_module()
        x = torch.from_numpy(self._images(X, reset=False)).to(torch.float32)
        return lambda images: self._in_units(module(images)), x

    def _outputs(self, images: np.ndarray) -> np.ndarray:
        """What the last layer gives for checked images."""
        module = self._ready_module()
        rows = ImageRows.of(images)
        with torch.inference_mode(), torch_threads(available()):
            return torch.cat([module(part.tensors[0]) for part in rows.chunks(EVALUATION_ROWS)]).numpy()
