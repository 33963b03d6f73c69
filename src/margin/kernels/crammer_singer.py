r"""The linear machine of all classes at once (Crammer and Singer 2001).

.. math::
    \min_W\; \tfrac12\sum_m\|w_m\|^2
    + \sum_i C_i\max\bigl(0,\; 1 + \max_{m\ne y_i} w_m^\top x_i - w_{y_i}^\top x_i\bigr)

Its dual has coefficients :math:`\alpha_{im} \le C_i[m = y_i]` with :math:`\sum_m\alpha_{im} = 0` and
:math:`w_m = \sum_i\alpha_{im}x_i`, and is solved over one row after the other (Keerthi et al. 2008): the minimum over a
row's coefficients is :math:`\alpha_{im} = \min(C_i[m = y_i], (\beta - b_m)/\|x_i\|^2)` with :math:`\beta` such that
they sum to zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.core.randomness import as_generator, generator_from_state, generator_state
from margin.core.records import Record
from margin.core.restoring import restore

__all__ = ["CrammerSinger", "crammer_singer_objectives"]

Floats = NDArray[np.float64]


def crammer_singer_objectives(X: Any, codes: Any, bounds: Floats, W: Floats, alpha: Floats) -> tuple[float, float]:
    """Primal objective of ``W`` (d, classes) and dual objective of ``alpha`` (n, classes), which are its coefficients.

    >>> X, codes = np.array([[1.0], [-1.0]]), np.array([0, 1])
    >>> alpha = np.array([[0.25, -0.25], [-0.25, 0.25]])
    >>> crammer_singer_objectives(X, codes, np.ones(2), X.T @ alpha, alpha)
    (0.25, 0.25)
    """
    rows = np.arange(len(codes))
    scores = np.asarray(X @ W)
    own = scores[rows, codes]
    scores[rows, codes] = -np.inf
    slack = np.maximum(0.0, 1.0 + scores.max(axis=1) - own)
    quadratic = 0.5 * float(np.sum(W * W))
    # Where m is another class, alpha is negative: minus its sum is what the margins of one earn.
    return quadratic + float(bounds @ slack), float(alpha[rows, codes].sum()) - quadratic


class CrammerSinger:
    """The running fit: coefficients of all rows, the weights they make, and how far from the optimum they are."""

    def __init__(self, X: Any, codes: Any, bounds: Floats, classes: Any, *, tol: float, max_iter: int, seed: int):
        self.X, self.codes, self.bounds, self.classes = sp.csr_array(X), codes.astype(np.int64), bounds, classes
        self.tol, self.max_iter, self.rng = tol, max_iter, as_generator(seed)
        self.squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        self.W, self.alpha = np.zeros((X.shape[1], len(classes))), np.zeros((X.shape[0], len(classes)))
        self.labels = [0]  # one machine
        self.iteration = 0
        self.objective = self.measure = np.inf

    @property
    def unsolved(self) -> int:
        return int(self.measure > self.tol)

    def iterations(self) -> Iterator[Record]:
        while self.unsolved and self.iteration < self.max_iter:
            self._sweep()
            self.iteration += 1
            self.objective, dual = crammer_singer_objectives(self.X, self.codes, self.bounds, self.W, self.alpha)
            self.measure = (self.objective - dual) / max(abs(self.objective), np.finfo(np.float64).tiny)
            values = {"objective": self.objective, "measure": self.measure, "machine": 0.0}
            yield Record(self.iteration, values, total=self.max_iter)

    def results(self) -> list[dict[str, Any]]:
        """Weights of every class; of two classes the difference, as one machine has it."""
        weights = self.W.T if len(self.classes) > 2 else (self.W[:, 1] - self.W[:, 0])[None]
        return [{"theta": row.copy(), "objective": self.objective, "iteration": self.iteration} for row in weights]

    def state(self) -> dict[str, Any]:
        return {
            "rng": generator_state(self.rng),
            "alpha": self.alpha.copy(),
            "weights": self.W.copy(),
            "iteration": self.iteration,
            "objective": self.objective,
            "measure": self.measure,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.rng = generator_from_state(state["rng"])
        self.alpha, self.W = restore(state, "alpha", self.alpha), restore(state, "weights", self.W)
        self.iteration, self.objective, self.measure = (
            int(state["iteration"]),
            float(state["objective"]),
            float(state["measure"]),
        )

    def _sweep(self) -> None:
        from margin.compiled.svm import sweep_rows

        order, k = self.rng.permutation(len(self.codes)), len(self.classes)
        rows = self.X.data, self.X.indices, self.X.indptr, order, self.codes, self.bounds, self.squares
        sweep_rows(*rows, self.W, self.alpha, np.empty(k), np.empty(k))
