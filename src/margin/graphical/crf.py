r"""Linear-chain conditional random field: labels of a sequence given its inputs.

.. math:: p(y \mid x) = \frac{1}{Z(x)} \exp\Bigl(b_{y_1} + \sum_t w_{y_t}^\top x_t + \sum_t A_{y_{t-1} y_t}\Bigr)

It is discriminative: nothing is assumed about the inputs. The log-likelihood is concave, its gradient the difference
of observed and expected features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from margin.graphical.chains import forward, posteriors, viterbi
from margin.graphical.factors import Factor
from margin.graphical.fields import chain_factors

__all__ = ["LinearChainCRF", "crf_objective"]


@dataclass(frozen=True, eq=False)
class LinearChainCRF:
    """Weights of the inputs (labels, p), of pairs of labels (labels, labels) and of the first label (labels,)."""

    weights: np.ndarray
    transition: np.ndarray
    start: np.ndarray

    @classmethod
    def fit(
        cls, sequences: Sequence[Any], labels: Sequence[Any], alpha: float = 1.0, max_iter: int = 200
    ) -> LinearChainCRF:
        """Maximum likelihood with an L2 penalty of strength ``alpha``; labels are integers 0, 1, ..."""
        inputs, targets = _check(sequences, labels)
        k, p = int(max(y.max() for y in targets)) + 1, inputs[0].shape[1]
        solution = minimize(
            crf_objective,
            np.zeros(k * p + k * k + k),
            args=(inputs, targets, k, alpha),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter},
        )
        return cls(*_unpack(solution.x, k, p))

    def log_prob(self, inputs: Any, labels: Any) -> float:
        """The log-probability of the labels of one sequence given its inputs (T, p)."""
        potentials = self.log_potentials(inputs)
        return _path_score(*potentials, np.asarray(labels)) - float(logsumexp(forward(*potentials)[-1]))

    def predict(self, inputs: Any) -> np.ndarray:
        """The most probable labels of one sequence, by Viterbi's algorithm."""
        return viterbi(*self.log_potentials(inputs))[0]

    def predict_proba(self, inputs: Any) -> np.ndarray:
        """The distribution of the label at every time, (T, labels)."""
        return posteriors(*self.log_potentials(inputs)).states

    def factors(self, inputs: Any) -> list[Factor]:
        """The distribution of the labels of one sequence as a product of factors over the times."""
        return chain_factors(*self.log_potentials(inputs))

    def log_potentials(self, inputs: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Emissions (T, labels), transition and start."""
        x = np.asarray(inputs, dtype=np.float64)
        if x.ndim != 2 or len(x) == 0 or x.shape[1] != self.weights.shape[1]:
            raise ValueError(f"LinearChainCRF: inputs must have shape (T, {self.weights.shape[1]}); got {x.shape}.")
        return x @ self.weights.T, self.transition, self.start


def crf_objective(
    packed: np.ndarray, inputs: Sequence[np.ndarray], labels: Sequence[np.ndarray], n_labels: int, alpha: float
) -> tuple[float, np.ndarray]:
    """Penalized negative log-likelihood and its gradient in the packed weights, transitions and starts."""
    weights, transition, start = _unpack(packed, n_labels, inputs[0].shape[1])
    loss, gradient = 0.5 * alpha * float(packed @ packed), alpha * packed
    to_weights, to_transition, to_start = _unpack(gradient, n_labels, inputs[0].shape[1])
    for x, y in zip(inputs, labels):
        emissions = x @ weights.T
        posterior = posteriors(emissions, transition, start)
        loss += posterior.log_partition - _path_score(emissions, transition, start, y)
        excess = posterior.states.copy()
        excess[np.arange(len(y)), y] -= 1.0
        to_weights += excess.T @ x
        to_start += excess[0]
        to_transition += posterior.pairs
        np.subtract.at(to_transition, (y[:-1], y[1:]), 1.0)
    return loss, gradient


def _path_score(emissions: np.ndarray, transition: np.ndarray, start: np.ndarray, y: np.ndarray) -> float:
    return float(start[y[0]] + emissions[np.arange(len(y)), y].sum() + transition[y[:-1], y[1:]].sum())


def _unpack(packed: np.ndarray, k: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Views of the three parts."""
    return packed[: k * p].reshape(k, p), packed[k * p : k * p + k * k].reshape(k, k), packed[k * p + k * k :]


def _check(sequences: Sequence[Any], labels: Sequence[Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    inputs = [np.asarray(x, dtype=np.float64) for x in sequences]
    targets = [np.asarray(y) for y in labels]
    if not inputs or len(inputs) != len(targets):
        raise ValueError(f"LinearChainCRF.fit: got {len(inputs)} sequences and {len(targets)} rows of labels.")
    for x, y in zip(inputs, targets):
        if x.ndim != 2 or len(x) == 0 or x.shape[1] != inputs[0].shape[1] or not np.isfinite(x).all():
            raise ValueError(f"LinearChainCRF.fit: a sequence must be finite numbers (T, p); got shape {x.shape}.")
        if y.shape != (len(x),) or y.dtype.kind not in "iu" or y.min() < 0:
            raise ValueError("LinearChainCRF.fit: labels must be one integer of at least 0 for every time.")
    return inputs, targets
