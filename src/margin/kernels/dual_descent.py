r"""Coordinate descent in the dual of the squared hinge (Hsieh et al. 2008), for many sparse rows.

.. math::
    \min_{\alpha \ge 0}\; \tfrac12\Bigl\|\sum_i\alpha_iy_ix_i\Bigr\|^2 + \sum_i\frac{\alpha_i^2}{4c_i} - \sum_i\alpha_i,
    \qquad w = \sum_i\alpha_iy_ix_i .

The minimum over one coefficient needs one row of X, and changes w by that row. An intercept without penalty adds the
constraint :math:`\sum_i\alpha_iy_i = 0`, kept by the method of multipliers: rows get a constant column s, which
penalizes the constraint by :math:`\tfrac12 s^2(\sum_i\alpha_iy_i)^2`, and b is the multiplier, to which every pass adds
:math:`s^2\sum_i\alpha_iy_i`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.restoring import restore

__all__ = ["DualDescent"]

Floats = NDArray[np.float64]

PASSES = 5  # between two looks at the primal gradient, which costs as much as one pass
CONSTANT = 0.01  # square of the constant column, relative to the mean square of the rows: larger ones make rows alike


class DualDescent:
    """Where the descent stands: ``alpha`` (n,) and ``theta`` = (w, weight of the constant column, b)."""

    def __init__(self, X: Any, y: Floats, bounds: Floats, *, intercept: bool, seed: int | None):
        self.X, self.y, self.intercept, self.seed = X, y, intercept, 0 if seed is None else seed
        n, d = X.shape
        squares = np.add.reduceat(np.append(X.data**2, 0.0), X.indptr[:-1]) * (np.diff(X.indptr) > 0)
        self.constant = float(np.sqrt(CONSTANT * squares.mean())) or 1.0
        self.constant *= intercept
        self.inverse = 0.5 / bounds
        self.curvature = squares + self.constant**2 + self.inverse
        self.alpha, self.theta, self.passes = np.zeros(n), np.zeros(d + 2), 0

    def step(self) -> Floats:
        """Some passes; returns (w, b), or w if there is no intercept."""
        from margin.compiled.svm import dual_pass

        X, limit = self.X, np.inf
        settled = np.zeros(len(self.y), dtype=np.uint8)
        for _ in range(PASSES):
            order = np.random.default_rng([self.seed, self.passes]).permutation(len(self.y))
            rows = (X.data, X.indices, X.indptr, order, self.y, self.inverse, self.curvature, self.constant)
            limit = dual_pass(*rows, settled, limit, self.alpha, self.theta)
            self.passes += 1
            self.theta[-1] += self.constant * self.theta[-2]
        return np.append(self.theta[:-2], self.theta[-1]) if self.intercept else self.theta[:-2].copy()

    def state(self) -> dict[str, Any]:
        return {"alpha": self.alpha.copy(), "theta": self.theta.copy(), "passes": self.passes}

    def restore(self, state: dict[str, Any]) -> DualDescent:
        self.alpha, self.theta = restore(state, "alpha", self.alpha), restore(state, "theta", self.theta)
        self.passes = int(state["passes"])
        return self
