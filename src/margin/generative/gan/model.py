r"""The estimator of a generative adversarial network: a generator that learns from a discriminator's mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from margin.core.arguments import finite
from margin.core.array_types import ArrayLike
from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf, optional
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.data.image_arrays import ROW_SHAPE, flat_pictures, order_of_pixels
from margin.generative.gan.architectures import ARCHITECTURES, gan_network
from margin.generative.gan.estimator import GameEstimator, no_objective
from margin.generative.gan.game import PENALTIES, Game, GANNetwork, Rules, Turn, players_of
from margin.generative.gan.losses import GENERATOR_LOSSES
from margin.generative.gan.networks import SMALLEST_SIDE
from margin.generative.gan.style import StyleGenerator
from margin.generative.images import check_image_shape, flat, pixel_scaling, shape_images
from margin.generative.labels import class_numbers, encode_labels
from margin.generative.stored import GAN_NETWORK, ROW_SHAPE_FORM, game_is_stored
from margin.neural.estimators.parameters import LAYER_SIZES, LEARNING_RATE, layer_sizes
from margin.neural.generators import Seeds
from margin.neural.scaling import Scaling
from margin.neural.training import RowBatches, Rows, Step, TensorRows
from margin.optimize.rate_schedules import RateSchedule
from margin.optimize.schedules import exponential

__all__ = ["GAN"]

PENALTY_OF_LOSS = {"non-saturating": "real", "minimax": "real", "wasserstein": "between", "relativistic": "both"}


class GAN(GameEstimator):
    r"""Generative adversarial network for tables and images.

    .. math:: \min_G \max_D\ E[\log D(x)] + E[\log(1 - D(G(z)))], \qquad z \sim N(0, I)

    Discriminator and generator take turns on every batch. The generator minimizes :math:`-\log D(G(z))`, the minimax
    loss, or the Wasserstein critic. The discriminator also pays for its slope, with a weight that falls from
    ``penalty_weight`` :math:`\gamma` to a fraction ``penalty_end`` :math:`q` of it over the T updates:

    .. math:: \gamma_t\,E\|\nabla_x \mathrm{logit}\,D(x)\|^2, \qquad \gamma_t = \gamma\,q^{t/T}

    Records have both losses, the mean of D on real and made rows, the objective V and the Jensen-Shannon divergence it
    implies. There is no density: a GAN can draw rows but not say how likely they are.

    Examples
    --------
    >>> from margin.data.generators import moons
    >>> X, _ = moons(np.random.default_rng(0), n_samples=200)
    >>> model = GAN(n_components=4, hidden_layer_sizes=(32,), max_iter=5, random_state=0).fit(X)
    >>> model.sample(3, random_state=0).shape, model.discriminate(X).shape
    ((3, 2), (200,))
    """

    log_density_kind = "none"

    n_components: int = parameter(16, Integer(low=1), "Number of coordinates of the noise.")
    hidden_layer_sizes: Sequence[int] | int = parameter(
        (128, 128),
        LAYER_SIZES,
        "Units of the hidden layers of both networks; for 'dcgan' and 'style' the channels at a quarter and at half of "
        "the resolution.",
    )
    _: KW_ONLY
    architecture: str = parameter(
        "mlp",
        Choice(*ARCHITECTURES, search=False),
        "Fully connected, convolutional, or style-based; the last two make images.",
    )
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1), min_length=2)),
        "(height, width), (height, width, channels) or (channels, height, width) of the image that a row holds; None: "
        "that of X, where it is pictures.",
    )
    loss: str = parameter("non-saturating", Choice(*GENERATOR_LOSSES), "What the generator minimizes.")
    penalty: str = parameter(
        "auto",
        Choice("auto", *PENALTIES),
        "Penalty on the discriminator's gradient: towards 0 at the 'real' rows or at 'both' real and made ones, or its "
        "norm towards 1 'between' them; 'auto' is 'between' for 'wasserstein', 'both' for 'relativistic' and 'real' "
        "for the others.",
    )
    penalty_weight: float | None = parameter(
        None, Optional(Number(low=0)), "Weight of the penalty; None: 10 for 'between' and 0.1 for the others."
    )
    penalty_end: float = parameter(
        1.0,
        Number(above=0, high=1, search=(1e-3, 1.0), log=True),
        "Fraction of the penalty's weight that is left at the end; it falls geometrically. A strong penalty spreads "
        "the generator over all modes, a weak one lets the discriminator see how narrow they are.",
    )
    spectral_norm: bool = parameter(
        False, Flag(), "Whether the layers of the discriminator are divided by their largest singular values."
    )
    n_discriminators: int = parameter(
        1, Integer(low=1, high=1_000), "Discriminators, whose losses for the generator are averaged."
    )
    discriminator_updates: int = parameter(
        1, Integer(low=1, high=1_000), "Updates of the discriminator per update of the generator."
    )
    discriminator_rate: float = parameter(
        1.0, Number(above=0), "Learning rate of the discriminator as a multiple of the generator's."
    )
    dropout: float = parameter(0.0, Number(low=0, below=1), "Fraction of units that the discriminator leaves out.")
    blur: float = parameter(
        0.0, Number(low=0), "Deviation of noise on all that the discriminator sees, as a multiple of the data's."
    )
    conditional: bool = parameter(False, Flag(), "Whether y holds classes that both networks see.")
    standardize: bool = parameter(
        True, Flag(), "Whether columns are brought to mean 0 and deviation 1, and pixels to the range from -1 to 1."
    )
    alpha: float = parameter(
        0.0, Number(low=0, search=(1e-5, 10.0), log=True), "Decoupled weight decay of 'adamw' and 'muon'."
    )
    beta_1: float = parameter(0.0, Number(low=0, below=1), "Decay of Adam's mean of the gradient; 0, since it turns.")
    beta_2: float = parameter(0.99, Number(low=0, below=1), "Decay of Adam's mean of the squared gradient.")
    learning_rate: str | RateSchedule = parameter(
        "cosine",
        LEARNING_RATE,
        "How the learning rates go on from learning_rate_init over max_iter epochs.",
    )
    learning_rate_init: float = parameter(
        3e-3, Number(above=0, search=(1e-4, 1e-2), log=True), "Initial learning rate of the schedule."
    )
    weight_average: float | None = parameter(
        0.99,
        Optional(Number(above=0, below=1)),
        "Decay of an exponential average of the generator's weights, which then draws; None: the last weights do.",
    )
    batch_size: int | str = parameter(
        64,
        Either(Choice("auto"), Integer(low=1, search=(16, 256), log=True)),
        "Rows per update; 'auto' is min(200, number of rows).",
    )
    max_iter: int = parameter(100, Integer(low=1), "Most epochs.")

    center_: np.ndarray = attribute(
        ArrayOf("n_features"), "What is subtracted from every column before the networks see it."
    )
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by before the networks see it.")
    row_shape_: list[int] | None = attribute(ROW_SHAPE_FORM, ROW_SHAPE)
    classes_: np.ndarray | None = attribute(
        optional(ArrayOf("n_classes", kind="labels")), "Classes of a conditional model, sorted; None without."
    )
    network_: dict[str, Any] = attribute(GAN_NETWORK)
    _stored_rules = (game_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X`` (and the classes ``y`` if conditional), yielding records; ``state`` continues a fit."""
        self._check_parameters()
        X, picture = flat_pictures(type(self).__name__, X, self.image_shape)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        images = picture is not None
        shape = check_image_shape(self, X.shape[1], picture) if self.architecture != "mlp" else None
        if shape is not None and min(shape[1:]) < SMALLEST_SIDE:
            raise ValueError(f"GAN: image_shape must have sides of at least {SMALLEST_SIDE} pixels; got {shape[1:]}.")
        self.classes_, numbers = encode_labels(self, y, len(X)) if self.conditional else (None, None)
        seed = self._seed(state)
        if not self._goes_on():
            self.center_, self.scale_ = self._scaling(X, images)
        self.row_shape_ = None if picture is None else list(picture)
        self.network_ = {
            "architecture": self.architecture,
            "n_latents": int(self.n_components),
            "hidden": layer_sizes(self.hidden_layer_sizes),
            "n_features": X.shape[1],
            "shape": list(shape or ()),
            "n_classes": 0 if self.classes_ is None else len(self.classes_),
            "n_discriminators": int(self.n_discriminators),
            "spectral_norm": bool(self.spectral_norm),
            "dropout": float(self.dropout),
            "bounded": bool(images and self.standardize),
        }
        seen = self._as_images(Scaling(self.center_, self.scale_).apply(X))
        rows = TensorRows.of(seen) if numbers is None else TensorRows.of(seen, numbers)
        everything, nothing = np.arange(len(X)), np.arange(0)
        yield from self._train(no_objective, rows, everything, nothing, seed=seed, state=state)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, *, y: ArrayLike | None = None) -> np.ndarray:
        """New rows; a conditional model draws the classes ``y`` (one, or one per row), or any of them without."""
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"GAN: n_samples must be an integer at least 1; got {n_samples!r}.")
        rng = as_generator(random_state)
        z = rng.standard_normal((n_samples, self.network_["n_latents"]))
        if y is None and self.classes_ is not None:
            y = self.classes_[rng.integers(len(self.classes_), size=n_samples)]
        return self.generate(z, y=y)

    def generate(self, Z: Any, *, y: ArrayLike | None = None) -> np.ndarray:
        """The rows that the generator makes of noise ``Z``."""
        module, Z = self._ready_module(), self._noise("Z", Z)
        if y is None and self.classes_ is not None:
            raise ValueError("GAN: y must name the class of every row for a conditional model; got None.")
        return self._unscale(self._with_classes(_part(module, "generator"), Z, y))

    def discriminate(self, X: Any, y: Any = None) -> np.ndarray:
        """How real every row looks to the discriminators, from 0 to 1 (to a Wasserstein critic: its mean output)."""
        module = self._ready_module()
        X, _ = flat_pictures(type(self).__name__, X, order_of_pixels(self))
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        seen = self._as_images(Scaling(self.center_, self.scale_).apply(X))
        logits = self._with_classes(_part(module, "discriminator"), seen, y).astype(np.float64)
        values = logits if self.loss in ("wasserstein", "relativistic") else 1 / (1 + np.exp(-logits))
        return values.reshape(len(X), -1).mean(axis=1)

    def mix_styles(self, Z: Any, Z_fine: Any, n_coarse: int = 1) -> np.ndarray:
        """Images whose first ``n_coarse`` layers have the styles of ``Z`` and whose others those of ``Z_fine``."""
        network = _part(self._ready_module(), "generator")
        if not isinstance(network, StyleGenerator):
            raise ValueError(f"GAN: mix_styles needs architecture 'style'; got {self.network_['architecture']!r}.")

        if not Integer(low=0, high=network.N_LAYERS).accepts(n_coarse):
            raise ValueError(f"GAN: n_coarse must be an integer from 0 to {network.N_LAYERS}; got {n_coarse!r}.")
        coarse, fine = self._noise("Z", Z), self._noise("Z_fine", Z_fine)
        if len(coarse) != len(fine):
            raise ValueError(f"GAN: Z and Z_fine must have as many rows; got {len(coarse)} and {len(fine)}.")

        def mix(z: Tensor, z_fine: Tensor) -> Tensor:
            styles = [network.styles(z)] * n_coarse + [network.styles(z_fine)] * (network.N_LAYERS - n_coarse)
            return network.synthesize(styles)

        return self._unscale(self._evaluate(mix, coarse, fine))

    def _noise(self, name: str, Z: Any) -> np.ndarray:
        """Rows of noise with a column for each coordinate that the generator takes."""
        rows = finite("GAN", name, Z)
        if rows.ndim != 2 or rows.shape[1] != self.network_["n_latents"]:
            raise ValueError(
                f"GAN: {name} must have {self.network_['n_latents']} columns, one per coordinate of the noise; got "
                f"shape {rows.shape}."
            )
        return rows

    def _with_classes(self, network: nn.Module, rows: np.ndarray, y: Any) -> np.ndarray:
        numbers = class_numbers(self, y, len(rows))
        if numbers is None:
            return self._evaluate(network, rows)
        return self._evaluate(lambda x, label: network(x, label.long()), rows, numbers.numpy(force=True))

    def _unscale(self, made: np.ndarray) -> np.ndarray:
        return Scaling(self.center_, self.scale_).undo(flat(self, made))

    def _scaling(self, X: np.ndarray, images: bool) -> Scaling:
        if not self.standardize:
            return Scaling.none(X.shape[1])
        return pixel_scaling(X) if images else Scaling.of(X)

    def _as_images(self, X: np.ndarray) -> np.ndarray:
        return shape_images(self, X, self.network_["shape"])

    def _network(self) -> nn.Module:
        return gan_network(**self.network_)

    def _step(self, module: nn.Module, objective: Any, rows: Rows, seeds: Seeds) -> tuple[Step, RowBatches]:
        assert isinstance(module, GANNetwork)
        batches = RowBatches(rows, self._rows_per_update(len(rows)), seeds.order, shuffle=self.shuffle)
        penalty = PENALTY_OF_LOSS[self.loss] if self.penalty == "auto" else self.penalty
        usual = 10.0 if penalty == "between" else 0.1
        rules = Rules(
            self.network_["n_latents"],
            self.loss,
            penalty,
            usual if self.penalty_weight is None else self.penalty_weight,
            self.blur,
        )

        turn = Turn()
        critic = self._moves(batches, len(rows), self.discriminator_rate, self.discriminator_updates)
        players = players_of(module, rules, turn, critic=critic, maker=self._moves(batches, len(rows)))
        left = exponential(1.0, factor=self.penalty_end ** (1 / (self.max_iter * batches.steps_per_epoch)))
        game = Game(
            module, players, turn=turn, penalty_left=left, seed=seeds.noise, average=self.weight_average,
            compute=self._compute(),
        )  # fmt: skip
        return game, batches

    def _depends_on_length(self) -> str:
        falls = f"penalty_end={self.penalty_end} is reached after max_iter epochs" if self.penalty_end != 1 else ""
        return super()._depends_on_length() or falls

    def _remedies(self) -> str:
        return "a smaller learning_rate_init, a penalty, spectral_norm or a clip_norm"

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return super()._threads(module, batch_size) if self.architecture == "mlp" else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.architecture != "mlp" and len(layer_sizes(self.hidden_layer_sizes)) != 2:
            raise ValueError(
                f"GAN: hidden_layer_sizes must be two numbers of channels for {self.architecture!r}; got "
                f"{self.hidden_layer_sizes!r}."
            )


def _part(module: nn.Module, name: str) -> nn.Module:
    return module.get_submodule(name)
