r"""Gradient flow, and what a finite step adds to it: implicit regularization by backward error analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from margin.optimize.steps import Array

__all__ = ["gradient_flow", "modified_field", "modified_loss", "modified_sgd_field", "modified_sgd_loss"]


def gradient_flow(grad: Callable[[Array], Array], theta0: Any, time: float, *, points: int = 2) -> Array:
    r"""Integrate :math:`\dot\theta = -\nabla L(\theta)` to ``time``: (points, d), equally spaced, the start first.

    Parameters
    ----------
    grad : callable
        Gradient of the loss.
    theta0 : array-like of shape (d,)
        The starting point.
    time : float
        The end of the integration.
    points : int
        States to return, the start and the end among them.

    Examples
    --------
    >>> gradient_flow(lambda t: t, [1.0], 1.0)[-1].round(8)
    array([0.36787944])
    """
    from scipy.integrate import solve_ivp  # slow to import, and only the flow needs it

    start = np.atleast_1d(np.asarray(theta0, dtype=float))
    if not time >= 0 or points < 2:
        raise ValueError(f"gradient_flow: needs time >= 0 and points >= 2; got {time!r} and {points!r}.")
    # Far below the step-size effects that the flow is compared with.
    solution = solve_ivp(
        lambda _, theta: -np.asarray(grad(theta)),
        (0.0, time),
        start,
        method="DOP853",
        t_eval=np.linspace(0.0, time, points),
        rtol=1e-12,
        atol=1e-14,
    )
    if not solution.success:
        raise ValueError(f"gradient_flow: the integration stopped at time {solution.t[-1]:.6g}: {solution.message}")
    return solution.y.T


def modified_loss(loss: float, gradient: Array, rate: float) -> float:
    r"""The loss that gradient descent with a finite step follows: :math:`L + \frac\alpha4 \|\nabla L\|^2` (a plus)."""
    return float(loss + rate / 4 * (gradient @ gradient))


def modified_field(gradient: Array, hessian: Array, rate: float) -> Array:
    r"""Minus its gradient field: :math:`\nabla L + \frac\alpha2 H\nabla L`, to be passed to :func:`gradient_flow`.

    One descent step equals the flow of this field over time alpha up to :math:`O(\alpha^3)`, where the flow of
    the plain gradient is off by :math:`O(\alpha^2)`.
    """
    return gradient + rate / 2 * (hessian @ gradient)


def modified_sgd_loss(losses: Sequence[float], gradients: Sequence[Array], rate: float) -> float:
    r"""B equal batches: :math:`L + \frac\alpha4\|\nabla L\|^2 + \frac\alpha{4B}\sum_b\|\nabla L_b - \nabla L\|^2`."""
    batch = np.stack(gradients)
    mean = batch.mean(axis=0)
    spread = np.sum((batch - mean) ** 2) / len(batch)
    return modified_loss(float(np.mean(losses)), mean, rate) + float(rate / 4 * spread)


def modified_sgd_field(gradients: Sequence[Array], hessians: Sequence[Array], rate: float) -> Array:
    r"""The gradient of :func:`modified_sgd_loss`: :math:`\nabla L + \frac{\alpha}{2B}\sum_b H_b \nabla L_b`.

    The mean over all orders of one epoch equals the flow of this field over time B alpha up to
    :math:`O(\alpha^3)`; the two penalties of the loss together are :math:`\frac{\alpha}{4B}\sum_b\|\nabla L_b\|^2`.
    """
    own = [H @ g for H, g in zip(hessians, gradients)]
    return np.mean(gradients, axis=0) + rate / 2 * np.mean(own, axis=0)
