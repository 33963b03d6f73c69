"""Laws with power tails: Student's t, Cauchy and Lévy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from margin.foundations.probability.arguments import Array, observations, positive, real
from margin.foundations.probability.distribution import Continuous, Support

__all__ = ["Cauchy", "Levy", "StudentT"]

# Beyond this many degrees of freedom the t density equals the normal one in double precision.
LARGEST_NU, SMALLEST_NU = 1e8, 0.05


@dataclass(frozen=True)
class StudentT(Continuous):
    r"""Student's t with :math:`\nu` degrees of freedom, location mu and scale sigma; with :math:`t=(x-\mu)/\sigma`

    .. math:: f = \frac{\Gamma(\frac{\nu+1}2)}{\sigma\sqrt{\nu\pi}\,\Gamma(\frac\nu2)}
                  \left(1+\frac{t^2}\nu\right)^{-(\nu+1)/2}

    One degree of freedom is the Cauchy law; many approach the normal.

    >>> StudentT(4).variance
    2.0
    """

    nu: float
    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", positive("StudentT", "nu", self.nu))
        object.__setattr__(self, "mu", real("StudentT", "mu", self.mu))
        object.__setattr__(self, "sigma", positive("StudentT", "sigma", self.sigma))

    @property
    def support(self) -> Support:
        return Support(-np.inf, np.inf)

    @property
    def mean(self) -> float:
        return self.mu if self.nu > 1 else np.nan

    @property
    def variance(self) -> float:
        if self.nu > 2:
            return self.sigma**2 * self.nu / (self.nu - 2)
        return np.inf if self.nu > 1 else np.nan

    def _log_prob(self, x: Array) -> Array:
        t = (x - self.mu) / self.sigma
        constant = -special.betaln(self.nu / 2, 0.5) - 0.5 * np.log(self.nu) - np.log(self.sigma)
        return constant - (self.nu + 1) / 2 * np.log1p(t * t / self.nu)

    def _cdf(self, x: Array) -> Array:
        return special.stdtr(self.nu, (x - self.mu) / self.sigma)

    def _survival(self, x: Array) -> Array:
        return special.stdtr(self.nu, (self.mu - x) / self.sigma)

    def _log_survival(self, x: Array) -> Array:
        r"""Far out the incomplete beta function :math:`\frac12 I_w(\frac\nu2,\frac12)`, :math:`w=\nu/(\nu+t^2)`, is
        taken by its series so that the logarithm survives where the probability underflows."""
        t = (x - self.mu) / self.sigma
        far = t > np.sqrt(self.nu)
        a, far_t = self.nu / 2, np.where(far, t, 2 * np.sqrt(self.nu))
        log_w = -np.log1p(far_t * (far_t / self.nu))
        series = special.hyp2f1(a + 0.5, 1, a + 1, np.exp(log_w))
        log_tail = a * log_w + 0.5 * np.log1p(-np.exp(log_w)) + np.log(series) - np.log(2 * a) - special.betaln(a, 0.5)
        return np.where(far, log_tail, np.log(np.where(far, 1.0, self._survival(x))))

    def _quantile(self, q: Array) -> Array:
        inner = special.stdtrit(self.nu, q)  # which says plus infinity at 0 too
        return self.mu + self.sigma * np.where(q == 0, -np.inf, inner)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.mu + self.sigma * rng.standard_t(self.nu, n)

    @classmethod
    def fit(cls, data: ArrayLike, nu: float | None = None) -> StudentT:
        """Location, scale and, unless given, degrees of freedom by L-BFGS with exact gradients (tolerance 1e-10),
        started at the median and the interquartile range."""
        data = observations("StudentT.fit", data)
        return cls(*_fit_student(data, None if nu is None else positive("StudentT.fit", "nu", nu)))


@dataclass(frozen=True)
class Cauchy(Continuous):
    r""":math:`f(x) = \frac{1}{\pi s\,(1 + ((x-\ell)/s)^2)}`: Student's t with one degree of freedom. No mean exists.

    >>> Cauchy(0, 1).quantile(0.75).round(12).tolist()
    1.0
    """

    loc: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "loc", real("Cauchy", "loc", self.loc))
        object.__setattr__(self, "scale", positive("Cauchy", "scale", self.scale))

    @property
    def support(self) -> Support:
        return Support(-np.inf, np.inf)

    @property
    def mean(self) -> float:
        return np.nan

    @property
    def variance(self) -> float:
        return np.nan

    def _log_prob(self, x: Array) -> Array:
        return -np.log(np.pi * self.scale) - np.log1p(((x - self.loc) / self.scale) ** 2)

    def _cdf(self, x: Array) -> Array:
        return np.arctan2(self.scale, self.loc - x) / np.pi

    def _survival(self, x: Array) -> Array:
        return np.arctan2(self.scale, x - self.loc) / np.pi

    def _quantile(self, q: Array) -> Array:
        inner = np.tan(np.pi * (np.clip(q, 1e-300, 1) - 0.5))
        edge = np.where(q == 0, -np.inf, np.where(q == 1, np.inf, inner))
        return self.loc + self.scale * edge

    def entropy(self) -> float:
        return float(np.log(4 * np.pi * self.scale))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.loc + self.scale * rng.standard_cauchy(n)

    @classmethod
    def fit(cls, data: ArrayLike) -> Cauchy:
        """The maximum of its likelihood, which in (loc, scale) has one mode; see :meth:`StudentT.fit`."""
        _, loc, scale = _fit_student(observations("Cauchy.fit", data), 1.0)
        return cls(loc, scale)


@dataclass(frozen=True)
class Levy(Continuous):
    r"""First-passage time of Brownian motion: :math:`f(x) = \sqrt{\tfrac c{2\pi}}\,
    \frac{e^{-c/2(x-\ell)}}{(x-\ell)^{3/2}}` for x > loc; one over a squared normal. Its mean is infinite.

    >>> Levy().quantile(0.5).round(3).tolist()
    2.198
    """

    loc: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "loc", real("Levy", "loc", self.loc))
        object.__setattr__(self, "scale", positive("Levy", "scale", self.scale))

    @property
    def support(self) -> Support:
        return Support(self.loc, np.inf)

    @property
    def mean(self) -> float:
        return np.inf

    @property
    def variance(self) -> float:
        return np.inf

    def _log_prob(self, x: Array) -> Array:
        gap = np.where(x > self.loc, x - self.loc, 1.0)
        logs = 0.5 * np.log(self.scale / (2 * np.pi)) - self.scale / (2 * gap) - 1.5 * np.log(gap)
        return np.where(x > self.loc, logs, -np.inf)

    def _cdf(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return special.erfc(np.sqrt(self.scale / (2 * (x - self.loc))))

    def _survival(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return special.erf(np.sqrt(self.scale / (2 * (x - self.loc))))

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return self.loc + self.scale / (2 * special.erfcinv(q) ** 2)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.loc + self.scale / rng.standard_normal(n) ** 2

    @classmethod
    def fit(cls, data: ArrayLike, loc: float | None = None) -> Levy:
        r"""The scale is the harmonic mean of x - loc; an unknown loc maximizes the profile likelihood over
        log(min x - loc) by a bounded scan and Brent's search (tolerance 1e-10)."""
        data = observations("Levy.fit", data)
        if loc is None:
            loc = _fit_levy_loc(data)
        if data.min() <= loc:
            raise ValueError(f"Levy.fit: data must exceed loc={loc:g}; got {data.min():g}.")
        return cls(loc, float(1 / np.mean(1 / (data - loc))))


def _fit_student(data: Array, nu: float | None) -> tuple[float, float, float]:
    quarter, median, three_quarters = np.quantile(data, [0.25, 0.5, 0.75])
    unit = (three_quarters - quarter) / 2 or data.std()
    if unit == 0:
        raise ValueError(f"StudentT.fit: data must not all be equal; got {data.size} times {data[0]:g}.")
    x = (data - median) / unit

    def loss(parameters: Array) -> tuple[float, Array]:
        mu, log_sigma, log_nu = parameters
        v, z = np.exp(log_nu), (x - mu) * np.exp(-log_sigma)
        log1p, weight = np.log1p(z * z / v), (v + 1) / (v + z * z)
        value = -special.betaln(v / 2, 0.5) - 0.5 * log_nu - log_sigma - (v + 1) / 2 * log1p.mean()
        pull = (weight * z * z).mean()
        slope_nu = 0.5 * (special.digamma((v + 1) / 2) - special.digamma(v / 2) - log1p.mean()) + (pull - 1) / (2 * v)
        return -value, -np.array([(weight * z).mean() * np.exp(-log_sigma), pull - 1, slope_nu * v])

    start_nu = np.log(4.0 if nu is None else nu)
    nu_bounds = (np.log(SMALLEST_NU), np.log(LARGEST_NU)) if nu is None else (start_nu, start_nu)
    optimum = optimize.minimize(
        loss,
        [0.0, 0.0, start_nu],
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None), (None, None), nu_bounds],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
    )
    mu, log_sigma, log_nu = optimum.x
    fitted_nu = float(np.exp(log_nu)) if nu is None else nu
    return fitted_nu, float(median + unit * mu), float(unit * np.exp(log_sigma))


def _fit_levy_loc(data: Array) -> float:
    if data.min() == data.max():
        raise ValueError(f"Levy.fit: data must not all be equal; got {data.size} times {data[0]:g}.")
    excess = data - data.min()
    unit = float(np.median(excess[excess > 0]))

    def loss(log_gap: float) -> float:
        x = excess / unit + np.exp(log_gap)
        return 1.5 * float(np.log(x).mean()) + 0.5 * float(np.log(np.mean(1 / x)))

    grid = np.linspace(-12, 6, 73)
    best = int(np.argmin([loss(point) for point in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    optimum = optimize.minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-10})
    return float(data.min() - unit * np.exp(optimum.x))
