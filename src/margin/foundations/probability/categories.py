"""Dice: one roll (categorical) and the counts of n rolls (multinomial)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.probability.arguments import Array, integer, numbers, observations, simplex
from margin.foundations.probability.distribution import Discrete, Distribution, Support

__all__ = ["Categorical", "Multinomial", "multinomial_coefficient"]


def multinomial_coefficient(counts: ArrayLike) -> float:
    r"""Orderings of n things of which :math:`k_j` are alike: :math:`n! / (k_1! \cdots k_C!)`.

    Built as the product of binomials :math:`\prod_j \binom{n - k_1 - \dots - k_{j-1}}{k_j}`: place the first
    class, then the second among what is left, and so on.

    Parameters
    ----------
    counts : array-like of shape (C,)
        Things of every kind, :math:`k_j`.

    Examples
    --------
    >>> multinomial_coefficient([3, 2, 2])
    210.0
    """
    counts = observations("multinomial_coefficient", counts, integers=True, low=0)
    remaining = counts.sum() - np.concatenate([[0.0], np.cumsum(counts)[:-1]])
    return float(np.prod(special.comb(remaining, counts)).round())


@dataclass(frozen=True, eq=False, init=False)
class Categorical(Discrete):
    r"""One draw from C classes: :math:`\Pr(X=j) = p_j`; classes are numbered from 0.

    On one-hot vectors the same law reads :math:`\prod_j p_j^{x_j}` (:meth:`log_prob_one_hot`).

    >>> Categorical([0.2, 0.5, 0.3]).mode
    1
    """

    p: Array

    def __init__(self, p: ArrayLike) -> None:
        object.__setattr__(self, "p", simplex("Categorical", "p", p))

    @property
    def support(self) -> Support:
        return Support(0, self.p.size - 1, integers=True)

    @property
    def mean(self) -> float:
        return float(self.p @ np.arange(self.p.size))

    @property
    def variance(self) -> float:
        return float(self.p @ (np.arange(self.p.size) - self.mean) ** 2)

    @property
    def mode(self) -> int:
        """The most probable category."""
        return int(np.argmax(self.p))

    def _log_prob(self, x: Array) -> Array:
        return np.log(self.p[x.astype(np.intp)])

    def log_prob_one_hot(self, x: ArrayLike) -> Array:
        """Log-probability of one-hot rows ``(..., C)``."""
        x = numbers("Categorical", "x", x)
        is_one_hot = x.ndim and x.shape[-1] == self.p.size and np.all((x == 0) | (x == 1)) and np.all(x.sum(-1) == 1)
        if not is_one_hot:
            raise ValueError(f"Categorical: x must hold one-hot rows of length {self.p.size}; got {x.tolist()}.")
        return special.xlogy(x, self.p).sum(axis=-1)

    def _cdf(self, x: Array) -> Array:
        return np.minimum(np.cumsum(self.p), 1.0)[x.astype(np.intp)]

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        # The last edge is left out: rounding in the sum must not open a class beyond the last.
        return np.searchsorted(np.cumsum(self.p)[:-1], rng.random(n), side="right").astype(np.float64)

    @classmethod
    def fit(cls, data: ArrayLike, n_classes: int | None = None) -> Categorical:
        """The relative frequency of each class; ``n_classes`` counts classes that may not have occurred."""
        data = observations("Categorical.fit", data, integers=True, low=0)
        seen = int(data.max()) + 1
        n_classes = seen if n_classes is None else integer("Categorical.fit", "n_classes", n_classes, low=1)
        if seen > n_classes:
            raise ValueError(f"Categorical.fit: data must be below n_classes={n_classes}; got {data.max():g}.")
        return cls(np.bincount(data.astype(np.intp), minlength=n_classes) / data.size)


@dataclass(frozen=True, eq=False, init=False)
class Multinomial(Distribution):
    r"""Counts of the C classes in n draws: :math:`\frac{n!}{k_1!\cdots k_C!}\, p_1^{k_1} \cdots p_C^{k_C}`.

    >>> law = Multinomial(7, [0.5, 0.25, 0.25])
    >>> round(float(law.pmf([3, 2, 2])), 6)
    0.102539
    """

    n: int
    p: Array

    def __init__(self, n: int, p: ArrayLike) -> None:
        object.__setattr__(self, "n", integer("Multinomial", "n", n))
        object.__setattr__(self, "p", simplex("Multinomial", "p", p))

    @property
    def mean(self) -> Array:
        """Expected counts, (k,)."""
        return self.n * self.p

    @property
    def covariance(self) -> Array:
        r""":math:`n(\mathrm{diag}(p) - pp^\top)`: counts compete, so off-diagonal entries are negative."""
        return self.n * (np.diag(self.p) - np.outer(self.p, self.p))

    @property
    def variance(self) -> Array:
        return self.n * self.p * (1 - self.p)

    def log_prob(self, x: ArrayLike) -> Array:
        k = numbers("Multinomial", "x", x)
        if k.ndim == 0 or k.shape[-1] != self.p.size:
            raise ValueError(f"Multinomial: x must have {self.p.size} counts in its last axis; got shape {k.shape}.")
        inside = np.all((k >= 0) & (k == np.floor(k)), axis=-1) & (k.sum(axis=-1) == self.n)
        k = np.where(inside[..., None], k, 0.0)
        logs = special.gammaln(self.n + 1) + np.sum(special.xlogy(k, self.p) - special.gammaln(k + 1), axis=-1)
        return np.where(inside, logs, -np.inf)

    def pmf(self, x: ArrayLike) -> Array:
        return np.exp(self.log_prob(x))

    def atoms(self) -> Array:
        """Every vector of C counts that sums to n, ``(binom(n+C-1, C-1), C)``: stars and bars."""
        places, n_bars = self.n + self.p.size - 1, self.p.size - 1
        bars = np.array(list(combinations(range(places), n_bars)), dtype=np.float64).reshape(-1, n_bars)
        return np.diff(bars, axis=1, prepend=-1.0, append=float(places)) - 1

    def expectation(self, g: Callable[[Array], Array]) -> float:
        """The exact expectation of g(counts), summed over all outcomes; g maps ``(m, C)`` to ``(m,)``."""
        atoms = self.atoms()
        return float(np.sum(self.pmf(atoms) * g(atoms)))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.multinomial(self.n, self.p, n).astype(np.float64)

    @classmethod
    def fit(cls, data: ArrayLike) -> Multinomial:
        """Pooled class frequencies; every row of counts must have the same total n."""
        k = numbers("Multinomial.fit", "data", data)
        if k.ndim != 2 or k.size == 0 or np.any(k < 0) or np.any(k != np.floor(k)):
            raise ValueError(f"Multinomial.fit: data must be a non-empty matrix of counts; got {k.tolist()}.")
        totals = np.unique(k.sum(axis=1))
        if totals.size != 1 or totals[0] == 0:
            raise ValueError(f"Multinomial.fit: rows of data must share one positive total; got {totals.tolist()}.")
        return cls(int(totals[0]), k.sum(axis=0) / k.sum())
