r"""Losses of a prediction :math:`F`, with the derivatives that boosting descends along.

Each loss knows its best constant, its value with gradient and hessian in :math:`F`, and how a raw prediction
becomes an answer. Where the hessian is zero or says nothing (absolute, quantile and Huber loss), trees are fitted to
the gradient with hessian 1 and :meth:`Loss.best_step` then finds each leaf's value exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from margin.core.quantiles import weighted_quantile
from margin.foundations.probability.softmax import softmax_rows
from margin.trees.boosting.leaf_location import huber_location

__all__ = [
    "SMALLEST_CURVATURE",
    "AbsoluteLoss",
    "ExponentialLoss",
    "GammaLoss",
    "HuberLoss",
    "LogisticLoss",
    "Loss",
    "MultinomialLoss",
    "PoissonLoss",
    "QuantileLoss",
    "SquaredLoss",
    "pseudo_residuals",
]

# A fraction of 0 or 1 has an infinite log-odds; the start stays at the odds of one in 10^12.
SMALLEST_FRACTION = 1e-12

# Below this a leaf has no curvature: a Newton step of more than 10^150 is no step, and several would not be finite.
SMALLEST_CURVATURE = 1e-150


class Loss(ABC):
    """A loss :math:`L(y, F)`; predictions are (n,), or (n, outputs) where there is more than one."""

    outputs: int = 1
    constant_hessian: bool = False  # the hessian is 1 for every row
    line_search: bool = False  # leaf values come from best_step
    leaf_factor: float = 1.0  # what leaf values are multiplied by

    @property
    def plain_steps(self) -> bool:
        """Whether leaf values are the factor times the Newton step, and nothing else."""
        return not self.line_search and type(self).newton_step is Loss.newton_step

    @abstractmethod
    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        r"""The best constant, :math:`F_0 = \arg\min_\gamma \sum_i w_i L(y_i, \gamma)`, (outputs,)."""

    @abstractmethod
    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Loss (n,), gradient and hessian (both like ``F``) of every row; what they share is computed once."""

    def best_step(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> float:
        r"""The line search of a leaf, :math:`\arg\min_\gamma \sum_i w_i L(y_i, F_i + \gamma)`."""
        raise TypeError(f"{type(self).__name__} has a hessian: its leaves take a Newton step.")

    def newton_step(self, gradient: np.ndarray, hessian: np.ndarray, l2: float) -> np.ndarray:
        r"""Leaf values :math:`-G/(H+\lambda)` from summed derivatives; 0 where there is no curvature."""
        curvature = hessian + l2
        steps = np.divide(gradient, curvature, out=np.zeros_like(gradient), where=curvature > SMALLEST_CURVATURE)
        return self.leaf_factor * -steps

    def adapt(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> Loss:
        """The loss to descend along from ``F``; only Huber's changes on the way."""
        return self

    def answer(self, F: np.ndarray) -> np.ndarray:
        """What a raw prediction says about ``y``: a mean, a quantile, or the probability of every class."""
        return F


def pseudo_residuals(loss: Loss, y: np.ndarray, F: np.ndarray) -> np.ndarray:
    r"""The direction of steepest descent in the predictions, :math:`r_i = -\partial L(y_i, F_i)/\partial F_i`.

    >>> pseudo_residuals(SquaredLoss(), np.array([3.0, 1.0]), np.array([1.0, 1.5]))
    array([ 2. , -0.5])
    """
    return -loss.evaluate(y, F)[1]


@dataclass(frozen=True)
class SquaredLoss(Loss):
    r""":math:`\tfrac12 (y - F)^2`: the pseudo-residual is the residual, a leaf's best value the mean residual."""

    constant_hessian = True

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.atleast_1d(np.average(y, weights=weight))

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        gradient = F - y
        return 0.5 * gradient * gradient, gradient, np.ones_like(F)


@dataclass(frozen=True)
class QuantileLoss(Loss):
    r"""The pinball loss :math:`\alpha (y-F)_+ + (1-\alpha)(F-y)_+`, least at the ``alpha``-quantile."""

    alpha: float = 0.5
    constant_hessian = True
    line_search = True

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.atleast_1d(weighted_quantile(y, weight, self.alpha))

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        residual = y - F
        slope = np.where(residual >= 0, -self.alpha, 1 - self.alpha)
        gradient = np.where(residual == 0, 0.0, slope)
        return -slope * residual, gradient, np.ones_like(F)

    def best_step(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> float:
        return weighted_quantile(y - F, weight, self.alpha)


@dataclass(frozen=True)
class AbsoluteLoss(Loss):
    r""":math:`|y - F|`, least at the median."""

    constant_hessian = True
    line_search = True

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.atleast_1d(weighted_quantile(y, weight, 0.5))

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        residual = y - F
        return np.abs(residual), -np.sign(residual), np.ones_like(F)

    def best_step(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> float:
        return weighted_quantile(y - F, weight, 0.5)


@dataclass(frozen=True)
class HuberLoss(Loss):
    r""":math:`\tfrac12 r^2` up to :math:`|r| = \delta`, then :math:`\delta(|r| - \tfrac12\delta)`; :math:`r = y - F`.

    :math:`\delta` is the ``alpha``-quantile of the absolute residuals that there are, so it shrinks with them.
    """

    alpha: float = 0.9
    delta: float = 1.0
    constant_hessian = True
    line_search = True

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.atleast_1d(weighted_quantile(y, weight, 0.5))

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        residual = y - F
        size = np.abs(residual)
        inside = np.minimum(size, self.delta)
        return inside * (size - 0.5 * inside), -np.clip(residual, -self.delta, self.delta), np.ones_like(F)

    def best_step(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> float:
        return huber_location(y - F, weight, self.delta)

    def adapt(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> HuberLoss:
        return HuberLoss(self.alpha, weighted_quantile(np.abs(y - F), weight, self.alpha))


@dataclass(frozen=True)
class PoissonLoss(Loss):
    r""":math:`e^F - yF`: counts with mean :math:`e^F`, up to a constant half their deviance."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.atleast_1d(np.log(np.average(y, weights=weight)))

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mean = np.exp(F)
        return mean - y * F, mean - y, mean

    def newton_step(self, gradient: np.ndarray, hessian: np.ndarray, l2: float) -> np.ndarray:
        """Upward, the exact minimizer: the exponential makes Newton's step overshoot there without bound."""
        step = super().newton_step(gradient, hessian, l2)
        return np.where(step > 0, np.log1p(np.maximum(step, 0.0)), step)

    def answer(self, F: np.ndarray) -> np.ndarray:
        return np.exp(F)


@dataclass(frozen=True)
class GammaLoss(Loss):
    r""":math:`F + y e^{-F}`: positive targets with mean :math:`e^F` and deviation in proportion to it."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.atleast_1d(np.log(np.average(y, weights=weight)))

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ratio = y * np.exp(-F)
        return F + ratio, 1.0 - ratio, ratio

    def newton_step(self, gradient: np.ndarray, hessian: np.ndarray, l2: float) -> np.ndarray:
        """Downward, the exact minimizer: Newton's step overshoots there without bound."""
        step = super().newton_step(gradient, hessian, l2)
        return np.where(step < 0, -np.log1p(np.maximum(-step, 0.0)), step)

    def answer(self, F: np.ndarray) -> np.ndarray:
        return np.exp(F)


@dataclass(frozen=True)
class LogisticLoss(Loss):
    r""":math:`\log(1 + e^F) - yF` for :math:`y \in \{0, 1\}`; :math:`F` is the log-odds of class 1."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        fraction = np.clip(np.average(y, weights=weight), SMALLEST_FRACTION, 1 - SMALLEST_FRACTION)
        return np.atleast_1d(np.log(fraction / (1 - fraction)))

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        small = np.exp(-np.abs(F))  # never overflows
        larger = 1.0 / (1.0 + small)  # the probability of the likelier class
        smaller = small * larger
        probability = np.where(F >= 0, larger, smaller)
        loss = np.maximum(F, 0.0) - y * F - np.log(larger)
        return loss, probability - y, smaller * larger

    def answer(self, F: np.ndarray) -> np.ndarray:
        small = np.exp(-np.abs(F))
        larger = 1.0 / (1.0 + small)
        smaller = small * larger
        second = np.where(F >= 0, larger, smaller)
        return np.column_stack([np.where(F >= 0, smaller, larger), second])


@dataclass(frozen=True)
class ExponentialLoss(Loss):
    r""":math:`e^{-(2y-1)F}` for :math:`y \in \{0, 1\}`, AdaBoost's loss; :math:`F` is half the log-odds of class 1."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return 0.5 * LogisticLoss().start(y, weight)

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sign = 1.0 - 2.0 * y
        loss = np.exp(sign * F)
        return loss, sign * loss, loss

    def answer(self, F: np.ndarray) -> np.ndarray:
        return LogisticLoss().answer(2.0 * F)


@dataclass(frozen=True)
class MultinomialLoss(Loss):
    r""":math:`\log\sum_k e^{F_k} - F_y` for :math:`y \in \{0, \dots, K-1\}`, one prediction per class.

    The hessian is the diagonal of the true one, :math:`p_k(1-p_k)`. Other libraries multiply it by
    :math:`K/(K-1)` (LightGBM) or 2 (XGBoost), which only shortens every step, as a learning rate smaller by
    that factor would: within the noise of test rows the first changes nothing, and the second needs more rounds.
    """

    outputs: int = 3
    leaf_factor: float = 1.0  # Friedman's (K - 1) / K, or 1

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        fractions = np.bincount(y.astype(np.int64), weights=weight, minlength=self.outputs) / weight.sum()
        logs = np.log(np.clip(fractions, SMALLEST_FRACTION, None))
        return logs - logs.mean()

    def evaluate(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        top = F.max(axis=1, keepdims=True)
        gradient = np.exp(F - top)
        total = gradient.sum(axis=1, keepdims=True)
        gradient /= total  # the probabilities
        hessian = gradient * (1.0 - gradient)
        own = (np.arange(len(y)), y.astype(np.int64))
        loss = (top + np.log(total)).ravel() - F[own]
        gradient[own] -= 1.0
        return loss, gradient, hessian

    def answer(self, F: np.ndarray) -> np.ndarray:
        return softmax_rows(F)
