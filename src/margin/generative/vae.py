r"""Variational autoencoder: a latent variable model whose posterior is predicted by a network.

.. math:: \mathrm{ELBO}(x) = E_{q(z|x)}[\log p(x|z)] - \beta\,\mathrm{KL}(q(z|x)\,\|\,N(0, I))

Training maximizes the bound with one draw of :math:`z` per row and step; generation draws :math:`z \sim N(0, I)` and
decodes. With :math:`\beta \ne 1` the objective is no bound; ``score_samples`` always uses :math:`\beta = 1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, validate_data
from torch import nn

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import MOST_LAYERS, Choice, Flag, Integer, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.number_range import finite_values
from margin.core.parameters import attribute, default, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.data.image_arrays import flat_pictures, row_layout
from margin.generative.latents import LATENTS, MixtureLatent
from margin.generative.stored import VAE_NETWORK, vae_is_stored
from margin.generative.vae_bounds import balanced_normals, bound_parts, negative_elbo
from margin.generative.vae_network import LIKELIHOODS, VAENetwork
from margin.neural.activations.fused import fused_softmax
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.parameters import ACTIVATION, LAYER_SIZES, layer_sizes
from margin.neural.parts import describe
from margin.neural.scaling import Scaling
from margin.neural.training import TensorRows
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["VAE", "negative_elbo"]

#: Of the usual deviation of pixels: below it one that hardly moves is not blown up; much above it, densities get worse.
LEAST_SCALE = 0.1


class VAE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeuralEstimator):
    r"""Variational autoencoder with a Gaussian or Bernoulli decoder.

    The Bernoulli decoder is a distribution for zeros and ones, and the usual cross-entropy for gray values in between.
    Densities are given in the original units, standardized or not.

    ``score_samples`` is a lower bound of the log-density from draws of the posterior: their mean, or the
    importance-weighted bound. Every row uses the same draws, so a score does not depend on the other rows or on the
    call.

    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:500] / 16
    >>> model = VAE(n_components=2, likelihood="bernoulli", hidden_layer_sizes=(64,), max_iter=5, random_state=0).fit(X)
    >>> model.sample(3, random_state=0).shape, model.transform(X).shape
    ((3, 64), (500, 2))
    """

    log_density_kind = "bound"

    n_components: int = parameter(8, Integer(low=1), "Number of latent coordinates.")
    hidden_layer_sizes: Sequence[int] | int = parameter(
        (256,), LAYER_SIZES, "Units of each hidden layer of the encoder; the decoder has them in reverse."
    )
    _: KW_ONLY
    activation: str | Activation = parameter("relu", ACTIVATION, "Activation function of the hidden units.")
    latent: str = parameter(
        "normal",
        Choice(*LATENTS),
        "Latent variable: normal with a standard normal prior, normal with a learned mixture as prior, a direction on "
        "the sphere with a von Mises-Fisher posterior and the uniform prior, or a Markov chain of normal latents.",
    )
    n_prior_components: int = parameter(10, Integer(low=1), "Normal distributions in the prior of latent 'mixture'.")
    n_levels: int = parameter(
        2, Integer(low=1, high=MOST_LAYERS), "Levels of latent 'hierarchical'; the first one makes the data."
    )
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1))),
        "(height, width), (height, width, channels) or (channels, height, width) of the images whose pixels the "
        "columns are (None: that of X, where it is pictures): the layers are convolutions of "
        "stride 2 and hidden_layer_sizes their channels. None: fully connected layers.",
    )
    objective: str = parameter(
        "elbo",
        Choice("elbo", "iwae"),
        "What training maximizes: the bound, or the importance-weighted bound of n_draws draws.",
    )
    n_draws: int = parameter(1, Integer(low=1, high=1_000), "Draws of the latent per row and update.")
    likelihood: str = parameter(
        "gaussian", Choice(*LIKELIHOODS), "Distribution of the decoder; 'bernoulli' takes entries in [0, 1]."
    )
    beta: float = parameter(1.0, Number(low=0), "Weight of the divergence in training; 1 makes the objective a bound.")
    standardize: bool = parameter(
        True,
        Flag(),
        "Whether columns are brought to mean 0 and deviation 1 for the encoder and a Gaussian decoder.",
    )
    bound: str = parameter(
        "elbo", Choice("elbo", "iwae"), "Lower bound that score_samples gives; 'iwae' weighs the draws and is tighter."
    )
    bound_samples: int = parameter(16, Integer(low=1, high=10_000), "Draws of the posterior behind score_samples.")
    alpha: float = default(0.0, "Strength of the L2 penalty on matrices; the divergence regularizes already.")
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = default(2e-3)
    batch_size: int | str = default(64)
    max_iter: int = default(100, "Most epochs.")

    center_: np.ndarray = attribute(
        ArrayOf("n_features"), "What is subtracted from every column before the encoder sees it."
    )
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by before the encoder sees it.")
    network_: dict[str, Any] = attribute(VAE_NETWORK)
    _stored_rules = (vae_is_stored,)
    _seen_shape: tuple[int, ...] | None = attribute(None, "The shape of the pictures of the running fit.")

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X``, yielding records with the ELBO and its parts; ``state`` continues a fit exactly."""
        self._check_parameters()
        X = self._validate(X, reset=True)
        seed = self._seed(state)
        if (shape := self._image_shape()) is not None:
            row_layout("VAE", shape, X.shape[1])
        train, valid = self._split(len(X), seed)
        if not self._goes_on():
            self.center_, self.scale_ = self._scaling(X[train])
        spread = float(np.var(Scaling(self.center_, self.scale_).apply(X[train]), axis=0).mean())
        self.network_ = {
            "n_features": X.shape[1],
            "n_components": int(self.n_components),
            "hidden": layer_sizes(self.hidden_layer_sizes),
            "activation": describe("VAE: activation", self.activation, ACTIVATIONS),
            "likelihood": self.likelihood,
            "variance": spread or 1.0,  # where the decoder starts: everything is noise of the size of the data
            "latent": self.latent,
            "n_prior_components": int(self.n_prior_components),
            "n_levels": int(self.n_levels),
            "image_shape": self._image_shape(),
        }
        rows = TensorRows.of(self._encoder_input(X), self._target(X))
        objective = partial(
            negative_elbo,
            beta=self.beta,
            log_volume=self._log_volume(),
            n_draws=self.n_draws,
            weighted=self.objective == "iwae",
        )
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def encode(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Mean and log-variance of the posterior of every row; direction and concentration on the sphere."""
        module = self._trained_network()
        X = self._validate(X)
        both = self._evaluate(lambda rows: torch.cat(module.encode(rows), dim=1), self._encoder_input(X))
        center, width = np.split(both.astype(X.dtype, copy=False), [self.network_["n_components"]], axis=1)
        return center, width

    def transform(self, X: MatrixLike) -> np.ndarray:
        """The posterior mean of every row."""
        return self.encode(X)[0]

    def decode(self, Z: Any) -> np.ndarray:
        """The expected data for every row of latent coordinates."""
        module = self._trained_network()
        means = self._evaluate(module.decode, latent_rows(Z, self.network_["n_components"]))
        return means if module.likelihood == "bernoulli" else Scaling(self.center_, self.scale_).undo(means)

    inverse_transform = decode

    def reconstruct(self, X: MatrixLike) -> np.ndarray:
        """Every row encoded to its posterior mean and decoded."""
        return self.decode(self.encode(X)[0])

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, *, mean: bool = False) -> np.ndarray:
        """New rows: latents from the prior, decoded, and a draw from the decoder unless only its ``mean`` is wanted."""
        module = self._trained_network()
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"VAE: n_samples must be an integer at least 1; got {n_samples!r}.")
        rng = as_generator(random_state)
        means = self.decode(module.latent.from_prior(n_samples, rng))
        if mean:
            return means
        if module.likelihood == "bernoulli":
            return (rng.random(means.shape) < means).astype(means.dtype)
        deviation = np.exp(0.5 * float(module.log_variance.detach())) * self.scale_
        return means + deviation * rng.standard_normal(means.shape)

    def elbo_terms(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Expected log-likelihood and divergence of the posterior from the prior, in nats per row."""
        reconstruction, kl, _ = self._bounds(X)
        return reconstruction, kl

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """A lower bound of the log-density of every row, in nats."""
        reconstruction, kl, importance_weighted = self._bounds(X)
        iwae = self.bound == "iwae"
        return finite_values("VAE", "X", X, lambda: importance_weighted if iwae else reconstruction - kl)

    def responsibilities(self, X: MatrixLike) -> np.ndarray:
        """Probability of every component of a mixture prior given the center of the posterior of every row."""
        latent = self._trained_network().latent
        if not isinstance(latent, MixtureLatent):
            raise ValueError(f"VAE: responsibilities need latent 'mixture'; got {self.network_['latent']!r}.")
        return self._evaluate(lambda z: fused_softmax(latent.log_joint(z), dim=1), self.encode(X)[0])

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """The mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    @property
    def _n_features_out(self) -> int:
        return self.network_["n_components"]

    def _trained_network(self) -> VAENetwork:
        return cast(VAENetwork, self._ready_module())

    def _network(self) -> nn.Module:
        return VAENetwork(**self.network_)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None if self.network_["image_shape"] is not None else super()._threads(module, batch_size)

    def _image_shape(self) -> list[int] | None:
        """The shape of the images of this fit; None for rows that are none."""
        shape = self._seen_shape if self.image_shape is None else self.image_shape
        return None if shape is None else [int(size) for size in shape]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.objective == "iwae" and self.beta != 1:
            raise ValueError(f"VAE: beta must be 1 with objective 'iwae', which has no divergence; got {self.beta}.")
        if self.latent == "von-mises-fisher" and self.n_components < 2:
            raise ValueError(f"VAE: n_components must be at least 2 on a sphere; got {self.n_components}.")

    def _validate(self, X: Any, *, reset: bool = False) -> np.ndarray:
        fitted = None if reset else getattr(self, "network_", {}).get("image_shape")
        X, seen = flat_pictures("VAE", X, fitted or self.image_shape)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=reset)
        if reset:
            self._seen_shape = seen
        if (self.likelihood if reset else self.network_["likelihood"]) == "bernoulli" and (X.min() < 0 or X.max() > 1):
            raise ValueError(
                f"VAE: X must have entries from 0 to 1 for a Bernoulli decoder; got {X.min():g} to {X.max():g}."
            )
        return X

    def _scaling(self, X: np.ndarray) -> Scaling:
        if not self.standardize:
            return Scaling.none(X.shape[1])
        return Scaling.of_values(X, one_unit=self._image_shape() is not None, least=LEAST_SCALE)

    def _target(self, X: np.ndarray) -> np.ndarray:
        """What the decoder must explain."""
        return X if self.network_["likelihood"] == "bernoulli" else self._encoder_input(X)

    def _encoder_input(self, X: np.ndarray) -> np.ndarray:
        """What the encoder sees."""
        return Scaling(self.center_, self.scale_).apply(X)

    def _bounds(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reconstruction term, divergence and importance-weighted bound of every row, in the units of the data."""
        module = self._trained_network()
        X = self._validate(X)
        draws = balanced_normals(self.bound_samples, module.latent.n_noise)
        parts = self._evaluate(partial(bound_parts, module, draws), self._encoder_input(X), self._target(X))
        reconstruction, kl, importance_weighted = parts.astype(np.float64).T
        return reconstruction - self._log_volume(), kl, importance_weighted - self._log_volume()

    def _log_volume(self) -> float:
        """The density of x = c + s u is the density of u divided by the product of the scales s."""
        return 0.0 if self.network_["likelihood"] == "bernoulli" else float(np.log(self.scale_).sum())


def latent_rows(Z: Any, n_components: int) -> np.ndarray:
    Z = check_array(Z, dtype=[np.float64, np.float32], order="C")
    if Z.shape[1] != n_components:
        raise ValueError(f"VAE: Z must have {n_components} columns, one per latent coordinate; got {Z.shape[1]}.")
    return Z
