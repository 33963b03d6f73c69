"""What networks for images share, whatever they are built from: pictures in, augmentation, and the way to training."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.domains import Flag, Number, Optional, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import StringOf
from margin.core.notices import warn_user
from margin.core.parameters import attribute, default, parameter
from margin.core.threads import available, torch_threads
from margin.data.image_arrays import ImageParameters, channel_scaling, check_images, tell_of_other_units
from margin.neural.augmentation import Augmentation, parse_augmentation
from margin.neural.estimators.fine_tuning import FineTuning
from margin.neural.estimators.image_input import ImageRows
from margin.neural.estimators.own_validation import JudgedEstimator
from margin.neural.estimators.parameters import SEARCHED_RATES, RegularizedWeights, learning_rates
from margin.neural.nets.image_parts import Standardized
from margin.neural.stored import IMAGES, image_network_is_stored
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.neural.training.steps import Objective
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["ImageEstimator"]

UPDATES_PER_EPOCH = 20  # at least so many for 'auto' batches, so that small sets of images train too
SMALLEST_BATCH, LARGEST_BATCH = 8, 128
BYTE = 255.0


class ImageEstimator(ImageParameters, RegularizedWeights, JudgedEstimator, FineTuning):
    """A network for images with the face of an estimator.

    A subclass says what the network is (:meth:`_description`, :meth:`_body`), what it
    puts out and what its loss is.
    """

    _: KW_ONLY
    augment: Sequence[str] | None = parameter(
        None,
        Optional(SequenceOf(Text())),
        "Random changes of every training batch: 'flip', 'flip-vertical', 'shift 2', 'crop 4', 'rotate 15', "
        "'noise 0.1', 'color 0.2', 'cutout 4', 'mixup 0.2'.",
    )
    standardize: bool = parameter(
        True, Flag(), "Whether channels (and the targets of a regression) are brought to mean 0 and deviation 1."
    )
    batch_size: int | str = default(
        "auto", "Images per update; 'auto': 8 to 128, such that an epoch has at least 20 updates."
    )
    learning_rate: str | RateSchedule = parameter(
        "cosine",
        learning_rates(*SEARCHED_RATES, search=False),
        "Schedule of the learning rate, which starts at learning_rate_init; all but 'constant', 'invscaling' and "
        "'adaptive' fall over max_iter epochs.",
    )
    learning_rate_init: float = parameter(
        0.003, Number(above=0, search=(1e-4, 1e-2), log=True), "Initial learning rate of the schedule."
    )
    max_iter: int = default(20, "Most epochs.")

    input_dtype_: str = attribute(StringOf(("uint8", "float32")), "Type of the images in fit: 'uint8' or 'float32'.")
    network_: dict[str, Any] = attribute(IMAGES)
    _stored_rules = (image_network_is_stored,)

    @property
    def image_shape_(self) -> tuple[int, int, int]:
        """Channels, height and width of the images."""
        c, h, w = self.network_["shape"]
        return c, h, w

    @abstractmethod
    def predict(self, X: MatrixLike) -> np.ndarray:
        """What is predicted for every image."""

    def predict_files(self, files: Iterable[str | os.PathLike[str]]) -> np.ndarray:
        """Predictions for image files, each brought to the size of the images of the fit.

        A fit on bytes gets bytes, one on numbers gets numbers from 0 to 1.
        """
        return self._predict_images(self._images_of_files(files))

    def _images_of_files(self, files: Iterable[str | os.PathLike[str]]) -> np.ndarray:
        """Image files as images of the fit: their size, channels first, bytes or numbers."""
        check_is_fitted(self)
        from margin.data.image_folder import read_images

        c, h, w = self.image_shape_
        if c not in (1, 3):
            raise ValueError(f"{type(self).__name__}: files have 1 or 3 channels; the images of the fit had {c}.")
        pictures = read_images(list(files), resize=(h, w), color="gray" if c == 1 else "rgb").images
        images = pictures.reshape(len(pictures), h, w, c).transpose(0, 3, 1, 2)
        if self.input_dtype_ == "uint8":
            return np.ascontiguousarray(images)
        return (images / BYTE).astype(np.float32)

    @abstractmethod
    def _predict_images(self, images: np.ndarray) -> np.ndarray:
        """Predictions for images of the fitted shape, channels first."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for text in self.augment or ():
            try:
                parse_augmentation(text)
            except ValueError as error:
                raise ValueError(f"{type(self).__name__}: augment must name {error}.") from None

    @abstractmethod
    def _description(self, shape: list[int], n_outputs: int) -> dict[str, Any]:
        """Plain values from which :meth:`_body` builds the network for images of ``shape``."""

    @abstractmethod
    def _body(self, described: dict[str, Any]) -> nn.Module:
        """The network behind the standardized images."""

    def _images(self, X: Any, *, reset: bool) -> np.ndarray:
        fitted = None if reset else self.image_shape_
        return check_images(self, X, self.image_shape, self.channels, fitted=fitted, read_only=True)

    def _network(self) -> nn.Module:
        described = dict(self.network_)
        center, scale = described.pop("center"), described.pop("scale")
        return Standardized(self._body(described), center, scale)

    def _describe(self, images: np.ndarray, weight: np.ndarray, train: np.ndarray, n_outputs: int) -> None:
        """Set ``network_``; the images numbered ``train`` decide the scaling."""
        network = self._description([int(n) for n in images.shape[1:]], n_outputs)
        if self._goes_on():  # the weights belong to the scaling they were learned with
            before, after = _weighted_parts(self.network_), _weighted_parts(network)
            if before != after:
                changed = next(name for name in {**before, **after} if before.get(name) != after.get(name))
                raise ValueError(
                    f"{type(self).__name__}: warm_start must go on with the network of the last fit, whose {changed} "
                    f"is {before.get(changed)}; got {after.get(changed)}."
                )
            center, scale = self.network_["center"], self.network_["scale"]
        elif self.pretrained is not None:  # which knows the scaling it was trained with
            unit = BYTE if images.dtype == np.uint8 and not self.pretrained.same_units else 1.0
            center, scale = ([unit * value for value in self.pretrained.network[name]] for name in ("center", "scale"))
            if self.pretrained.same_units:
                self._check_start(images[train], self.pretrained.network)
        elif self.standardize:
            center, scale = channel_scaling(images, weight, train)
        else:
            unit = BYTE if images.dtype == np.uint8 else 1.0
            center, scale = [0.0] * images.shape[1], [unit] * images.shape[1]
        self.network_ = network | {"center": center, "scale": scale}
        self.input_dtype_ = images.dtype.name

    def _check_start(self, images: np.ndarray, encoder: Mapping[str, Any]) -> None:
        """Refuse images of other sizes than those that the encoder learned from; tell of other units."""
        if list(images.shape[1:]) != list(encoder["shape"]):
            raise ValueError(
                f"{type(self).__name__}: X must have images of the encoder, (channels, height, width) "
                f"{tuple(encoder['shape'])}; got {images.shape[1:]}."
            )
        tell_of_other_units(type(self).__name__, images, encoder)

    def _augment_loss(self, loss: Callable[..., Tensor]) -> Objective:
        """``loss`` per row of the outputs and targets, on changed images while the network learns."""
        change = Augmentation(self.augment) if self.augment else None

        def objective(module: Standardized, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
            X, y = batch
            if change is None or not module.training:
                return {"loss": loss(module(X), y, module.training)}
            changed = change(module.prepare(X), noise)
            outputs = module.body(changed.x)
            if changed.partner is None or changed.part is None:
                return {"loss": loss(outputs, y)}
            part = changed.part
            return {"loss": part * loss(outputs, y) + (1 - part) * loss(outputs, y[changed.partner])}

        return objective

    def _rows(self, images: np.ndarray, target: np.ndarray, weight: np.ndarray) -> ImageRows:
        check_consistent_length(images, target)
        return ImageRows.of(images, target, weight=weight)

    def _rows_per_update(self, n_rows: int) -> int:
        if self.batch_size == "auto":
            return min(LARGEST_BATCH, max(SMALLEST_BATCH, n_rows // UPDATES_PER_EPOCH))
        if int(self.batch_size) > n_rows:
            warn_user(
                f"{type(self).__name__}: batch_size {self.batch_size} is larger than the {n_rows} training images; "
                "all of them are one batch."
            )
        return int(self.batch_size)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what convolutions cost is counted in the first step

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        check_is_fitted(self)
        module = self._ready_module()
        images = np.require(self._images(X, reset=False), requirements=["W"])
        x = torch.from_numpy(images).to(next(module.parameters()))
        return lambda images: self._in_units(module(images)), x

    def _outputs(self, images: np.ndarray) -> np.ndarray:
        """What the last layer gives for checked images."""
        module = self._ready_module()
        rows = self._compute_predictions().rows(ImageRows.of(images))
        with torch.inference_mode(), torch_threads(available()):
            return torch.cat([module(part.tensors[0]) for part in rows.chunks(EVALUATION_ROWS)]).numpy(force=True)


def _weighted_parts(network: Mapping[str, Any]) -> dict[str, Any]:
    """What decides which weights a network has, without its dropout and the scaling before it."""
    flat = {**network, **network.get("config", {})}
    return {name: value for name, value in flat.items() if name not in ("dropout", "config", "center", "scale")}
