"""First-order minimizers of any differentiable function: one loop, and one face per update rule."""

from __future__ import annotations

from typing import Any

from margin.optimize.clipping import clip_norm
from margin.optimize.objective import Function, Gradient, Objective
from margin.optimize.rules import AdaDelta, AdaGrad, Adam, Descent, Momentum, Nesterov, RMSProp, Rule
from margin.optimize.schedules import Schedule, as_schedule
from margin.optimize.steps import StepOutcome, Steps, length

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamw",
    "descend",
    "gradient_descent",
    "momentum",
    "nesterov",
    "rmsprop",
]

Rate = float | Schedule


def descend(
    f: Function,
    grad: Gradient,
    x0: Any,
    rule: Rule,
    *,
    learning_rate: Rate,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
    name: str = "descend",
) -> Steps:
    """Follow ``rule`` from ``x0`` until the gradient norm is at most ``tol``.

    ``learning_rate`` is a number or a schedule; ``max_norm`` clips gradients before the rule sees them.

    Parameters
    ----------
    f : callable
        The function to minimize, of an array of the shape of ``x0``.
    grad : callable, True, "torch" or None
        Its gradient; True where ``f`` returns (value, gradient), "torch" where it is written with torch
        operations, None for central differences.
    x0 : array-like
        The starting point.
    rule : Rule
        How a gradient becomes a step, e.g. ``Adam()`` from :mod:`margin.optimize.rules`.
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.
    max_iter : int
        Most iterations.
    tol : float
        The gradient norm at which it ends.
    max_norm : float, optional
        Longer gradients are shortened to this norm first.
    name : str
        What messages and errors call this method.
    """
    objective = Objective(name, f, grad, x0, max_iter=max_iter)
    rate = as_schedule(learning_rate)
    x, state = objective.x, rule.start(objective.x)
    value, gradient = objective.both(x)
    norm = length(gradient)
    yield objective.record(0, x, value, norm, 0.0)
    first = value
    for t in range(1, max_iter + 1):
        if norm <= tol:
            return StepOutcome(True, f"{name}: gradient norm {norm:.3g} at step {t - 1}.")
        point = rule.point(state, x)
        used = gradient if point is x else objective.gradient(point)
        used = used if max_norm is None else clip_norm(used, max_norm)
        state, move = rule.update(state, used, x, rate(t - 1))
        x = x + move
        value, gradient = objective.both(x)
        norm = length(gradient)
        yield objective.record(t, x, value, norm, length(move))
    if norm <= tol:
        return StepOutcome(True, f"{name}: gradient norm {norm:.3g} at step {max_iter}.")
    rose = (
        f"; the value rose from {first:.6g} to {value:.6g}, so the learning rate is too large" if value > first else ""
    )
    return StepOutcome(False, f"{name}: gradient norm {norm:.3g} above tol after {max_iter} steps{rose}.")


def gradient_descent(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 0.1,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    r"""Gradient descent :math:`\theta_{t+1} = \theta_t - \eta_t \nabla f(\theta_t)`.

    Converges on a quadratic exactly when eta < 2/L, L the largest curvature.

    Parameters
    ----------
    f : callable
        The function to minimize, of an array of the shape of ``x0``.
    grad : callable, True, "torch" or None
        Its gradient; True where ``f`` returns (value, gradient), "torch" where it is written with torch
        operations, None for central differences.
    x0 : array-like
        The starting point.
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.

    The others are those of :func:`descend`.

    Examples
    --------
    >>> *_, last = gradient_descent(lambda x: x @ x / 2, lambda x: x, [4.0, -2.0], learning_rate=0.5)
    >>> bool(last.gradient_norm <= 1e-6)
    True
    """
    return descend(
        f,
        grad,
        x0,
        Descent(),
        learning_rate=learning_rate,
        max_iter=max_iter,
        tol=tol,
        max_norm=max_norm,
        name="gradient_descent",
    )


def momentum(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 0.01,
    gamma: float = 0.9,
    convention: str = "sum",
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    """Heavy-ball momentum; see :class:`~margin.optimize.rules.Momentum` for the conventions.

    Parameters
    ----------
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.
    gamma : float in [0, 1)
        Fraction of the velocity that is kept.
    convention : {"sum", "average", "unscaled"}
        What the velocity accumulates.

    The others are those of :func:`descend`.
    """
    rule = Momentum(gamma, convention)
    return descend(
        f, grad, x0, rule, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name="momentum"
    )


def nesterov(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 0.01,
    gamma: float = 0.9,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    """Nesterov's look-ahead momentum; see :class:`~margin.optimize.rules.Nesterov`.

    Parameters
    ----------
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.
    gamma : float in [0, 1)
        Fraction of the velocity that is kept.

    The others are those of :func:`descend`.
    """
    rule = Nesterov(gamma)
    return descend(
        f, grad, x0, rule, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name="nesterov"
    )


def adagrad(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 0.1,
    eps: float = 1e-10,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    """AdaGrad; see :class:`~margin.optimize.rules.AdaGrad`.

    Parameters
    ----------
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.
    eps : float
        Added to the denominator.

    The others are those of :func:`descend`.
    """
    rule = AdaGrad(eps)
    return descend(
        f, grad, x0, rule, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name="adagrad"
    )


def rmsprop(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 0.01,
    beta: float = 0.99,
    eps: float = 1e-8,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    """RMSProp; see :class:`~margin.optimize.rules.RMSProp`. With a constant rate it hovers around a minimum.

    Parameters
    ----------
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.
    beta : float in [0, 1)
        Decay of the running mean of squared gradients.
    eps : float
        Added to the denominator.

    The others are those of :func:`descend`.
    """
    rule = RMSProp(beta, eps)
    return descend(
        f, grad, x0, rule, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name="rmsprop"
    )


def adadelta(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 1.0,
    rho: float = 0.9,
    eps: float = 1e-6,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    """AdaDelta; see :class:`~margin.optimize.rules.AdaDelta`.

    Parameters
    ----------
    learning_rate : float or Schedule
        Factor of the step.
    rho : float in [0, 1)
        Decay of the running mean of squared gradients and of squared steps.
    eps : float
        Added to both running means.

    The others are those of :func:`descend`.
    """
    rule = AdaDelta(rho, eps)
    return descend(
        f, grad, x0, rule, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name="adadelta"
    )


def adam(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    """Adam; see :class:`~margin.optimize.rules.Adam`.

    Parameters
    ----------
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.
    beta1 : float in [0, 1)
        Decay of the running mean of gradients.
    beta2 : float in [0, 1)
        Decay of the running mean of squared gradients.
    eps : float
        Added to the denominator.

    The others are those of :func:`descend`.
    """
    rule = Adam(beta1, beta2, eps)
    return descend(
        f, grad, x0, rule, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name="adam"
    )


def adamw(
    f: Function,
    grad: Gradient,
    x0: Any,
    *,
    learning_rate: Rate = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
) -> Steps:
    """Adam with decoupled weight decay: it pulls towards 0, so its limit is not the minimum of ``f`` alone.

    Parameters
    ----------
    learning_rate : float or Schedule
        Learning rate, or a schedule from :mod:`margin.optimize.schedules`.
    beta1 : float in [0, 1)
        Decay of the running mean of gradients.
    beta2 : float in [0, 1)
        Decay of the running mean of squared gradients.
    eps : float
        Added to the denominator.
    weight_decay : float
        Decay of the weights per step, times the learning rate.

    The others are those of :func:`descend`.
    """
    rule = Adam(beta1, beta2, eps, weight_decay)
    return descend(
        f, grad, x0, rule, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name="adamw"
    )
