r"""Convolutional network for classes of images: softmax and cross-entropy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch

from margin.neural.estimators.cnn import CNNEstimator
from margin.neural.estimators.fine_tuning import PretrainedNetwork
from margin.neural.estimators.image_classifier import ImageClassifier
from margin.neural.nets.image_parts import Standardized
from margin.neural.torchvision_layout import IMAGENET_CENTER, IMAGENET_SCALE, TORCHVISION, read_torchvision

__all__ = ["CNNClassifier"]


class CNNClassifier(ImageClassifier, CNNEstimator):
    """Convolutional network for classes of images.

    Images are arrays (n, h, w), (n, h, w, c) or (n, c, h, w), bytes or numbers, or flat rows with ``image_shape``. They
    are stored as they come and standardized batch by batch. The network is a named one (``architecture="resnet-20"``;
    ``width`` makes it narrower) or a list of layers, cut to the size of the images where these are small.
    :meth:`from_torchvision` begins with weights that someone else trained.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CNNClassifier(["conv 16 3", "pool 2", "dense 32"], max_iter=10, random_state=0)
    >>> model.fit(X[:1000].reshape(-1, 8, 8), y[:1000]).score(X[1000:].reshape(-1, 8, 8), y[1000:]) > 0.88
    True
    >>> model.image_shape_
    (1, 8, 8)
    """

    @classmethod
    def from_torchvision(
        cls,
        source: str | os.PathLike[str] | Mapping[str, torch.Tensor],
        architecture: str,
        *,
        image_size: int = 224,
        classes: Sequence[Any] | None = None,
        **params: Any,
    ) -> Self:
        """A classifier that begins with weights in torchvision's names: ``"resnet18"``, ``"densenet121"``, ``"vgg16"``.

        ``source`` is a state dict, a ``.safetensors`` file, or a file of torch, of which only tensors are read.
        ``image_size`` is the side of the images to come, of three channels. With the names of its ``classes`` the
        classifier is fitted, on bytes, and predicts at once; ``fit`` replaces the last layer for the classes of ``y``.
        ``params`` are parameters of the classifier; the rate of its steps is small by default.
        """
        owner = cls.__name__
        if architecture not in TORCHVISION:
            raise ValueError(f"{owner}: architecture must be one of {', '.join(TORCHVISION)}; got {architecture!r}.")
        if not isinstance(image_size, int) or image_size < 64:
            raise ValueError(f"{owner}: image_size must be an integer from 64 on; got {image_size!r}.")
        given = {"architecture": TORCHVISION[architecture][0], "pretrained": None}
        for name in params.keys() & given.keys():
            raise ValueError(f"{owner}: {name} is what from_torchvision sets; got {params[name]!r} as well.")
        model = cls(**{"learning_rate_init": 1e-4, "max_iter": 5, **params, **given})
        model._check_parameters()
        n_outputs = 2 if classes is None else len(classes)
        described = model._description([3, image_size, image_size], n_outputs)
        scaling = {"center": list(IMAGENET_CENTER), "scale": list(IMAGENET_SCALE)}
        with torch.device("meta"):
            module = Standardized(model._body(described), **scaling)
        weights = read_torchvision(source, architecture, module, owner)
        model.pretrained = PretrainedNetwork(architecture, described | scaling, weights)
        if classes is not None:
            model._adopt(np.asarray(classes), weights, module)
        return model

    def _adopt(self, classes: np.ndarray, weights: Mapping[str, np.ndarray], module: torch.nn.Module) -> None:
        """Be fitted with the pretrained weights, whose last layer has one row for each of ``classes``."""
        assert self.pretrained is not None
        missing = sorted(module.state_dict().keys() - weights.keys())
        order = np.argsort(classes, kind="stable")
        if missing or len(np.unique(classes)) < len(classes):
            raise ValueError(
                f"{type(self).__name__}: classes must name each output of the network once; got {len(classes)} names."
            )
        last = [name for name in weights if name.startswith(list(weights)[-1].rpartition(".")[0] + ".")]
        self.classes_ = classes[order]
        self.weights_ = {name: array[order] if name in last else array.copy() for name, array in weights.items()}
        network = dict(self.pretrained.network)
        self.network_ = network | {name: [255.0 * value for value in network[name]] for name in ("center", "scale")}
        self.input_dtype_, self.n_features_in_ = "uint8", int(np.prod(network["shape"]))
        self._begin_counts()
