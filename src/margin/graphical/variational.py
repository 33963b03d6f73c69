r"""Variational inference: the member of a family that is closest to a density known up to a constant.

.. math:: q^* = \arg\max_{q \in Q} \mathrm{ELBO}(q), \qquad
          \mathrm{ELBO}(q) = E_q[\log p(x, z)] + H(q) = \log p(x) - \mathrm{KL}(q \,\Vert\, p(\cdot \mid x))

Expectations are means over the same balanced normal draws at every step, so the objective is a fixed smooth function of
the parameters of q and L-BFGS maximizes it. Mean-field families ignore correlations and therefore give variances that
are too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from margin.core.randomness import RandomLike, as_generator
from margin.graphical.normal_families import FAMILIES, NormalFamily, NormalMixture

__all__ = ["VariationalFit", "balanced_draws", "elbo_gradient", "fit_variational"]

Evaluate = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class VariationalFit:
    """The distribution found, its bound, the bound after every iteration, and how often rows were evaluated."""

    q: NormalMixture
    elbo: float
    trace: list[float] = field(repr=False)
    n_evaluations: int


def fit_variational(
    log_joint: Evaluate,
    gradient: Evaluate,
    n_dimensions: int,
    family: str = "mean-field",
    *,
    n_draws: int = 64,
    n_components: int = 2,
    max_iter: int = 500,
    random_state: RandomLike = 0,
) -> VariationalFit:
    """Maximize the bound over a family: "point", "mean-field", "full" or "mixture" of normal distributions.

    ``log_joint`` takes rows (n, d) and gives (n,), ``gradient`` gives (n, d). Only the mixture has ``n_components``.
    """
    if family not in FAMILIES:
        raise ValueError(f"fit_variational: family must be one of {', '.join(FAMILIES)}; got {family!r}.")
    rng = as_generator(random_state)
    chosen = FAMILIES[family](n_dimensions, n_components if family == "mixture" else 1)
    noise = balanced_draws(n_draws, n_dimensions, rng)
    counted, trace = [0], []

    def negative(packed: np.ndarray) -> tuple[float, np.ndarray]:
        counted[0] += len(noise) * chosen.n_components
        value, slope = elbo_gradient(chosen, packed, noise, log_joint, gradient)
        return -value, -slope

    def keep(intermediate_result: Any) -> None:
        trace.append(-float(intermediate_result.fun))

    solution = minimize(
        negative,
        chosen.start(rng),
        jac=True,
        method="L-BFGS-B",
        callback=keep,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter},
    )
    return VariationalFit(chosen.distribution(solution.x), -float(solution.fun), trace, counted[0])


def elbo_gradient(
    family: NormalFamily, packed: np.ndarray, noise: np.ndarray, log_joint: Evaluate, gradient: Evaluate
) -> tuple[float, np.ndarray]:
    """The bound as a mean over ``noise`` (S, d) for every component, and its gradient in the free parameters."""
    q = family.distribution(packed)
    k, d, n = family.n_components, family.d, len(noise)
    z = (q.means[:, None] + noise @ q.roots.transpose(0, 2, 1)).reshape(k * n, d)
    log_p, slopes = np.asarray(log_joint(z), dtype=np.float64), np.asarray(gradient(z), dtype=np.float64)
    parts, u = q.log_parts(z)
    log_q = logsumexp(parts, axis=0)
    share = np.exp(parts - log_q)  # (K, K n): responsibility of every component for every draw
    heights = (log_p - log_q).reshape(k, n).mean(axis=1)
    weight = np.repeat(q.weights, n) / n
    # Through the draws: d log q / dz is minus the weighted sum of L^-T u over components.
    pulled = np.stack([np.linalg.solve(root.T, part.T).T for root, part in zip(q.roots, u)])  # (K, K n, d)
    by_z = (weight[:, None] * (slopes + np.einsum("jn,jnd->nd", share, pulled))).reshape(k, n, d)
    # Directly: the parameters of every component also stand in log q.
    direct = -weight * share
    by_means = by_z.sum(axis=1) + np.einsum("jn,jnd->jd", direct, pulled)
    by_roots = by_z.transpose(0, 2, 1) @ noise + np.einsum("jn,jnd,jne->jde", direct, pulled, u)
    by_roots -= direct.sum(axis=1)[:, None, None] * np.linalg.inv(q.roots).transpose(0, 2, 1)
    by_logits = q.weights * (heights - q.weights @ heights) + direct.sum(axis=1) - q.weights * direct.sum()
    return float(q.weights @ heights), family.packed_gradient(q, by_logits, by_means, by_roots)


def balanced_draws(n_draws: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Normal draws in pairs of opposite sign with covariance exactly the identity: (n_draws, d), an even number."""
    half = rng.standard_normal((max((n_draws + 1) // 2, d + 1), d))
    root = np.linalg.cholesky(half.T @ half / len(half))
    half = np.linalg.solve(root, half.T).T
    return np.concatenate([half, -half])
