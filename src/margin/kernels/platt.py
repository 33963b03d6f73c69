r"""Probabilities from decision values: :math:`P(y=1\mid f) = 1/(1+e^{Af+B})` (Platt, 1999; Lin, Lin and Weng, 2007)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fit_sigmoid", "sigmoid_probability"]

Floats = NDArray[np.float64]

MAX_STEPS, GRADIENT_TOLERANCE = 100, 1e-8
RIDGE = 1e-12  # keeps the Hessian invertible when all decision values are equal


def sigmoid_probability(decision: Floats, slope: float, shift: float) -> Floats:
    """The probability of the positive class, without overflow."""
    return np.exp(-np.logaddexp(0.0, slope * decision + shift))


def fit_sigmoid(decision: Floats, positive: NDArray[np.bool_], weights: Floats | None = None) -> tuple[float, float]:
    r"""A and B that minimize the cross-entropy against Platt's targets, by Newton's method with backtracking.

    The targets :math:`(N_++1)/(N_++2)` and :math:`1/(N_-+2)` in place of 1 and 0 keep A finite when the values separate
    the classes.

    >>> A, B = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))
    >>> A < 0, round(abs(B), 6)
    (True, 0.0)
    """
    w = np.ones(len(decision)) if weights is None else weights
    n_positive, n_negative = float(w[positive].sum()), float(w[~positive].sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    # The scale of the values must not matter for the conditioning of the two unknowns.
    unit = float(np.max(np.abs(decision), initial=0.0)) or 1.0
    f = decision / unit
    theta = np.array([0.0, np.log((n_negative + 1) / (n_positive + 1))])

    def loss(point: Floats) -> float:
        z = point[0] * f + point[1]
        return float(w @ (target * z + np.logaddexp(0.0, -z)))

    value = loss(theta)
    for _ in range(MAX_STEPS):
        p = sigmoid_probability(f, theta[0], theta[1])
        slope, curvature = w * (target - p), w * p * (1 - p)
        gradient = np.array([slope @ f, slope.sum()])
        if np.max(np.abs(gradient)) <= GRADIENT_TOLERANCE * max(1.0, w.sum()):
            break
        cross = curvature @ f
        hessian = np.array([[curvature @ f**2 + RIDGE, cross], [cross, curvature.sum() + RIDGE]])
        step = np.linalg.solve(hessian, -gradient)
        size, drop = 1.0, float(gradient @ step)
        while size > 1e-10 and loss(theta + size * step) > value + 1e-4 * size * drop:
            size /= 2
        theta = theta + size * step
        value = loss(theta)
    return float(theta[0] / unit), float(theta[1])
