"""Diffusion among the codes of an autoencoder: fewer coordinates to denoise, and a decoder for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.randomness import RandomLike
from margin.generative.diffusion.model import DiffusionModel

__all__ = ["LatentDiffusion"]


class LatentDiffusion:
    """Fit ``autoencoder`` to rows and ``diffusion`` to their codes; decode what the diffusion draws.

    ``autoencoder`` has ``fit``, ``transform`` and ``inverse_transform`` (a VAE, a PCA); one that is fitted already is
    kept as it is with ``fitted``. Rows with classes make a conditional diffusion of codes.
    """

    def __init__(self, autoencoder: Any, diffusion: DiffusionModel, *, fitted: bool = False):
        self.autoencoder, self.diffusion, self.fitted = autoencoder, diffusion, fitted

    def fit(self, X: Any, y: Any = None) -> LatentDiffusion:
        """Learn the codes of ``X`` and then their distribution."""
        if not self.fitted:
            self.autoencoder.fit(X)
        self.diffusion.fit(self.autoencoder.transform(X), y)
        return self

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, **options: Any) -> np.ndarray:
        """New rows: drawn codes, decoded; ``options`` are those of the diffusion's ``sample``."""
        codes = self.diffusion.sample(n_samples, random_state, **options)
        return np.asarray(self.autoencoder.inverse_transform(codes))
