r"""Markov chains on finitely many states: the next state depends on the current one only.

.. math:: \Pr(X_{t+1}=j \mid X_t=i, X_{t-1}, \dots) = P_{ij}, \qquad \pi P = \pi
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csgraph

from margin.foundations.probability.arguments import Array, freeze, generator, integer, numbers

__all__ = ["MarkovChain", "partial_correlation"]

ROW_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class MarkovChain:
    """A chain with transition matrix ``P``; rows sum to one.

    >>> chain = MarkovChain([[0.9, 0.1], [0.5, 0.5]])
    >>> chain.stationary().round(6).tolist()
    [0.833333, 0.166667]
    """

    P: Array

    def __init__(self, P: ArrayLike) -> None:
        P = numbers("MarkovChain", "P", P)
        if P.ndim != 2 or P.shape[0] != P.shape[1] or P.size == 0 or not np.all(P >= 0):
            raise ValueError(f"MarkovChain: P must be a square matrix of probabilities; got shape {P.shape}.")
        if np.any(np.abs(P.sum(axis=1) - 1) > ROW_TOLERANCE):
            raise ValueError(f"MarkovChain: rows of P must sum to 1; got {P.sum(axis=1).tolist()}.")
        object.__setattr__(self, "P", freeze(P / P.sum(axis=1, keepdims=True)))

    def simulate(self, n: int, rng: np.random.Generator, start: int = 0) -> np.ndarray:
        """States at times 0, ..., n - 1."""
        n = integer("MarkovChain.simulate", "n", n, low=1)
        state = integer("MarkovChain.simulate", "start", start)
        if state >= len(self.P):
            raise ValueError(f"MarkovChain.simulate: start must be below {len(self.P)}; got {start}.")
        edges = np.cumsum(self.P, axis=1)[:, :-1].tolist()
        noise = generator("MarkovChain.simulate", rng).random(n - 1).tolist()
        path = [state]
        for u in noise:
            state = bisect_right(edges[state], u)
            path.append(state)
        return np.array(path)

    def after(self, steps: int) -> Array:
        """The transition matrix over several steps: a power of P."""
        return np.linalg.matrix_power(self.P, integer("MarkovChain.after", "steps", steps))

    def stationary(self) -> Array:
        r"""The law that one step leaves unchanged; it is unique when one class of states absorbs all others."""
        n_classes, label = csgraph.connected_components(self.P > 0, directed=True, connection="strong")
        leaves = (self.P > 0) & (label[:, None] != label)
        closed = np.setdiff1d(np.arange(n_classes), label[leaves.any(axis=1)])
        if closed.size > 1:
            raise ValueError(f"MarkovChain.stationary: not unique; the chain has {closed.size} closed classes.")
        member = np.flatnonzero(label == closed[0])
        block = self.P[np.ix_(member, member)]
        # pi (P - I) = 0 has one redundant equation; the last is replaced by sum(pi) = 1.
        system = (block - np.eye(member.size)).T
        system[-1] = 1.0
        pi = np.zeros(len(self.P))
        pi[member] = np.linalg.solve(system, np.eye(member.size)[-1])
        return np.maximum(pi, 0.0)


def partial_correlation(a: ArrayLike, b: ArrayLike, given: ArrayLike) -> float:
    """Correlation of a and b after removing from both what is linear in ``given``.

    For jointly normal variables it is zero exactly when a and b are independent given the third: the test of the
    Markov property of a Gaussian chain.
    """
    a, b, c = (numbers("partial_correlation", name, v) for name, v in (("a", a), ("b", b), ("given", given)))
    if not (a.ndim == 1 and a.shape == b.shape == c.shape and a.size > 3):
        raise ValueError("partial_correlation: a, b and given must be vectors of equal length above 3.")
    design = np.column_stack([np.ones_like(c), c])
    residual_a = a - design @ np.linalg.lstsq(design, a, rcond=None)[0]
    residual_b = b - design @ np.linalg.lstsq(design, b, rcond=None)[0]
    return float(residual_a @ residual_b / np.sqrt((residual_a @ residual_a) * (residual_b @ residual_b)))
