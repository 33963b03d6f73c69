r"""Variational inference against MCMC on Bayesian logistic regression: evaluations to the same error.

Both approximate :math:`p(w \mid X, y) \propto N(w; 0, I) \prod_i \sigma(y_i w^\top x_i)`. Optimization of a bound needs
fewer evaluations to a given error of the posterior mean; but a factorized family keeps variances that are too small,
while a longer chain comes as close as one likes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.graphical.mcmc import metropolis
from margin.graphical.variational import fit_variational

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEIGHTS = np.array([1.0, -0.5, 0.8])
TOLERANCE = 0.2  # of the posterior mean, in posterior deviations


def run(seed: int, fast: bool) -> dict[str, Any]:
    if fast:
        return {"cases": [_case(200, seed, 6000)[0]]}
    measured = [_case(n, seed, 20_000) for n in (200, 20_000)]
    # Wall times are no function of the seed, so they are part of the full scale only.
    return {"cases": [case | seconds for case, seconds in measured]}


def _case(n: int, seed: int, n_steps: int) -> tuple[dict[str, Any], dict[str, float]]:
    """What both methods reach and need, and their seconds."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2)) @ [[1.0, 0.9], [0.0, 0.45]]])
    signed = X * np.where(rng.random(n) < 1 / (1 + np.exp(-X @ WEIGHTS)), 1.0, -1.0)[:, None]

    def log_joint(w: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0.0, -w @ signed.T).sum(axis=-1) - 0.5 * (w**2).sum(axis=-1)

    def gradient(w: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(w @ signed.T)) @ signed - w

    begin = time.perf_counter()
    fit = fit_variational(log_joint, gradient, 3, "mean-field", n_draws=16, random_state=seed)
    vi_seconds = time.perf_counter() - begin
    mean, covariance, root = _reference(log_joint, gradient, signed, np.random.default_rng([seed, 1]))
    deviation = np.sqrt(np.diag(covariance))
    begin = time.perf_counter()
    # The chain is given the shape of the posterior at its mode, which the bound has to find for itself.
    chain = metropolis(log_joint, np.zeros(3), n_steps, seed, scale=root, burn_in=500)
    seconds = time.perf_counter() - begin
    running = np.cumsum(chain.draws, axis=0) / np.arange(1, n_steps + 1)[:, None]
    errors = np.abs((running - mean) / deviation).max(axis=1)
    late = np.flatnonzero(errors > TOLERANCE)
    needed = 500 + (int(late[-1]) + 2 if len(late) else 1)
    case = {
        "n": n,
        "vi_error": float(np.abs((fit.q.mean - mean) / deviation).max()),
        "vi_evaluations": fit.n_evaluations,
        "mcmc_errors": errors,
        "mcmc_evaluations": needed,
        "variance_ratio": (np.diag(fit.q.covariance) / np.diag(covariance)).tolist(),
    }
    return case, {"vi_seconds": vi_seconds, "mcmc_seconds": seconds * needed / (n_steps + 500)}


def _reference(
    log_joint: Any, gradient: Any, signed: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and covariance of the posterior by importance sampling from a wider normal at its mode, and its root."""
    w = np.zeros(3)
    for _ in range(50):  # Newton's method: the log-density is concave
        p = 1 / (1 + np.exp(signed @ w))
        hessian = (signed * (p * (1 - p))[:, None]).T @ signed + np.eye(3)
        w = w + np.linalg.solve(hessian, gradient(w))
    root = 1.2 * np.linalg.cholesky(np.linalg.inv(hessian))
    noise = rng.standard_normal((4000, 3))
    draws = w + np.concatenate([noise, -noise]) @ root.T
    logs = np.concatenate([log_joint(part) for part in np.array_split(draws, 40)])
    logs += 0.5 * (np.concatenate([noise, noise]) ** 2).sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ draws
    return mean, ((draws - mean) * weights[:, None]).T @ (draws - mean), root


def check(data: dict[str, Any]) -> Verdict:
    parts = {}
    for case in data["cases"]:
        n = case["n"]
        parts[f"vi_is_as_near_{n}"] = below(case["vi_error"], TOLERANCE)
        parts[f"vi_needs_fewer_{n}"] = above(case["mcmc_evaluations"] / case["vi_evaluations"], 1.0)
        parts[f"mcmc_gets_there_{n}"] = below(float(case["mcmc_errors"][-1]), TOLERANCE)
        parts[f"vi_is_too_narrow_{n}"] = below(min(case["variance_ratio"]), 0.9)
    return every(**parts)


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = np.atleast_1d(figure.subplots(1, len(data["cases"])))
    for ax, case in zip(axes, data["cases"]):
        steps = 500 + np.arange(1, len(case["mcmc_errors"]) + 1)
        ax.loglog(steps, case["mcmc_errors"], label="Metropolis, running mean")
        ax.loglog([case["vi_evaluations"]], [case["vi_error"]], "o", label="mean-field bound, at its maximum")
        ax.axhline(TOLERANCE, color="black", linewidth=0.6, linestyle="--")
        ratios = ", ".join(f"{r:.2f}" for r in case["variance_ratio"])
        ax.set(xlabel="evaluations of the posterior", ylabel="error of the mean (posterior deviations)")
        seconds = f"; {case['vi_seconds']:.2g} s against {case['mcmc_seconds']:.2g} s" if "vi_seconds" in case else ""
        ax.set_title(f"n = {case['n']}; VI variance / true: {ratios}{seconds}")
        ax.legend()
