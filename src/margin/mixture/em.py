r"""Expectation-maximization for Gaussian mixtures, in the log domain and in blocks of rows.

.. math::
    \log p(x, c) = \log \pi_c
    - \tfrac12\bigl(d \log 2\pi + \log\lvert\Sigma_c\rvert + (x-\mu_c)^\top\Sigma_c^{-1}(x-\mu_c)\bigr),
    \quad r_c(x) = \frac{p(x, c)}{\sum_{c'} p(x, c')}

The E step finds the responsibilities r; the M step maximizes
:math:`Q = \sum_i \sum_c r_{ic} \log p(x_i, c)`, which needs only sums over rows. One pass over the rows makes both the
log-likelihood and these sums; no array larger than a block of rows times ``k d`` exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np

from margin.core.chunks import map_row_chunks
from margin.mixture.covariances import NOBODY, Components, Sums

__all__ = [
    "MixtureParameters",
    "expectation",
    "expected_sums",
    "log_joint",
    "maximization",
    "mixture_of",
    "q_function",
    "responsibilities",
    "sums_of",
]

# No component counts as less likely than this (1e-130) beside the best one: nothing smaller changes a sum, but products
# with it fall into the subnormal numbers, on which processors are a hundred times slower.
LOG_NOTHING = -300.0

BLOCK = 512  # rows whose whitened residuals for all components stay in the second-level cache


@dataclass(frozen=True)
class MixtureParameters:
    """Weights (k,) and components, whose rows are relative to ``offset`` (d,)."""

    weights: np.ndarray
    components: Components
    offset: np.ndarray

    def log_joint_block(self, x: np.ndarray) -> tuple[np.ndarray, object]:
        """log p(x, c) (k, b) of centered rows (d + 1, b), and what the components reuse of the work."""
        distances, reused = self.components.squared_distances(x)
        distances *= -0.5
        distances += self.log_scale[:, None]
        return distances, reused

    def state(self) -> dict[str, np.ndarray]:
        """Copies of what the mixture consists of, beside the offset that its rows have."""
        components = self.components
        parts = {"weights": self.weights, "means": components.means, "covariances": components.covariances}
        return {name: np.array(part) for name, part in parts.items()}

    @cached_property
    def log_scale(self) -> np.ndarray:
        """What the log-density of every component starts from, its logarithmic weight included."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights) - 0.5 * (len(self.offset) * np.log(2 * np.pi) + self.components.log_det)


def expectation(X: np.ndarray, mixture: MixtureParameters) -> tuple[float, Sums]:
    """E step and the sums of the M step in one pass: the mean log-likelihood of the rows, and the sums."""
    total, sums = expected_sums(X, mixture)
    return total / len(X), sums


def expected_sums(X: np.ndarray, mixture: MixtureParameters) -> tuple[float, Sums]:
    """The log-likelihood of all rows together, and the sums of the M step: both add up over blocks of rows."""

    def chunk(rows: slice) -> tuple[float, Sums]:
        total, sums = 0.0, None
        for x in _center_blocks(X, mixture.offset, rows):
            joint, reused = mixture.log_joint_block(x)
            log_density = _normalize(joint)  # joint becomes the responsibilities
            total += float(log_density.sum())
            part = mixture.components.sums(x, reused, joint)
            sums = part if sums is None else sums + part
        assert sums is not None
        return total, sums

    k, d = mixture.components.means.shape
    parts = map_row_chunks(chunk, len(X), work=len(X) * k * d * d)
    return sum(part[0] for part in parts), reduce(add, (part[1] for part in parts))


def maximization(mixture: MixtureParameters, sums: Sums, reg_covar: float) -> MixtureParameters:
    r"""M step: :math:`\pi_c = N_c / n`, and each component's mean and covariance from the sums of its rows."""
    weights = sums.weight / sums.weight.sum()
    return MixtureParameters(weights, mixture.components.maximize(sums, reg_covar), mixture.offset)


def mixture_of(X: np.ndarray, resp: np.ndarray, shape: type[Components], reg_covar: float) -> MixtureParameters:
    """M step for responsibilities (n, k) given from outside: first the means, then everything relative to them."""
    k, d = resp.shape[1], X.shape[1]
    offset = X.mean(axis=0, dtype=np.float64)
    blocks = zip(range(0, len(X), BLOCK), _center_blocks(X, offset, slice(0, len(X))))
    first = reduce(add, (x @ resp[start : start + BLOCK] for start, x in blocks)).T  # with the weights as last column
    means = first[:, :-1] / (first[:, -1:] + NOBODY)
    about = MixtureParameters(np.full(k, 1 / k), shape(means, shape.standard(k, d).covariances), offset)
    return maximization(about, sums_of(X, resp, about), reg_covar)


def sums_of(X: np.ndarray, resp: np.ndarray, mixture: MixtureParameters) -> Sums:
    """The sums of the M step for responsibilities (n, k) given from outside."""
    parts = []
    for start, x in zip(range(0, len(X), BLOCK), _center_blocks(X, mixture.offset, slice(0, len(X)))):
        _, reused = mixture.components.squared_distances(x)
        parts.append(mixture.components.sums(x, reused, resp[start : start + BLOCK].T))
    return reduce(add, parts)


def log_joint(X: np.ndarray, mixture: MixtureParameters) -> np.ndarray:
    """log p(x, c) for every row and component, (n, k)."""
    parts = map_row_chunks(
        lambda rows: [mixture.log_joint_block(x)[0] for x in _center_blocks(X, mixture.offset, rows)],
        len(X),
        work=len(X) * mixture.components.means.size * X.shape[1],
    )
    return np.hstack([block for chunk in parts for block in chunk]).T


def responsibilities(X: np.ndarray, mixture: MixtureParameters) -> tuple[np.ndarray, np.ndarray]:
    """log p(x) (n,) and p(c | x) (n, k)."""
    joint = log_joint(X, mixture)
    return _normalize(joint.T), joint


def q_function(X: np.ndarray, mixture: MixtureParameters, resp: np.ndarray) -> float:
    r"""The expected complete log-likelihood :math:`Q(\theta; r) = \sum_i \sum_c r_{ic} \log p_\theta(x_i, c)`."""
    joint = log_joint(X, mixture)
    return float(np.where(resp > 0, resp * joint, 0.0).sum())


def _normalize(joint: np.ndarray) -> np.ndarray:
    """log p(x) (b,) by log-sum-exp; ``joint`` (k, b) is turned into p(c | x) in place."""
    top = joint.max(axis=0)
    joint -= top
    np.maximum(joint, LOG_NOTHING, out=joint)
    np.exp(joint, out=joint)
    total = joint.sum(axis=0)
    joint /= total
    return np.log(total) + top


def _center_blocks(X: np.ndarray, offset: np.ndarray, rows: slice) -> Iterator[np.ndarray]:
    """Blocks of the rows minus the offset as columns of float64, above a line of ones: (d + 1, b)."""
    for low in range(rows.start, rows.stop, BLOCK):
        part = X[low : min(low + BLOCK, rows.stop)]
        block = np.ones((len(offset) + 1, len(part)))
        np.subtract(part.T, offset[:, None], out=block[:-1])
        yield block
