"""Transformer over patches for classes of images."""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict
from typing import Any

from torch import nn

from margin.core.domains import Integer, Number
from margin.core.parameters import default, parameter
from margin.neural.attention.config import TransformerConfig
from margin.neural.estimators.image_classifier import ImageClassifier
from margin.neural.estimators.transformer_parameters import BlockParameters
from margin.neural.nets.vision_transformer import ViT
from margin.optimize.rules import Rule

__all__ = ["VisionTransformer"]


class VisionTransformer(BlockParameters, ImageClassifier):
    r"""Transformer encoder over the patches of an image, for its class.

    An image is cut into squares of ``patch_size`` pixels (padded where they do not fit); each is projected to a token,
    learned positions are added, and the class is read off a token in front of them. Images are given as to
    :class:`CNNClassifier`.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._config(position="none")  # says which sizes do not fit together

    def _described(self, shape: list[int], n_outputs: int) -> dict[str, Any]:
        config = self._config(position="none")
        return {"shape": shape, "n_outputs": n_outputs, "patch": int(self.patch_size), "config": asdict(config)}

    def _body(self, described: dict[str, Any]) -> nn.Module:
        channels, height, width = described["shape"]
        config = TransformerConfig(**described["config"])
        return ViT((channels, height, width), described["patch"], described["n_outputs"], config)
