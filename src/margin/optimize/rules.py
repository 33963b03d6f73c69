r"""Update rules: how a gradient becomes a step. Pure: (state, gradient, x, rate) in, (new state, step) out.

A rule is a frozen set of hyperparameters; what it learns along the way is the state it hands back, so any run
can be replayed, compared step by step with another library, or continued from a stored state. ``rate`` is the
learning rate of this step; the new iterate is ``x + step``.

Textbook form; networks use the same rules over all their parameters at once (:mod:`margin.neural`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from margin.optimize.steps import Array

__all__ = [
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamMoments",
    "Descent",
    "Momentum",
    "Nesterov",
    "RMSProp",
    "Rule",
    "hyperparameters",
]


class Rule(Protocol):
    """What the loops ask of a rule."""

    def start(self, x: Array) -> Any:
        """The state before the first gradient."""

    def point(self, state: Any, x: Array) -> Array:
        """Where the next gradient is taken: ``x``, or a look-ahead."""

    def update(self, state: Any, gradient: Array, x: Array, rate: float) -> tuple[Any, Array]:
        """The next state, and the step to add to ``x``."""


class _AtIterate:
    """Rules that take the gradient where they stand."""

    def point(self, state: Any, x: Array) -> Array:
        return x


def _check_fraction(rule: Any, name: str) -> None:
    value = getattr(rule, name)
    if not 0 <= value < 1:
        raise ValueError(f"{type(rule).__name__}: {name} must lie in [0, 1); got {value!r}.")


def hyperparameters(rule: Any) -> dict[str, Any]:
    """What was chosen before the run, as opposed to what the run learns.

    >>> hyperparameters(Momentum(gamma=0.95))
    {'gamma': 0.95, 'convention': 'sum'}
    """
    return asdict(rule)


@dataclass(frozen=True)
class Descent(_AtIterate):
    r"""Plain gradient descent, :math:`\Delta\theta = -\eta g`."""

    def start(self, x: Array) -> None:
        return None

    def update(self, state: None, gradient: Array, x: Array, rate: float) -> tuple[None, Array]:
        return None, -rate * gradient


@dataclass(frozen=True)
class Momentum(_AtIterate):
    r"""Heavy ball. Three conventions for what the state ``v`` accumulates:

    ``sum``:       :math:`v \leftarrow \gamma v + \eta g,\quad \Delta\theta = -v` (weights add to 1/(1-gamma));
    ``average``:   :math:`v \leftarrow \gamma v + (1-\gamma) g,\quad \Delta\theta = -\eta v` (weights add to 1);
    ``unscaled``:  :math:`v \leftarrow \gamma v + g,\quad \Delta\theta = -\eta v` (torch).

    ``sum`` with rate eta equals ``average`` with rate eta/(1-gamma); ``sum`` equals ``unscaled`` as long as
    the rate does not change.
    """

    gamma: float = 0.9
    convention: str = "sum"

    def __post_init__(self) -> None:
        _check_fraction(self, "gamma")
        if self.convention not in ("sum", "average", "unscaled"):
            raise ValueError(f"Momentum: convention must be 'sum', 'average' or 'unscaled'; got {self.convention!r}.")

    def start(self, x: Array) -> Array:
        return np.zeros_like(x)

    def update(self, state: Array, gradient: Array, x: Array, rate: float) -> tuple[Array, Array]:
        if self.convention == "sum":
            velocity = self.gamma * state + rate * gradient
            return velocity, -velocity
        weight = 1 - self.gamma if self.convention == "average" else 1.0
        velocity = self.gamma * state + weight * gradient
        return velocity, -rate * velocity


@dataclass(frozen=True)
class Nesterov:
    r"""Nesterov momentum: the gradient is taken where the velocity is about to carry the iterate.

    .. math:: v \leftarrow \gamma v + \eta\,\nabla f(\theta - \gamma v), \qquad \Delta\theta = -v

    With ``shifted=True`` the state variable is that look-ahead point itself, as torch keeps it: then
    :math:`v \leftarrow \gamma v + \eta g,\ \Delta = -(\gamma v + \eta g)` with g taken at the iterate.
    """

    gamma: float = 0.9
    shifted: bool = False

    def __post_init__(self) -> None:
        _check_fraction(self, "gamma")

    def start(self, x: Array) -> Array:
        return np.zeros_like(x)

    def point(self, state: Array, x: Array) -> Array:
        return x if self.shifted else x - self.gamma * state

    def update(self, state: Array, gradient: Array, x: Array, rate: float) -> tuple[Array, Array]:
        velocity = self.gamma * state + rate * gradient
        if self.shifted:
            return velocity, -(self.gamma * velocity + rate * gradient)
        return velocity, -velocity


@dataclass(frozen=True)
class AdaGrad(_AtIterate):
    r"""A rate per coordinate that shrinks with all squared gradients so far (squares are element-wise).

    .. math:: G \leftarrow G + g^2, \qquad \Delta\theta = -\eta\, g / (\sqrt G + \epsilon)

    ``root=False`` drops the square root: an ablation, not a method to use.
    """

    eps: float = 1e-10
    root: bool = True

    def start(self, x: Array) -> Array:
        return np.zeros_like(x)

    def update(self, state: Array, gradient: Array, x: Array, rate: float) -> tuple[Array, Array]:
        total = state + gradient**2
        scale = np.sqrt(total) if self.root else total
        return total, -rate * gradient / (scale + self.eps)


@dataclass(frozen=True)
class RMSProp(_AtIterate):
    r"""AdaGrad with a decaying average, so that the rate does not vanish.

    .. math:: s \leftarrow \beta s + (1-\beta) g^2, \qquad \Delta\theta = -\eta\, g / (\sqrt s + \epsilon)
    """

    beta: float = 0.99
    eps: float = 1e-8

    def __post_init__(self) -> None:
        _check_fraction(self, "beta")

    def start(self, x: Array) -> Array:
        return np.zeros_like(x)

    def update(self, state: Array, gradient: Array, x: Array, rate: float) -> tuple[Array, Array]:
        average = self.beta * state + (1 - self.beta) * gradient**2
        return average, -rate * gradient / (np.sqrt(average) + self.eps)


class Averages(NamedTuple):
    """AdaDelta's two running averages: of squared gradients and of squared steps."""

    gradients: Array
    steps: Array


@dataclass(frozen=True)
class AdaDelta(_AtIterate):
    r"""The running size of past steps replaces the learning rate (``rate`` only scales, 1 by default).

    .. math:: E_g \leftarrow \rho E_g + (1-\rho) g^2,\quad
              d = \frac{\sqrt{E_d + \epsilon}}{\sqrt{E_g + \epsilon}}\, g,\quad
              E_d \leftarrow \rho E_d + (1-\rho) d^2,\quad \Delta\theta = -\eta d
    """

    rho: float = 0.9
    eps: float = 1e-6

    def __post_init__(self) -> None:
        _check_fraction(self, "rho")

    def start(self, x: Array) -> Averages:
        return Averages(np.zeros_like(x), np.zeros_like(x))

    def update(self, state: Averages, gradient: Array, x: Array, rate: float) -> tuple[Averages, Array]:
        gradients = self.rho * state.gradients + (1 - self.rho) * gradient**2
        move = np.sqrt(state.steps + self.eps) / np.sqrt(gradients + self.eps) * gradient
        steps = self.rho * state.steps + (1 - self.rho) * move**2
        return Averages(gradients, steps), -rate * move


class AdamMoments(NamedTuple):
    """Adam's state: the number of gradients seen and the raw running moments."""

    t: int
    first: Array
    second: Array

    def corrected(self, beta1: float, beta2: float) -> tuple[Array, Array]:
        r"""Unbiased moments :math:`\hat m = m/(1-\beta_1^t),\ \hat v = v/(1-\beta_2^t)`."""
        return self.first / (1 - beta1**self.t), self.second / (1 - beta2**self.t)


@dataclass(frozen=True)
class Adam(_AtIterate):
    r"""First and second moments, each divided by the weight it has gathered after t gradients.

    .. math:: m \leftarrow \beta_1 m + (1-\beta_1) g,\quad v \leftarrow \beta_2 v + (1-\beta_2) g^2,\quad
              \Delta\theta = -\eta \Big( \frac{m/(1-\beta_1^t)}{\sqrt{v/(1-\beta_2^t)} + \epsilon} + \lambda\theta \Big)

    A positive ``weight_decay`` lambda, decoupled from the moments, makes it AdamW.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _check_fraction(self, "beta1")
        _check_fraction(self, "beta2")
        if not self.weight_decay >= 0:
            raise ValueError(f"Adam: weight_decay must not be negative; got {self.weight_decay!r}.")

    def start(self, x: Array) -> AdamMoments:
        return AdamMoments(0, np.zeros_like(x), np.zeros_like(x))

    def update(self, state: AdamMoments, gradient: Array, x: Array, rate: float) -> tuple[AdamMoments, Array]:
        first = self.beta1 * state.first + (1 - self.beta1) * gradient
        second = self.beta2 * state.second + (1 - self.beta2) * gradient**2
        moments = AdamMoments(state.t + 1, first, second)
        m, v = moments.corrected(self.beta1, self.beta2)
        return moments, -rate * (m / (np.sqrt(v) + self.eps) + self.weight_decay * x)
