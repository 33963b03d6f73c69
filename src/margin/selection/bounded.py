r"""Regressions that do not leave what the training targets support.

A polynomial, a spline or a network may predict anything for a row unlike those of training: two rows of 3,333 predicted
a million times too large decide the error of all. No table supports such a number. Predictions are kept within

.. math:: [\min_i y_i - m s,\ \max_i y_i + m s],\qquad s^2 = \tfrac1n \sum_i (y_i - \bar y)^2,

with m = 1: a new target lies outside the range of n others with probability 2 / (n + 1), and then, if the tail falls
off exponentially or faster, by one standard deviation of it or less on average. A heavier tail makes s and the range
themselves large. Where rows are ordered by time a trend may go on: m is then the square root of twelve, by which a
straight trend goes on for as long again as it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.invariants import NO_COLUMNS, Form, Real, steps_are_named_models
from margin.core.streaming import RowBlock, Stream
from margin.foundations.statistics.streaming import Moments
from margin.selection.stored import bounds_are_numbers

__all__ = ["MARGIN", "MARGIN_IN_TIME", "BoundedPipeline", "bounded_prediction"]

MARGIN, MARGIN_IN_TIME = 1.0, 12**0.5  # standard deviations of the training targets, as above


class BoundedPipeline(Pipeline):
    """A ``Pipeline`` that ends in a regressor and predicts within the range of the training targets and ``margin``
    times their standard deviation beyond it; ``set_params(margin=np.inf)`` bounds nothing.

    >>> from margin.linear import LinearRegression
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> line = BoundedPipeline([("model", LinearRegression())], margin=0.0).fit(x, [0.0, 1.0, 2.0])
    >>> line.predict([[1.5], [1e9], [-4.0]]).round(9).tolist()
    [1.5, 2.0, 0.0]
    """

    _stored_form = Form(
        {
            **NO_COLUMNS,
            "lowest_": Real(finite=True),
            "highest_": Real(finite=True),
            "deviation_": Real(0.0, finite=True),
        },
        [steps_are_named_models, bounds_are_numbers],
    )

    def __init__(
        self,
        steps: Any,
        *,
        margin: float = MARGIN,
        transform_input: Any = None,
        memory: Any = None,
        verbose: bool = False,
    ):
        super().__init__(steps, transform_input=transform_input, memory=memory, verbose=verbose)
        self.margin = margin

    def __getitem__(self, ind: Any) -> Any:
        part = super().__getitem__(ind)
        if isinstance(ind, slice):
            part.margin = self.margin
        return part

    def fit(self, X: Any, y: Any = None, **params: Any) -> BoundedPipeline:
        """Fit all steps, and learn the bounds."""
        if not self.margin >= 0:
            raise ValueError(f"BoundedPipeline: margin must be at least 0; got {self.margin!r}.")
        super().fit(X, y, **params)
        return self.learn_bounds(y)

    def learn_bounds(self, y: ArrayLike) -> BoundedPipeline:
        """What of the targets is needed to bound a prediction; ``fit`` calls it."""
        targets = np.asarray(y, dtype=np.float64)
        self.lowest_, self.highest_ = float(targets.min()), float(targets.max())
        unit = max(abs(self.lowest_), abs(self.highest_)) or 1.0  # squares need not overflow
        self.deviation_ = float(unit * np.std(targets / unit))
        return self

    def learn_bounds_of(self, stream: Stream) -> BoundedPipeline:
        """What ``learn_bounds`` takes from the targets of all rows of a stream, in one pass."""
        self.lowest_, self.highest_, moments = stream.reduce(_extent_of, _merged_extents)
        self.deviation_ = float(np.sqrt(moments.variance()))
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that can be predicted."""
        beyond = self.margin * self.deviation_ if self.deviation_ else 0.0
        return self.lowest_ - beyond, self.highest_ + beyond

    def predict(self, X: MatrixLike, **params: Any) -> Any:
        """What the last step predicts, within the bounds."""
        predicted = super().predict(X, **params)
        if isinstance(predicted, tuple):  # the mean comes with its standard deviation
            return (np.clip(predicted[0], *self.bounds), *predicted[1:])
        return np.clip(predicted, *self.bounds)

    def excess(self, predicted: np.ndarray) -> float:
        """How far the farthest of these numbers is outside the range of the training targets, in lengths of it."""
        outside = np.maximum(self.lowest_ - predicted, predicted - self.highest_).max(initial=0.0)
        # The size of the target itself where it is constant: rounding is small beside that.
        length = self.highest_ - self.lowest_ or abs(self.highest_) or 1.0
        return float(outside / length)


def _extent_of(block: RowBlock) -> tuple[float, float, Moments]:
    targets = np.asarray(block.y, dtype=np.float64)
    return float(targets.min()), float(targets.max()), Moments.of(targets)


def _merged_extents(first: tuple[float, float, Moments], second: tuple[float, float, Moments]) -> Any:
    return min(first[0], second[0]), max(first[1], second[1]), first[2].merge(second[2])


def bounded_prediction(model: Any, X: MatrixLike) -> tuple[np.ndarray, float]:
    """The prediction of a fitted ``model`` for ``X`` and how far it would have left the training targets unbounded
    (:meth:`BoundedPipeline.excess`); 0 for a model without bounds.

    A model behind a transformed target has its bounds in the unit of what it was taught.
    """
    model = getattr(model, "best_", model)  # of a search
    inner = getattr(model, "regressor_", model)
    if not isinstance(inner, BoundedPipeline):
        return np.asarray(model.predict(X)), 0.0
    free = np.asarray(Pipeline.predict(inner, X), dtype=np.float64)
    predicted = np.clip(free, *inner.bounds)
    if inner is not model:
        predicted = model.transformer_.inverse_transform(predicted.reshape(len(predicted), -1)).reshape(free.shape)
    return predicted, inner.excess(free)
