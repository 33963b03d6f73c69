"""The estimator of a diffusion: learns to see the noise in noisy rows, and draws new ones by removing it."""

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
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Flag, Integer, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf, optional
from margin.core.number_range import finite_values
from margin.core.parameters import attribute, default, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.core.threads import threads_for, torch_threads
from margin.data.image_arrays import ROW_SHAPE, flat_pictures, order_of_pixels
from margin.generative.diffusion.bound import BoundParts, bound_at_draws
from margin.generative.diffusion.chain import posterior
from margin.generative.diffusion.guidance import guide
from margin.generative.diffusion.networks import MLPDenoiser, TransformerDenoiser, UNetDenoiser
from margin.generative.diffusion.objective import WEIGHTINGS, as_prediction, denoising_loss, loss_weight
from margin.generative.diffusion.predictions import PREDICTIONS, convert
from margin.generative.diffusion.samplers import SAMPLERS
from margin.generative.diffusion.schedules import NOISE_SCHEDULES, NoiseSchedule, noise_schedule
from margin.generative.images import check_image_shape, common_scaling, flat, shape_images
from margin.generative.labels import class_numbers, encode_labels
from margin.generative.stored import DIFFUSION_NETWORK, ROW_SHAPE_FORM, denoiser_is_stored
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.parameters import LAYER_SIZES, layer_sizes
from margin.neural.scaling import Scaling
from margin.neural.training import TensorRows
from margin.neural.weights import forward_work
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["DENOISERS", "DiffusionModel"]

DENOISERS = ("mlp", "unet", "transformer")
BOUND_SEED = 0  # the draws behind score_samples: always the same, and the same for every row
ROWS_AT_ONCE = 1024  # rows denoised together: bounds the memory of a sampler


class DiffusionModel(NeuralEstimator):
    r"""Denoising diffusion for tables and images.

    The forward chain adds noise in ``n_steps`` steps,
    :math:`x_t = \sqrt{\bar\alpha_t}\,x_0 + \sqrt{1 - \bar\alpha_t}\,\epsilon`; a network learns to predict what was
    added from :math:`x_t` at a random step; a sampler goes from noise back to data. With ``conditional`` the network
    also sees the class in ``y``, which ``sample`` can then ask for, more or less strongly by ``guidance_scale``.

    ``score_samples`` is the variational lower bound of the log-density, from draws that are the same for all rows.

    Examples
    --------
    >>> from margin.data.generators import moons
    >>> X, _ = moons(np.random.default_rng(0), n_samples=200)
    >>> model = DiffusionModel(hidden_layer_sizes=(32, 32), n_steps=50, max_iter=20, random_state=0).fit(X)
    >>> model.sample(3, random_state=0).shape
    (3, 2)
    """

    log_density_kind = "bound"

    hidden_layer_sizes: Sequence[int] | int = parameter(
        (128, 128),
        LAYER_SIZES,
        "Units of the layers of 'mlp', channels of the levels of 'unet', or width of each block of 'transformer' (all "
        "the same).",
    )
    _: KW_ONLY
    denoiser: str = parameter(
        "mlp", Choice(*DENOISERS, search=False), "Network that predicts; the last two see images."
    )
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1), min_length=2)),
        "(height, width), (height, width, channels) or (channels, height, width) of the image that a row holds; None: "
        "that of X, where it is pictures.",
    )
    n_steps: int = parameter(200, Integer(low=2, high=10_000), "Steps of the forward chain.")
    noise_schedule: str = parameter("cosine", Choice(*NOISE_SCHEDULES), "How the noise grows over the steps.")
    prediction: str = parameter(
        "v",
        Choice(*PREDICTIONS),
        "What the network predicts: the noise, the clean data, v, the velocity, or the score.",
    )
    weighting: str = parameter(
        "simple",
        Choice(*WEIGHTINGS),
        "Weights of the steps in the loss: all alike, or as the variational bound has them.",
    )
    conditional: bool = parameter(False, Flag(), "Whether y holds classes that the network sees.")
    condition_dropout: float = parameter(
        0.1, Number(low=0, high=1), "Fraction of rows whose class is hidden, so that guidance has something to compare."
    )
    guidance_scale: float = parameter(
        1.0, Number(), "Strength of the class in sample: 0 ignores it, 1 obeys it, more exaggerates it."
    )
    sampler: str = parameter(
        "dpm2",
        Choice(*SAMPLERS),
        "How new rows are drawn: 'ddpm' and the second-order 'dpm2-sde' with noise in every step, 'ddim' and the "
        "second-order 'dpm2' without.",
    )
    sampling_noise: float = parameter(
        1.0,
        Number(low=0),
        "New noise in every step of 'dpm2-sde', the tau of its equation: 1 is as much as 'ddpm' has; with more of it, "
        "errors of the network are forgotten sooner, and few steps follow the noise less well.",
    )
    sampling_steps: int | None = parameter(
        25,
        Optional(Integer(low=1, high=10_000)),
        "Steps of the sampler, of which there are at most n_steps; None: all of them.",
    )
    bound_samples: int = parameter(
        4, Integer(low=1, high=1_000), "Draws of the noise of every step behind score_samples."
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
        0.995, "Decay of an exponential average of the weights, which then denoises; None: the last weights do."
    )
    batch_size: int | str = default(128)
    max_iter: int = default(200, "Most epochs.")

    center_: np.ndarray = attribute(
        ArrayOf("n_features"), "What is subtracted from every column before noise is added."
    )
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by before noise is added.")
    range_: np.ndarray = attribute(
        ArrayOf(2, "n_features"), "Smallest and largest value of every column, (2, p): new rows stay between them."
    )
    row_shape_: list[int] | None = attribute(ROW_SHAPE_FORM, ROW_SHAPE)
    classes_: np.ndarray | None = attribute(
        optional(ArrayOf("n_classes", kind="labels")), "Classes of a conditional model, sorted; None without."
    )
    network_: dict[str, Any] = attribute(DIFFUSION_NETWORK)
    _stored_rules = (denoiser_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X`` (and the classes ``y`` if conditional), yielding records; ``state`` continues a fit."""
        self._check_parameters()
        X, picture = flat_pictures(type(self).__name__, X, self.image_shape)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        images = self.denoiser != "mlp" or picture is not None
        shape = check_image_shape(self, X.shape[1], picture) if images else None
        self.classes_, numbers = encode_labels(self, y, len(X)) if self.conditional else (None, None)
        seed = self._seed(state)
        train, valid = self._split(len(X), seed)
        if not self._goes_on():
            self.center_, self.scale_ = self._scaling(X[train], images)
            self.range_ = np.stack([X[train].min(axis=0), X[train].max(axis=0)]).astype(np.float64)
        self.row_shape_ = None if picture is None else list(picture)
        self.network_ = {
            "denoiser": self.denoiser,
            "n_features": X.shape[1],
            "shape": list(shape or ()) if self.denoiser != "mlp" else [],
            "hidden": layer_sizes(self.hidden_layer_sizes),
            "n_classes": 0 if self.classes_ is None else len(self.classes_),
            "n_steps": int(self.n_steps),
            "noise_schedule": self.noise_schedule,
            "prediction": self.prediction,
        }
        seen = self._as_images(Scaling(self.center_, self.scale_).apply(X))
        rows = TensorRows.of(seen) if numbers is None else TensorRows.of(seen, numbers)
        schedule = self._schedule()
        objective = partial(
            denoising_loss,
            schedule=schedule,
            prediction=self.prediction,
            weight=loss_weight(schedule, self.prediction, self.weighting),
            none=self.network_["n_classes"],
            condition_dropout=self.condition_dropout,
        )
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def sample(
        self,
        n_samples: int = 1,
        random_state: RandomLike = None,
        *,
        y: ArrayLike | None = None,
        guidance_scale: float | None = None,
    ) -> np.ndarray:
        """New rows; a conditional model draws the classes ``y`` (one, or one per row), or any without."""
        for _, rows in self.sample_path(n_samples, random_state, y=y, guidance_scale=guidance_scale):  # noqa: B007
            pass
        return rows

    def sample_path(
        self, n_samples: int = 1, random_state: RandomLike = None, *, y: Any = None, guidance_scale: float | None = None
    ) -> Iterator[tuple[float, np.ndarray]]:
        """How new rows come out of noise: after every step of the sampler, how much of it is done, and the rows."""
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"{type(self).__name__}: n_samples must be an integer at least 1; got {n_samples!r}.")
        numbers = class_numbers(self, y, n_samples)
        given = self.guidance_scale if guidance_scale is None else guidance_scale
        scale = real(type(self).__name__, "guidance_scale", given)
        seed = int(as_generator(random_state).integers(2**63 - 1))
        module, schedule = self._ready_module(), self._schedule()
        weight, generator = next(module.parameters()), self._compute_predictions().generator(seed)
        shape = tuple(self.network_["shape"]) or (self.network_["n_features"],)
        start = torch.randn((n_samples, *shape), generator=generator, dtype=weight.dtype, device=weight.device)
        clean = partial(self._clean_inside, module, schedule, numbers, scale)
        steps = min(self.sampling_steps or schedule.n_steps, schedule.n_steps)
        options = {"tau": self.sampling_noise} if self.sampler == "dpm2-sde" else {}
        states = SAMPLERS[self.sampler](schedule, clean, start, generator, steps, **options)
        for done, x in enumerate(states, 1):
            yield min(done / steps, 1.0), Scaling(self.center_, self.scale_).undo(flat(self, x.numpy(force=True)))

    def denoise(self, X: MatrixLike, t: int) -> np.ndarray:
        """The clean rows that the network sees behind noisy rows ``X`` (as they would be at step ``t``, unscaled)."""
        module, schedule = self._ready_module(), self._schedule()
        if not 1 <= t <= schedule.n_steps:
            raise ValueError(f"{type(self).__name__}: t must be from 1 to n_steps, {schedule.n_steps}; got {t!r}.")
        x = torch.from_numpy(self._as_images(np.asarray(X))).to(next(module.parameters()))
        return flat(self, self._clean(module, schedule, None, 1.0, x, t).numpy(force=True))

    def bound_parts(self, X: Any) -> BoundParts:
        """Reconstruction, prior matching and consistency of every row in nats, in the units of the data."""
        module, schedule = self._ready_module(), self._schedule()
        X, _ = flat_pictures(type(self).__name__, X, order_of_pixels(self))
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        x = torch.from_numpy(self._as_images(Scaling(self.center_, self.scale_).apply(X.astype(np.float64))))

        def reverse(x_t: Tensor, t: int) -> tuple[Tensor, Tensor]:
            # The variance of the forward step is exact for standard normal data; the posterior's, for one point.
            clean = self._clean(module, schedule, None, 1.0, x_t, t)
            return posterior(schedule, x_t, clean, t)[0], schedule.betas[t]

        draws = partial(_balanced_draws, self.bound_samples, tuple(x.shape[1:]))
        parts = [bound_at_draws(schedule, piece, reverse, draws) for piece in x.split(ROWS_AT_ONCE)]
        reconstruction, prior, consistency = (torch.cat(part) for part in zip(*parts))
        return BoundParts(reconstruction - float(np.log(self.scale_).sum()), prior, consistency)

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """A lower bound of the log-density of every row, in nats."""
        return finite_values(type(self).__name__, "X", X, lambda: self.bound_parts(X).total.numpy(force=True))

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """The mean of ``score_samples``."""
        return float(self.score_samples(X).mean())

    def _clean(
        self,
        module: nn.Module,
        schedule: NoiseSchedule,
        numbers: Tensor | None,
        scale: float,
        x: Tensor,
        t: int,
    ) -> Tensor:
        """Clean data behind ``x`` at step ``t``, in the precision of ``x``; with classes, guided towards them."""
        weight, kind = next(module.parameters()), self.network_["prediction"]
        label = None if numbers is None else numbers.to(weight.device).split(ROWS_AT_ONCE)
        work = threads_for(forward_work(module, min(len(x), ROWS_AT_ONCE)))
        outputs = []
        with torch.no_grad(), torch_threads(work):
            for k, piece in enumerate(x.to(weight).split(ROWS_AT_ONCE)):
                steps = torch.full((len(piece),), t, device=piece.device)
                value = as_prediction(module, schedule, piece, steps, None if label is None else label[k], kind)
                if label is not None and scale != 1:
                    value = guide(as_prediction(module, schedule, piece, steps, None, kind), value, scale)
                outputs.append(value)
        return convert(schedule, torch.cat(outputs).to(x), x, t, given=kind, wanted="x0")

    def _clean_inside(
        self,
        module: nn.Module,
        schedule: NoiseSchedule,
        numbers: Tensor | None,
        scale: float,
        x: Tensor,
        t: int,
    ) -> Tensor:
        """Clean data within the range of the training rows, where every mean of them lies.

        Where hardly any signal is left, clean data are a small difference divided by a small number, and an error of
        the predicted noise would throw the sampler far out.
        """
        low, high = (
            torch.from_numpy(self._as_images(bound[None])).to(x) for bound in (self.range_ - self.center_) / self.scale_
        )
        return torch.clamp(self._clean(module, schedule, numbers, scale, x, t), low, high)

    def _schedule(self) -> NoiseSchedule:
        return noise_schedule(self.network_["noise_schedule"], self.network_["n_steps"])

    def _scaling(self, X: np.ndarray, images: bool) -> tuple[np.ndarray, np.ndarray]:
        if not self.standardize:
            return Scaling.none(X.shape[1])
        return common_scaling(X) if images else Scaling.of(X)

    def _as_images(self, X: np.ndarray) -> np.ndarray:
        return shape_images(self, X, self.network_["shape"])

    def _network(self) -> nn.Module:
        return denoiser_network(**{name: self.network_[name] for name in NETWORK_FIELDS})

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return super()._threads(module, batch_size) if self.denoiser == "mlp" else None


def _balanced_draws(n_draws: int, shape: tuple[int, ...], t: int) -> Tensor:
    """Fixed normal draws for step ``t`` in pairs of opposite sign, of variance 1 in every coordinate."""
    half = np.random.default_rng([BOUND_SEED, t]).standard_normal(((n_draws + 1) // 2, *shape))
    half /= np.sqrt(np.mean(half**2, axis=0))
    return torch.from_numpy(np.concatenate([half, -half])[:n_draws])


NETWORK_FIELDS = ("denoiser", "n_features", "shape", "hidden", "n_classes")


def denoiser_network(
    denoiser: str, n_features: int, shape: Sequence[int], hidden: Sequence[int], n_classes: int
) -> nn.Module:
    """The network that ``DiffusionModel`` trains."""
    if denoiser == "unet":
        return UNetDenoiser(shape, hidden, n_classes)
    if denoiser == "transformer":
        if len(set(hidden)) > 1:
            raise ValueError(
                f"denoiser 'transformer': hidden_layer_sizes must all be the same, one per block; got {list(hidden)}."
            )
        patch = 2 if shape[1] % 2 == 0 and shape[2] % 2 == 0 else 1
        return TransformerDenoiser(shape, hidden[0], depth=len(hidden), patch=patch, n_classes=n_classes)
    return MLPDenoiser(n_features, hidden, n_classes)
