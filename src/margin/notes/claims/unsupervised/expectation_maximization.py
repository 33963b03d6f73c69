"""Claims about expectation-maximization: its bound, both steps, and the variational form."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import scipy.optimize as so
from scipy.special import expit, logit, rel_entr

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.mixture import GaussianMixture
from margin.mixture.bound import elbo, evidence, posterior
from margin.mixture.coins import coins_em
from margin.mixture.covariances import Full
from margin.mixture.em import MixtureParameters, log_joint, mixture_of, q_function
from margin.mixture.factorial import Factors, factorized_posterior, factors_em
from margin.notes.claims import claim


def overlapping(seed: int, n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 2.0]])
    return means[rng.integers(3, size=n)] + rng.normal(size=(n, 2))


@claim("em-algorithm")
def alternate_maximization_of_the_one_and_only_bound(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    heads = rng.binomial(20, np.where(rng.random(400) < 0.3, 0.8, 0.4))
    coins = coins_em(heads, np.full(400, 20), [0.7, 0.5])
    X = overlapping(seed)
    starts = [_fit(X, X[rows]) for rows in ([0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11])]
    mixture = starts[0]._mixture()
    table, prior = log_joint(X, mixture), np.log(mixture.weights)
    q = rng.dirichlet(np.ones(3), size=len(X))
    divergence = rel_entr(q, mixture.weights).sum()
    autoencoder_form = float((q * (table - prior)).sum() - divergence)
    gap = abs(elbo(table, q) - autoencoder_form)
    ends = [model.log_likelihood_ for model in starts]
    return corrected(
        every(
            coins=near(coins.heads, [0.8, 0.4], tolerance=0.03),
            coins_rise=above(float(np.diff(coins.trace).min()), -1e-9),
            same_as_scikit_learn=near(ends[0], _reference_end(X), tolerance=1e-9),
            one_bound=below(gap, 1e-9),
            ends_differ=above(max(ends) - min(ends), 1e-3),
        ),
        bounds_differ=above(gap, 1e-6),  # the notes call the two bounds different
        every_start_reaches_the_maximum=near(min(ends), max(ends), tolerance=1e-4),
    )


def _start(means: np.ndarray) -> dict[str, Any]:
    k, d = means.shape
    start = {"weights_init": np.full(k, 1 / k), "means_init": means, "precisions_init": np.stack([np.eye(d)] * k)}
    return {"n_components": k, "max_iter": 40, "tol": 0.0, **start}


def _fit(X: np.ndarray, means: np.ndarray) -> GaussianMixture:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed number of steps is not meant to converge
        return GaussianMixture(**_start(means)).fit(X)


def _reference_end(X: np.ndarray) -> float:
    from sklearn.mixture import GaussianMixture as Reference

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(Reference(**_start(X[:3])).fit(X).score(X))


@claim("em-q-function")
def the_m_step_is_the_maximum_of_q(seed: int) -> Verdict:
    X = overlapping(seed, 60)
    resp = np.random.default_rng([seed, 1]).dirichlet([1.0, 1.0], size=60)
    best = q_function(X, mixture_of(X, resp, Full, 0.0), resp)

    def minus_q(v: np.ndarray) -> float:
        weights = np.exp(v[:2]) / np.exp(v[:2]).sum()
        roots = v[6:].reshape(2, 2, 2)
        parts = Full(v[2:6].reshape(2, 2), roots @ roots.transpose(0, 2, 1))
        return -q_function(X, MixtureParameters(weights, parts, X.mean(axis=0)), resp)

    start = np.concatenate([np.zeros(6), np.eye(2).ravel(), np.eye(2).ravel()])
    numerical = -so.minimize(minus_q, start, method="BFGS").fun
    return every(same=near(best, numerical, tolerance=1e-4), not_below=above(best, numerical - 1e-8))


@claim("claim-em-monotone")
def no_half_step_lowers_the_bound(seed: int) -> Verdict:
    X = overlapping(seed, 400)
    mixture = mixture_of(X, np.random.default_rng(seed).dirichlet(np.full(3, 0.3), size=len(X)), Full, 0.0)
    chain, touches = [], []
    for _ in range(40):
        table = log_joint(X, mixture)
        q = posterior(table)  # E step
        touches.append(abs(elbo(table, q) - evidence(table)))
        chain += [evidence(table)]
        mixture = mixture_of(X, q, Full, 0.0)  # M step
        chain += [elbo(log_joint(X, mixture), q)]
    model = GaussianMixture(3, max_iter=200, reg_covar=0.0, random_state=seed)
    gains = np.array([record["change"] for record in model.iterate(X)])
    of_model = evidence(log_joint(X, model._mixture()))
    return every(
        as_run=near(model.score(X) * len(X), of_model, tolerance=1e-8),
        run_rises=above(float(gains.min()), -1e-9),
        rises=above(float(np.diff(chain).min()), -1e-10),
        equality_after_e_step=below(max(touches), 1e-9),
        gained=above(chain[-1] - chain[0], 1.0),
    )


@claim("variational-em")
def a_restricted_family_costs_unless_the_posterior_is_in_it(seed: int) -> Verdict:
    rng = np.random.default_rng([seed, 1])
    parts: dict[str, Verdict] = {}
    for name, overlap in (("coupled", 1.5), ("apart", 0.0)):
        model = Factors(np.array([[2.0, overlap], [0.0, 2.0]]), np.zeros(2), 0.5, np.array([0.4, 0.6]))
        z = rng.random((200, 2)) < model.chances
        X = z @ model.loadings.T + np.sqrt(model.variance) * rng.normal(size=(200, 2))
        table = model.log_joint(X)
        q, exact = factorized_posterior(table), posterior(table)
        runs = {f: list(factors_em(X, model, family=f, max_iter=12)) for f in ("exact", "factorized")}
        bounds = {family: np.array([record["bound"] for record, _ in run]) for family, run in runs.items()}
        gap = elbo(table, exact) - elbo(table, q)
        parts[f"{name}_gap_is_the_divergence"] = near(gap, rel_entr(q, exact).sum(), tolerance=1e-8)
        parts[f"{name}_first_bound"] = near(bounds["factorized"][0], elbo(table, q), tolerance=1e-9)
        parts[f"{name}_steps"] = equal([len(run) for run in runs.values()], [12, 12])
        parts[f"{name}_bounds_rise"] = above(min(np.diff(b).min() for b in bounds.values()), -1e-8)
        parts[f"{name}_factorizes"] = near(q, _product_of_marginals(q), tolerance=1e-10)
        parts[f"{name}_best_product"] = near(elbo(table[:3], q[:3]), _best_product_bound(table[:3]), tolerance=1e-5)
        # Where the posterior factorizes the restriction costs nothing; where switches explain the same rows it does,
        # at these parameters and still after EM.
        costs = min(gap, bounds["exact"][-1] - bounds["factorized"][-1])
        parts[f"{name}_costs"] = above(costs, 1.0) if overlap else near(gap, 0.0, tolerance=1e-8)
    return every(**parts)


def _product_of_marginals(q: np.ndarray) -> np.ndarray:
    """(n, 4) over two switches: off-off, off-on, on-off, on-on."""
    first, second = q[:, 2:].sum(axis=1), q[:, 1] + q[:, 3]
    return np.stack([(1 - first) * (1 - second), (1 - first) * second, first * (1 - second), first * second], axis=1)


def _best_product_bound(table: np.ndarray) -> float:
    """The highest bound of any product distribution: the best of a fine grid of chances, improved by SciPy."""
    total, levels = 0.0, np.linspace(0.02, 0.98, 12)
    for row in table:

        def minus_bound(logits: np.ndarray, row: np.ndarray = row) -> float:
            on = expit(logits)
            q = np.array([(1 - on[0]) * (1 - on[1]), (1 - on[0]) * on[1], on[0] * (1 - on[1]), on[0] * on[1]])
            return -elbo(row[None], q[None])

        start = min(product(logit(levels), repeat=2), key=lambda pair: minus_bound(np.array(pair)))
        total -= so.minimize(minus_bound, start, method="BFGS").fun
    return total
