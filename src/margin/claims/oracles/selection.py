"""Parts of errors and features of sweeps against their definitions written out."""

from __future__ import annotations

import numpy as np
from scipy.special import eval_legendre

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.selection.double_descent import legendre_features
from margin.selection.loss_parts import squared_parts


@oracle("margin.selection.loss_parts.squared_parts")
def parts_of_squared_errors(seed: int) -> Verdict:
    """The parts add up to the mean squared error of new targets, and the bias is that of the mean but for chance."""
    rng = np.random.default_rng(seed)
    said, mean, noise = rng.normal(0.7, 1.4, size=(6, 4)), rng.normal(size=4), np.array([0.3, 0.5, 0.1, 0.9])
    parts = squared_parts(said, mean, noise)
    variance = [sum((v - column.mean()) ** 2 for v in column) / 5 for column in said.T]
    error = np.mean((said - mean) ** 2, axis=0)
    return every(
        variance=near(parts.variance, variance, tolerance=1e-12),
        noise=near(parts.noise, noise, tolerance=1e-12),
        bias=near(parts.bias, error - variance, tolerance=1e-12),
        total=near(parts.total, error + noise, tolerance=1e-12),
    )


@oracle("margin.selection.double_descent.legendre_features")
def orthonormal_polynomials(seed: int) -> Verdict:
    x = np.random.default_rng(seed).uniform(-1, 1, size=7)
    wanted = [eval_legendre(k, x) * np.sqrt(k + 0.5) * (1.0 + k) ** -1.3 for k in range(5)]
    return near(legendre_features(x, 5, decay=1.3), np.array(wanted).T, tolerance=1e-10)
