r"""What every distribution offers, and what follows from it.

A law is known by its log-density, its cumulative distribution function and a way to draw from it. The rest is
written once here: :math:`\Pr(a \le X \le b)`, quantiles, survival, expectations

.. math:: E[g(X)] = \int g(x)\, f(x)\,dx \quad\text{or}\quad \sum_k g(k)\,\Pr(X = k),

and the entropy :math:`-E[\log f(X)]` in nats. Every class also has a classmethod ``fit`` that returns the
member of the family with the largest likelihood.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.probability.arguments import Array, generator, integer, numbers
from margin.foundations.probability.quadrature import infinite_sum, panel_integral, tail_integral, weigh

__all__ = ["Continuous", "Discrete", "Distribution", "Support", "Univariate"]

# Discrete sums leave out tails below this mass: less than the rounding of the sum itself.
NEGLIGIBLE_MASS = 1e-18
# Continuous integrals are cut at these quantiles, so that an adaptive rule finds the mass wherever it lies.
PANELS = (1e-4, 0.05, 0.5, 0.95, 1 - 1e-4)


@dataclass(frozen=True)
class Support:
    """The closure of the set of possible values: an interval, its integers, or (``points``) a finite set."""

    low: float
    high: float
    integers: bool = False
    points: tuple[float, ...] | None = None

    def contains(self, x: ArrayLike) -> np.ndarray:
        """Whether each value of ``x`` is possible.

        >>> Support(0, np.inf, integers=True).contains([-1, 0, 0.5, 3]).tolist()
        [False, True, False, True]
        """
        x = np.asarray(x, dtype=np.float64)
        if self.points is not None:
            return np.isin(x, self.points)
        inside = (x >= self.low) & (x <= self.high) & np.isfinite(x)
        return inside & (x == np.floor(x)) if self.integers else inside


class Distribution(ABC):
    """A probability law that can be evaluated and drawn from.

    The public methods here check their arguments; a law itself writes only the equations ``_log_prob``,
    ``_cdf`` and ``_sample``, on points of its support.
    """

    @abstractmethod
    def log_prob(self, x: ArrayLike) -> Array:
        r"""Log-density (continuous) or log-probability (discrete) in nats; :math:`-\infty` off the support."""

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` independent draws along the first axis."""
        owner = type(self).__name__
        return self._sample(integer(owner, "n", n), generator(owner, rng))

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> Array: ...


class Univariate(Distribution):
    """A law of one real random variable."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """The possible values."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expectation; infinite or NaN where the integral is."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The expected squared deviation from the mean; infinite or NaN where the integral is."""

    @abstractmethod
    def quantile(self, q: ArrayLike) -> Array:
        r"""The smallest x with :math:`F(x) \ge q`."""

    @abstractmethod
    def expectation(self, g: Callable[[Array], Array]) -> float:
        r"""The expectation of g(X)."""

    @abstractmethod
    def _log_prob(self, x: Array) -> Array: ...

    @abstractmethod
    def _cdf(self, x: Array) -> Array: ...

    def _survival(self, x: Array) -> Array:
        return 1.0 - self._cdf(x)

    def _log_survival(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self._survival(x))

    def log_prob(self, x: ArrayLike) -> Array:
        x = numbers(type(self).__name__, "x", x)
        support = self.support
        inside = support.contains(x)
        anchor = min(max(0.0, support.low), support.high)
        # The logarithm of zero and the square of a very distant point both rightly end at minus infinity.
        with np.errstate(divide="ignore", over="ignore"):
            logs = self._log_prob(np.where(inside, x, anchor))
        return np.where(inside, logs, np.where(np.isnan(x), np.nan, -np.inf))[()]

    def cdf(self, x: ArrayLike) -> Array:
        r"""The cumulative distribution function :math:`F(x) = \Pr(X \le x)`."""
        return self._along_the_line(self._cdf, x, 0.0, 1.0)

    def survival(self, x: ArrayLike) -> Array:
        r"""The tail :math:`\bar F(x) = \Pr(X > x)`."""
        return self._along_the_line(self._survival, x, 1.0, 0.0)

    def log_survival(self, x: ArrayLike) -> Array:
        r""":math:`\log \Pr(X > x)`, where a law can, without underflow."""
        return self._along_the_line(self._log_survival, x, 0.0, -np.inf)

    def _along_the_line(self, equation: Callable[[Array], Array], x: ArrayLike, left: float, right: float) -> Array:
        """``equation`` on the support, ``left`` before and ``right`` after it; NaN stays NaN."""
        x = numbers(type(self).__name__, "x", x)
        support = self.support
        before = (x < support.low) | (x == -np.inf)
        after = (x >= support.high) | (x == np.inf)
        inner = np.where(before | after | np.isnan(x), min(max(0.0, support.low), support.high), x)
        values = equation(np.floor(inner) if support.integers else inner)
        return np.where(np.isnan(x), np.nan, np.where(before, left, np.where(after, right, values)))[()]

    def entropy(self) -> float:
        r"""The expected surprise :math:`-E[\log f(X)]`, in nats."""
        return self.expectation(lambda x: -self.log_prob(x))


class Continuous(Univariate):
    """A law with a density: a single point has probability zero, an interval has the area above it."""

    def pdf(self, x: ArrayLike) -> Array:
        """The density."""
        return np.exp(self.log_prob(x))

    def probability(self, a: float, b: float) -> float:
        r""":math:`\Pr(a \le X \le b) = F(b) - F(a)`, zero for b < a."""
        return max(0.0, float(self.cdf(b) - self.cdf(a)))

    def quantile(self, q: ArrayLike) -> Array:
        return self._quantile(levels(self, q))[()]

    def _quantile(self, q: Array) -> Array:
        return invert_cdf(self, q)

    def expectation(self, g: Callable[[Array], Array]) -> float:
        def integrand(x: float) -> float:
            with np.errstate(over="ignore"):
                return float(weigh(self.log_prob(x), g(np.asarray(x))))

        edges = self.quantile(PANELS)
        width = float(edges[-1] - edges[0])
        total = sum(panel_integral(integrand, low, high) for low, high in pairwise(edges))
        for edge, end, direction in ((edges[0], self.support.low, -1.0), (edges[-1], self.support.high, 1.0)):
            if np.isfinite(end):
                total += direction * panel_integral(integrand, edge, end)
            else:
                total += tail_integral(type(self).__name__, integrand, float(edge), direction * width)
        return float(total)


class Discrete(Univariate):
    """A law on countably many values, by default on integers; its CDF is a right-continuous staircase."""

    def pmf(self, k: ArrayLike) -> Array:
        """The probability of every value."""
        return np.exp(self.log_prob(k))

    def probability(self, a: float, b: float) -> float:
        r""":math:`\Pr(a \le X \le b)`, both ends included, zero for b < a."""
        return max(0.0, float(self.cdf(b) - self.cdf(a) + self.pmf(a)))

    def quantile(self, q: ArrayLike) -> Array:
        q = levels(self, q)
        return np.where(q == 1, self.support.high, _first_integer(self, lambda k: self.cdf(k) >= q, q.shape))[()]

    def atoms(self) -> Array:
        """The values that carry all but a negligible part of the mass, in order."""
        first = _first_integer(self, lambda k: self.cdf(k) > NEGLIGIBLE_MASS, ())
        last = _first_integer(self, lambda k: self.survival(k) <= NEGLIGIBLE_MASS, ())
        return np.arange(float(first), float(last) + 1)

    def expectation(self, g: Callable[[Array], Array]) -> float:
        def term(k: Array) -> Array:
            with np.errstate(over="ignore"):
                return weigh(self.log_prob(k), g(k))

        atoms = self.atoms()
        if np.isfinite(self.support.high):
            return float(np.sum(term(atoms)))
        return infinite_sum(type(self).__name__, term, float(atoms[0]), float(atoms[-1]))


def levels(law: Univariate, q: ArrayLike) -> Array:
    """The argument of a quantile function: numbers in [0, 1]."""
    q = numbers(type(law).__name__, "q", q)
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError(f"{type(law).__name__}: q must lie in [0, 1]; got {q.tolist()}.")
    return q


def _first_integer(law: Discrete, holds: Callable[[Array], NDArray[np.bool_]], shape: tuple[int, ...]) -> Array:
    """The smallest value of the support from which on ``holds`` is true, at the latest its end, by bisection."""
    low, high = law.support.low, law.support.high
    left, right, width = np.full(shape, low - 1), np.full(shape, low), 1.0
    while np.any(short := ~holds(right) & (right < high)):
        left = np.where(short, right, left)
        right = np.where(short, min(low + width, high), right)
        width *= 2
    while np.any(right - left > 1):
        middle = np.floor((left + right) / 2)
        reached = holds(middle)
        left, right = np.where(reached, left, middle), np.where(reached, middle, right)
    return right


def invert_cdf(law: Continuous, q: Array) -> Array:
    """Solve F(x) = q by bracketing and bisection: for laws without a closed-form quantile."""
    low, high = law.support.low, law.support.high
    inner = (q > 0) & (q < 1)
    left = np.full(q.shape, low if np.isfinite(low) else min(-1.0, high - 1.0))
    right = np.full(q.shape, high if np.isfinite(high) else max(1.0, low + 1.0))
    while np.any(short := inner & (law.cdf(left) > q)):
        left = np.where(short, left - 2 * (right - left), left)
    while np.any(short := inner & (law.cdf(right) < q)):
        right = np.where(short, right + 2 * (right - left), right)
    for _ in range(200):
        middle = (left + right) / 2
        below = law.cdf(middle) < q
        if np.all((middle == left) | (middle == right)):
            break
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    return np.where(q == 0, low, np.where(q == 1, high, right))
