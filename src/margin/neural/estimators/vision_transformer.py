"""Transformer over patches for classes of images."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict
from pathlib import Path
from typing import Any, Self

from torch import nn

from margin.core.arguments import refuse_told_twice
from margin.core.domains import Integer, Number
from margin.core.parameters import attribute, default, parameter
from margin.neural.attention.config import TransformerConfig
from margin.neural.estimators.fine_tuning import PretrainedNetwork
from margin.neural.estimators.image_classifier import ImageClassifier
from margin.neural.estimators.image_estimator import BYTE
from margin.neural.estimators.pixel_scaling import read_scaling, write_scaling
from margin.neural.estimators.transformer_parameters import BlockParameters
from margin.neural.nets.vision_transformer import ViT
from margin.neural.stored import PATCHES, patch_network_is_stored
from margin.neural.transformers_layout import load_transformers, save_transformers
from margin.neural.transformers_layout.folder import name_classes
from margin.neural.weights import copy_weights
from margin.optimize.rules import Rule

__all__ = ["VisionTransformer"]

SIZES = ("d_model", "n_heads", "n_blocks", "d_ff", "norm", "qk_norm", "activation", "feed_forward")


class VisionTransformer(BlockParameters, ImageClassifier):
    r"""Transformer encoder over the patches of an image, for its class.

    An image is cut into squares of ``patch_size`` pixels (padded where they do not fit); each is projected to a token,
    learned positions are added, and the class is read off a token in front of them. Images are given as to
    :class:`CNNClassifier`. :meth:`from_transformers` begins with a pretrained network; :meth:`to_transformers` writes
    one.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VisionTransformer(2, d_model=32, n_blocks=2, max_iter=8, random_state=0)
    >>> model.fit(X[:1000].reshape(-1, 8, 8), y[:1000]).score(X[1000:].reshape(-1, 8, 8), y[1000:]) > 0.85
    True
    >>> model.network_["n_outputs"], model.image_shape_
    (10, (1, 8, 8))
    """

    patch_size: int = parameter(4, Integer(low=1, search=(2, 16), log=True), "Side of the squares that are tokens.")
    _: KW_ONLY
    d_model: int = parameter(64, Integer(low=1, search=(32, 256), log=True), "Width of a token's vector.")
    activation: str = default("gelu")
    solver: str | Rule = default("adamw", "Optimizer; 'muon' moves hidden matrices and AdamW the rest.")
    alpha: float = parameter(
        0.05, Number(low=0, search=(1e-3, 0.3), log=True), "Weight decay of 'adamw' and 'muon'; L2 penalty of others."
    )
    warmup: float = default(0.1, "Fraction of all updates in which the rate rises.")
    clip_norm: float | None = default(1.0, "Bound on the norm of the whole gradient.")

    network_: dict[str, Any] = attribute(PATCHES)
    _stored_rules = (patch_network_is_stored,)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._config(position="none")  # says which sizes do not fit together

    def _description(self, shape: list[int], n_outputs: int) -> dict[str, Any]:
        if self.pretrained is not None:
            return self._further(self.pretrained.network, shape, n_outputs)
        config = self._config(position="none")
        return {"shape": shape, "n_outputs": n_outputs, "patch": int(self.patch_size), "config": asdict(config)}

    def _body(self, described: dict[str, Any]) -> nn.Module:
        channels, height, width = described["shape"]
        config = TransformerConfig(**described["config"])
        return ViT((channels, height, width), described["patch"], described["n_outputs"], config)

    @classmethod
    def from_transformers(cls, folder: str | os.PathLike[str], **params: Any) -> Self:
        """A classifier that begins with the ViT of a folder that transformers wrote.

        The folder has ``config.json``, ``model.safetensors`` and, for the scaling of the pixels,
        ``preprocessor_config.json``; nothing in it is executed. ``fit`` takes images of the size that the folder says,
        replaces the last layer for the classes of ``y`` and trains in small steps; ``params`` are parameters of the
        classifier.
        """
        folder, owner = Path(folder), cls.__name__
        module = load_transformers(folder)
        if not isinstance(module, ViT):
            raise ValueError(f"{owner}: {folder} must hold a ViT; it holds a {type(module).__name__}.")
        config = asdict(module.stack.blocks[0].config)  # type: ignore[call-overload]
        network = {
            "shape": list(module.shape), "n_outputs": module.head.out_features, "patch": module.patch, "config": config,
            **read_scaling(folder, module.shape[0], owner),
        }  # fmt: skip
        weights = {f"body.{name}": array for name, array in copy_weights(module).items()}
        given = {name: config[name] for name in SIZES} | {"patch_size": module.patch}
        given["pretrained"] = PretrainedNetwork(str(folder), network, weights)
        refuse_told_twice(owner, params, given.keys())
        return cls(**{"learning_rate_init": 5e-5, "max_iter": 3, "dropout": config["dropout"], **params, **given})

    def to_transformers(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder from which transformers builds this classifier, with the scaling of its pixels.

        Its blocks must be those of ViT, as in a network of :meth:`from_transformers`, and its images square.
        """
        module: Any = self._ready_module()
        labels = [str(label) for label in self.classes_]
        folder = save_transformers(module.body, folder)
        name_classes(folder, labels)
        write_scaling(folder, self.network_, BYTE if self.input_dtype_ == "uint8" else 1.0, "ViTImageProcessor")
        return folder

    def _further(self, network: Mapping[str, Any], shape: list[int], n_outputs: int) -> dict[str, Any]:
        """The pretrained network for other classes, of the sizes that the parameters repeat."""
        owner = type(self).__name__
        if shape != network["shape"]:
            raise ValueError(
                f"{owner}: X must have images of the pretrained network, (channels, height, width) "
                f"{tuple(network['shape'])}; got {tuple(shape)}."
            )
        sizes = {name: network["config"][name] for name in SIZES} | {"patch_size": network["patch"]}
        for name, value in sizes.items():
            if getattr(self, name) != value:
                raise ValueError(f"{owner}: {name} must be that of pretrained, {value}; got {getattr(self, name)!r}.")
        config = network["config"] | {"dropout": float(self.dropout)}
        return {"shape": shape, "n_outputs": n_outputs, "patch": network["patch"], "config": config}
