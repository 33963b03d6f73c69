"""The estimator of scores: learns where the density rises at every size of noise, and draws by following it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from margin.core.arguments import real
from margin.core.array_types import MatrixLike
from margin.core.domains import Choice, Flag, Integer, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute, default, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.core.threads import threads_for, torch_threads
from margin.data.image_arrays import ROW_SHAPE, flat_pictures, order_of_pixels
from margin.generative.diffusion.langevin import annealed_langevin, geometric_levels
from margin.generative.diffusion.model import DENOISERS, ROWS_AT_ONCE
from margin.generative.diffusion.score_network import ScoreNetwork, noise_conditional_loss
from margin.generative.diffusion.scores import denoise_by_score
from margin.generative.images import check_image_shape, common_scaling, flat, shape_images
from margin.generative.stored_systems import ROW_SHAPE_FORM, SCORE_NETWORK, score_network_is_stored
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.parameters import LAYER_SIZES, layer_sizes
from margin.neural.scaling import Scaling
from margin.neural.training import TensorRows
from margin.neural.weights import forward_work
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["ScoreModel"]


class ScoreModel(NeuralEstimator):
    r"""Score network with annealed Langevin sampling, for tables and images.

    .. math:: \min_\theta E\,\frac{\sigma^2}{2}\Bigl\|s_\theta(x + \sigma\epsilon, \sigma) + \frac{\epsilon}{\sigma}
              \Bigr\|^2, \qquad x \leftarrow x + \eta\,s_\theta(x, \sigma) + \sqrt{2\eta}\,z, \quad \eta = c\,\sigma^2

    A network learns the gradient of the log-density of the data with noise of every deviation :math:`\sigma` between
    ``smallest_noise`` and ``largest_noise`` added (denoising score matching). New rows start as wide noise and follow
    that gradient with noise of their own, ``n_levels`` times with less of it. There is no density: a score is the slope
    of its logarithm.

    Examples
    --------
    >>> from margin.data.generators import moons
    >>> X, _ = moons(np.random.default_rng(0), n_samples=200)
    >>> model = ScoreModel(hidden_layer_sizes=(32, 32), max_iter=20, random_state=0).fit(X)
    >>> model.sample(3, random_state=0).shape, model.score_field(X, 0.5).shape
    ((3, 2), (200, 2))
    """

    log_density_kind = "none"

    hidden_layer_sizes: Sequence[int] | int = parameter(
        (128, 128),
        LAYER_SIZES,
        "Units of the layers of 'mlp', channels of the levels of 'unet', or width of each block of 'transformer' (all "
        "the same).",
    )
    _: KW_ONLY
    denoiser: str = parameter(
        "mlp", Choice(*DENOISERS, search=False), "Network behind the score; the last two see images."
    )
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1), min_length=2)),
        "(height, width), (height, width, channels) or (channels, height, width) of the image that a row holds; None: "
        "that of X, where it is pictures.",
    )
    largest_noise: float | None = parameter(
        None,
        Optional(Number(above=0)),
        "Deviation of the widest noise, in deviations of the data; None: the distance of the farthest row from the "
        "mean, but at least 1.",
    )
    smallest_noise: float = parameter(
        0.01,
        Number(above=0, search=(1e-3, 0.1), log=True),
        "Deviation of the narrowest noise, in deviations of the data.",
    )
    n_levels: int = parameter(
        15, Integer(low=2, high=1_000), "Noise levels of the sampler, in a geometric series from the widest."
    )
    steps_per_level: int = parameter(20, Integer(low=1, high=1_000), "Steps of the sampler at every level.")
    langevin_step: float = parameter(
        0.1,
        Number(above=0, below=2),
        "The c of the equation, length of a step as a multiple of the noise's variance; no walk is stable above 2.",
    )
    denoise_last: bool = parameter(
        True, Flag(), "Whether what is left of the narrowest noise is removed by a step without any (Tweedie)."
    )
    standardize: bool = parameter(
        True, Flag(), "Whether columns (of an image: all pixels alike) are brought to mean 0 and deviation 1."
    )
    alpha: float = default(0.0)
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = parameter(
        2e-3, Number(above=0, search=(1e-4, 1e-2), log=True), "Initial learning rate of the schedule."
    )
    weight_average: float | None = default(
        0.995, "Decay of an exponential average of the weights, which then give the score; None: the last weights do."
    )
    batch_size: int | str = default(128)
    max_iter: int = default(200, "Most epochs.")

    center_: np.ndarray = attribute(
        ArrayOf("n_features"), "What is subtracted from every column before noise is added."
    )
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by before noise is added.")
    row_shape_: list[int] | None = attribute(ROW_SHAPE_FORM, ROW_SHAPE)
    network_: dict[str, Any] = attribute(SCORE_NETWORK)
    _stored_rules = (score_network_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X``, yielding records with the loss; ``state`` continues a fit exactly."""
        self._check_parameters()
        X, picture = flat_pictures("ScoreModel", X, self.image_shape)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        images = self.denoiser != "mlp" or picture is not None
        shape = check_image_shape(self, X.shape[1], picture) if images else None
        seed = self._seed(state)
        train, valid = self._split(len(X), seed)
        if not self._goes_on():
            scaling = common_scaling if images else Scaling.of
            self.center_, self.scale_ = scaling(X[train]) if self.standardize else Scaling.none(X.shape[1])
        seen = Scaling(self.center_, self.scale_).apply(X)
        largest = self.network_["largest"] if self._goes_on() and self.largest_noise is None else self._largest(seen)
        self.row_shape_ = None if picture is None else list(picture)
        self.network_ = {
            "denoiser": self.denoiser,
            "n_features": X.shape[1],
            "shape": list(shape or ()) if self.denoiser != "mlp" else [],
            "hidden": layer_sizes(self.hidden_layer_sizes),
            "smallest": float(self.smallest_noise),
            "largest": largest,
        }
        rows = TensorRows.of(self._rows(seen))
        yield from self._train(noise_conditional_loss, rows, train, valid, seed=seed, state=state)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> np.ndarray:
        """New rows, by annealed Langevin dynamics."""
        for _, rows in self.sample_path(n_samples, random_state):  # noqa: B007
            pass
        return rows

    def sample_path(self, n_samples: int = 1, random_state: RandomLike = None) -> Iterator[tuple[float, np.ndarray]]:
        """How new rows come out of noise: after every level, how much of the sampler is done, and the rows."""
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"ScoreModel: n_samples must be an integer at least 1; got {n_samples!r}.")
        seed = int(as_generator(random_state).integers(2**63 - 1))
        module, generator = self._ready_module(), self._compute_predictions().generator(seed)
        smallest, largest = self.network_["smallest"], self.network_["largest"]
        levels = geometric_levels(largest, smallest, self.n_levels)
        weight, score = next(module.parameters()), partial(self._score, module)
        size = (n_samples, self.network_["n_features"])
        start = largest * torch.randn(size, generator=generator, dtype=weight.dtype, device=weight.device)
        n_steps = int(self.steps_per_level)
        states = annealed_langevin(
            score, start, levels, generator, step=float(self.langevin_step), steps_per_level=n_steps
        )
        for done, x in enumerate(states, 1):
            if done == len(levels) and self.denoise_last:
                x = denoise_by_score(x, score(x, smallest), smallest)
            yield done / len(levels), self._unscale(x)

    def score_field(self, X: MatrixLike, noise: float) -> np.ndarray:
        r""":math:`\nabla_x \log p_\sigma(x)` at every row, in the units of the data.

        :math:`p_\sigma` is the density of the data after noise of deviation ``noise`` (times ``scale_`` of each column)
        was added.
        """
        x, sigma = self._noisy(X, noise)
        return self._flat(self._score(self._ready_module(), x, sigma)) / self.scale_

    def denoise(self, X: MatrixLike, noise: float) -> np.ndarray:
        """The expected clean row behind every row that has noise of deviation ``noise`` (times ``scale_``)."""
        x, sigma = self._noisy(X, noise)
        return self._unscale(denoise_by_score(x, self._score(self._ready_module(), x, sigma), sigma))

    def _noisy(self, X: Any, noise: Any) -> tuple[Tensor, float]:
        """Rows as the network sees them, and a level that it has learned."""
        check_is_fitted(self)
        smallest, largest = self.network_["smallest"], self.network_["largest"]
        sigma = real("ScoreModel", "noise", noise)
        if not smallest <= sigma <= largest:
            raise ValueError(f"ScoreModel: noise must be from {smallest:g} to {largest:g}, as learned; got {noise!r}.")
        X, _ = flat_pictures("ScoreModel", X, order_of_pixels(self))
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return self._to_device(self._rows(Scaling(self.center_, self.scale_).apply(X))), sigma

    def _score(self, module: nn.Module, x: Tensor, sigma: float) -> Tensor:
        work = threads_for(forward_work(module, min(len(x), ROWS_AT_ONCE)))
        with torch.no_grad(), torch_threads(work):
            levels = torch.full((len(x),), sigma, dtype=x.dtype, device=x.device)
            pieces = zip(x.split(ROWS_AT_ONCE), levels.split(ROWS_AT_ONCE))
            return torch.cat([module(*piece) for piece in pieces])

    def _largest(self, seen: np.ndarray) -> float:
        """The deviation of the widest noise."""
        if self.largest_noise is None:
            largest = max(1.0, float(np.sqrt(np.square(seen, dtype=np.float64).sum(axis=1).max())))
        else:
            largest = float(self.largest_noise)
        if not largest > self.smallest_noise:
            raise ValueError(
                f"ScoreModel: smallest_noise must be below the largest, {largest:g}; got {self.smallest_noise!r}."
            )
        return largest

    def _rows(self, seen: np.ndarray) -> np.ndarray:
        """Flat rows, the pixels of images in the order of channels, height and width."""
        return np.ascontiguousarray(shape_images(self, seen, self.network_["shape"]).reshape(len(seen), -1))

    def _flat(self, x: Tensor) -> np.ndarray:
        """The inverse of ``_rows``."""
        return flat(self, x.numpy(force=True).reshape(len(x), *(self.network_["shape"] or x.shape[1:])))

    def _unscale(self, x: Tensor) -> np.ndarray:
        return Scaling(self.center_, self.scale_).undo(self._flat(x))

    def _network(self) -> nn.Module:
        return ScoreNetwork(**self.network_)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return super()._threads(module, batch_size) if self.denoiser == "mlp" else None
