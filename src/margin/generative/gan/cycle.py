"""The estimator of a cycle of two maps: translation between two sets of which no row belongs to one of the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from math import prod
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import nn

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Integer, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute, default, parameter
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.data.image_arrays import ROW_SHAPE, flat_pictures, order_of_pixels, row_layout
from margin.generative.gan.estimator import GameEstimator, no_objective
from margin.generative.gan.game import Game, GANNetwork
from margin.generative.gan.networks import SMALLEST_SIDE
from margin.generative.gan.translation import cycle_terms, judge_terms
from margin.generative.gan.translators import BothJudges, BothWays
from margin.generative.images import check_image_shape, flat, pixel_scaling, shape_images
from margin.generative.stored_systems import CYCLE_NETWORK, ROW_SHAPE_FORM, cycle_is_stored
from margin.neural.estimators.parameters import LAYER_SIZES, layer_sizes
from margin.neural.generators import Seeds
from margin.neural.scaling import Scaling
from margin.neural.training import Player, RowBatches, Rows, Step, TensorRows
from margin.optimize.rate_schedules import RateSchedule

__all__ = ["CycleGAN", "beside", "cycle_network"]


def beside(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Both sets with equally many rows: those of the smaller one come again, in orders drawn anew.

    >>> beside(np.array([1, 2, 3, 4]), np.array([5]), np.random.default_rng(0))
    (array([1, 2, 3, 4]), array([5, 5, 5, 5]))
    """
    n = max(len(a), len(b))

    def fill(rows: np.ndarray) -> np.ndarray:
        more = [rng.permutation(len(rows)) for _ in range(n // len(rows))] if len(rows) < n else []
        return rows[np.concatenate([np.arange(len(rows)), *more])[:n]]

    return fill(a), fill(b)


def cycle_network(n_features: int, n_targets: int, hidden: Sequence[int], shape: Sequence[int]) -> GANNetwork:
    """The two maps and the two judges of a cycle; of images if there is a ``shape``."""
    images = list(shape) or None
    return GANNetwork(
        BothWays(n_features, n_targets, hidden, images), BothJudges(n_features, n_targets, hidden, images)
    )


class CycleGAN(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GameEstimator):
    r"""Translation between two unpaired sets of rows or images, of any two sizes.

    .. math:: L = -\log D_B(G(a)) - \log D_A(F(b)) + \lambda\,\bigl(|F(G(a)) - a|_1 + |G(F(b)) - b|_1\bigr)

    ``fit(A, B)`` learns two maps that fool a judge of each set and lead back to where they started: ``transform`` takes
    rows of A to B, ``inverse_transform`` rows of B to A. No row of A belongs to one of B. Tables may have different
    columns; images must have one shape. The judges pay for their slope at real rows, without which the game goes round
    in circles. A map between sets is not told which of all maps it is to be: look at what it does.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(64, 2)), rng.normal(3, 1, size=(90, 3))
    >>> model = CycleGAN((8,), max_iter=2, random_state=0).fit(A, B)
    >>> model.transform(A).shape, model.inverse_transform(B).shape
    ((64, 3), (90, 2))
    """

    hidden_layer_sizes: Sequence[int] | int = parameter(
        (64,), LAYER_SIZES, "Units of the hidden layers of maps and judges; of images, channels of the convolutions."
    )
    _: KW_ONLY
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1), min_length=2)),
        "(height, width), (height, width, channels) or (channels, height, width) of the images that rows of both sets "
        "hold; None: that of the first set, where it is pictures.",
    )
    cycle_weight: float = parameter(
        2.0, Number(low=0, search=(0.1, 20.0), log=True), "Weight of the way back, the lambda of the equation."
    )
    penalty_weight: float = parameter(
        0.1, Number(low=0, search=(0.01, 10.0), log=True), "Weight of the judges' squared slope at real rows."
    )
    alpha: float = default(0.0, "Decoupled weight decay of 'adamw' and 'muon'.")
    beta_1: float = default(0.5, "Decay of Adam's mean of the gradient; small, since it turns.")
    beta_2: float = default(0.99)
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = default(5e-3)
    weight_average: float | None = default(
        0.98, "Decay of an exponential average of the maps' weights, which then translate; None: the last weights do."
    )
    batch_size: int | str = default(64)
    max_iter: int = default(50, "Most epochs of the larger set.")

    center_: np.ndarray = attribute(
        ArrayOf("n_features"), "What is subtracted from every column of the first set for the networks."
    )
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column of the first set is divided by.")
    target_center_: np.ndarray = attribute(
        ArrayOf("n_targets"), "What is subtracted from every column of the second set."
    )
    target_scale_: np.ndarray = attribute(ArrayOf("n_targets"), "What every column of the second set is divided by.")
    row_shape_: list[int] | None = attribute(ROW_SHAPE_FORM, ROW_SHAPE)
    network_: dict[str, Any] = attribute(CYCLE_NETWORK)
    _stored_rules = (cycle_is_stored,)

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from the sets ``X`` (A) and ``y`` (B), yielding records with the losses and the cycle's error."""
        self._check_parameters()
        if y is None:
            raise ValueError("CycleGAN: requires y to be passed, but the target y is None; y holds the second set.")
        X, picture = flat_pictures("CycleGAN", X, self.image_shape)
        A = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        images = picture is not None
        shape = check_image_shape(self, A.shape[1], picture) if images else ()
        self._refuse_other_pictures("y", y, shape)
        B = self._second("y", y, picture).astype(A.dtype, copy=False)
        if images and A.shape[1] != B.shape[1]:
            raise ValueError(
                f"CycleGAN: images of both sets must have one shape; got {A.shape[1]} and {B.shape[1]} pixels."
            )
        if images and min(shape[1:]) < SMALLEST_SIDE:
            raise ValueError(f"CycleGAN: images must have sides of at least {SMALLEST_SIDE} pixels; got {shape[1:]}.")
        seed = self._seed(state)
        if not self._goes_on():
            scaling = pixel_scaling if images else Scaling.of
            (self.center_, self.scale_), (self.target_center_, self.target_scale_) = scaling(A), scaling(B)
        self.row_shape_ = None if picture is None else list(picture)
        self.network_ = {
            "n_features": A.shape[1],
            "n_targets": B.shape[1],
            "hidden": layer_sizes(self.hidden_layer_sizes),
            "shape": list(shape),
        }
        rows = TensorRows.of(
            *beside(self._network_input(A, self._of_a), self._network_input(B, self._of_b), as_generator(seed))
        )
        everything, nothing = np.arange(len(rows)), np.arange(0)
        yield from self._train(no_objective, rows, everything, nothing, seed=seed, state=state)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Rows of the first set as rows of the second."""
        check_is_fitted(self)
        self._refuse_other_pictures("X", X, self.network_["shape"])
        X, _ = flat_pictures("CycleGAN", X, order_of_pixels(self))
        A = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return self._translate("forth", A, self._of_a, self._of_b)

    def inverse_transform(self, X: MatrixLike) -> np.ndarray:
        """Rows of the second set as rows of the first."""
        check_is_fitted(self)
        self._refuse_other_pictures("X", X, self.network_["shape"])
        B = self._second("X", X, order_of_pixels(self))
        if B.shape[1] != self.network_["n_targets"]:
            raise ValueError(
                f"CycleGAN: X must have the {self.network_['n_targets']} columns of the second set; got {B.shape[1]}."
            )
        return self._translate("back", B, self._of_b, self._of_a)

    def _refuse_other_pictures(self, name: str, rows: Any, shape: Sequence[int]) -> None:
        """Pictures are of the shape that the maps take, not only of as many pixels."""
        seen = tuple(getattr(rows, "shape", ()))[1:]
        if not shape or len(seen) not in (2, 3) or prod(seen) != prod(shape):
            return
        if row_layout("CycleGAN", seen, prod(seen))[0] != tuple(shape):
            raise ValueError(
                f"CycleGAN: pictures in {name} must have {shape[0]} channels of {shape[1]} x {shape[2]} pixels, as "
                f"those of the first set; got shape {seen}."
            )

    def _second(self, name: str, rows: Any, picture: Sequence[int] | None) -> np.ndarray:
        """Rows of the second set; plain numbers are a set of one column."""
        rows, _ = flat_pictures("CycleGAN", rows, picture)
        dtypes = [np.float64, np.float32]
        rows = check_array(rows, dtype=dtypes, order="C", ensure_2d=False, input_name=name, estimator=self)
        return rows[:, None] if rows.ndim == 1 else rows

    def _translate(self, way: str, rows: np.ndarray, given: Scaling, wanted: Scaling) -> np.ndarray:
        network = self._ready_module().get_submodule(f"generator.{way}")
        made = flat(self, self._evaluate(network, self._network_input(rows, given)))
        return wanted.undo(made.astype(np.float64)).astype(rows.dtype, copy=False)

    def _network_input(self, rows: np.ndarray, scaling: Scaling) -> np.ndarray:
        return shape_images(self, scaling.apply(rows), self.network_["shape"])

    @property
    def _of_a(self) -> Scaling:
        return Scaling(self.center_, self.scale_)

    @property
    def _of_b(self) -> Scaling:
        return Scaling(self.target_center_, self.target_scale_)

    @property
    def _n_features_out(self) -> int:
        return self.network_["n_targets"]

    def _network(self) -> nn.Module:
        return cycle_network(**self.network_)

    def _step(self, module: nn.Module, objective: Any, rows: Rows, seeds: Seeds) -> tuple[Step, RowBatches]:
        assert isinstance(module, GANNetwork)
        batches = RowBatches(rows, self._rows_per_update(len(rows)), seeds.order, shuffle=self.shuffle)
        judges = partial(judge_terms, penalty_weight=self.penalty_weight)
        maps = partial(cycle_terms, cycle_weight=self.cycle_weight)
        players = [
            Player("discriminator", module.discriminator, judges, **self._moves(batches, len(rows))),
            Player("generator", module.generator, maps, **self._moves(batches, len(rows))),
        ]
        return Game(module, players, seed=seeds.noise, average=self.weight_average, compute=self._compute()), batches

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None if self.network_["shape"] else super()._threads(module, batch_size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
