"""Mixtures against scikit-learn's from the same start, and steps of EM with SciPy's laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, stats
from scipy.special import expit
from sklearn.mixture import GaussianMixture as Peer
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.mixture import GaussianMixture, coins, em, factorial
from margin.mixture.bound import elbo, evidence, posterior
from margin.mixture.covariances import SHAPES


@oracle("margin.mixture.GaussianMixture")
def gaussian_mixture(seed: int) -> Verdict:
    rng = np.random.default_rng([seed, 15])
    X = np.vstack([rng.normal([10.0, -5.0], [1.0, 0.5], size=(40, 2)), rng.normal([14.0, -2.0], 1.0, size=(25, 2))])
    fresh = X[:9] + 0.3
    settings: dict[str, Any] = {
        "means_init": np.array([[9.0, -5.0], [14.0, -2.0]]),
        "weights_init": np.array([0.4, 0.6]),
        "tol": 1e-9,
        "max_iter": 500,
        "reg_covar": 1e-3,
        "random_state": seed,
    }
    parts = {}
    for kind in ("full", "tied", "diag", "spherical"):
        model, theirs = (m(2, covariance_type=kind, **settings).fit(X) for m in (GaussianMixture, Peer))
        parts[f"{kind}_means"] = near(model.means_, theirs.means_, tolerance=1e-3)
        parts[f"{kind}_covariances"] = near(model.covariances_, theirs.covariances_, tolerance=1e-3)
        parts[f"{kind}_weights"] = near(model.weights_, theirs.weights_, tolerance=1e-4)
        parts[f"{kind}_densities"] = near(model.score_samples(fresh), theirs.score_samples(fresh), tolerance=1e-2)
        parts[f"{kind}_chances"] = near(model.predict_proba(fresh), theirs.predict_proba(fresh), tolerance=1e-3)
        parts[f"{kind}_criteria"] = near([model.bic(X), model.aic(X)], [theirs.bic(X), theirs.aic(X)], tolerance=0.1)
    return every(**parts)


@oracle(*(f"margin.mixture.em.{name}" for name in ("expectation", "maximization", "mixture_of", "q_function")))
def sums_by_scipy(seed: int) -> Verdict:
    """Densities by SciPy's law, means and covariances weighted by hand, for every shape of covariance."""
    rng = np.random.default_rng(seed)
    X, r = rng.normal(size=(9, 2)) * [1.0, 4.0] + [3.0, -7.0], rng.dirichlet(np.ones(3), size=9)
    weight = r.sum(axis=0)
    means = (r.T @ X) / weight[:, None]
    full = np.array([(r[:, c, None] * (X - means[c])).T @ (X - means[c]) / weight[c] for c in range(3)])
    ridge = 0.05 * np.eye(2)
    shapes = {
        "full": full + ridge,
        "tied": np.tile(np.einsum("c,cij->ij", weight / 9, full) + ridge, (3, 1, 1)),
        "diag": np.array([np.diag(np.diag(part)) for part in full]) + ridge,
        "spherical": np.array([np.trace(part) / 2 * np.eye(2) for part in full]) + ridge,
    }
    parts: dict[str, Verdict] = {}
    for kind, covariances in shapes.items():
        mixture = em.mixture_of(X, r, SHAPES[kind], 0.05)
        joint = np.stack(
            [w / 9 * stats.multivariate_normal(m, c).pdf(X) for w, m, c in zip(weight, means, covariances)], axis=1
        )
        chances = joint / joint.sum(axis=1, keepdims=True)
        value, sums = em.expectation(X, mixture)
        again = em.maximization(mixture, sums, 0.05)
        parts |= {
            f"{kind}_joint": near(em.log_joint(X, mixture), np.log(joint), tolerance=1e-8),
            f"{kind}_likelihood": near(value, np.log(joint.sum(axis=1)).mean(), tolerance=1e-9),
            f"{kind}_weights": near(again.weights, chances.mean(axis=0), tolerance=1e-9),
            f"{kind}_means": near(
                again.components.means + mixture.offset, chances.T @ X / chances.sum(axis=0)[:, None], tolerance=1e-8
            ),
            f"{kind}_q": near(em.q_function(X, mixture, r), float((r * np.log(joint)).sum()), tolerance=1e-8),
        }
    return every(**parts)


@oracle(
    "margin.mixture.coins.coins_em", *(f"margin.mixture.bound.{name}" for name in ("elbo", "evidence", "posterior"))
)
def coins_by_binomials(seed: int) -> Verdict:
    """One coin of two for every row: EM's steps with SciPy's binomial law, and the bound as a sum over states."""
    rng = np.random.default_rng(seed)
    tosses = rng.integers(5, 12, size=8)
    heads = rng.binomial(tosses, rng.choice([0.2, 0.8], size=8))
    weights, chances, trace = np.array([0.5, 0.5]), np.array([0.35, 0.6]), []
    for _ in range(4):
        joint = weights * stats.binom(tosses[:, None], chances).pmf(heads[:, None])
        trace.append(float(np.log(joint.sum(axis=1)).sum()))
        r = joint / joint.sum(axis=1, keepdims=True)
        weights, chances = r.mean(axis=0), (r.T @ heads) / (r.T @ tosses)
    fitted = coins.coins_em(heads, tosses, [0.35, 0.6], tol=-np.inf, max_iter=4)
    q = rng.dirichlet(np.ones(2), size=8)
    q[0] = [1.0, 0.0]
    bound = sum(q[i, c] * (np.log(joint[i, c]) - np.log(q[i, c])) for i in range(8) for c in range(2) if q[i, c] > 0)
    return every(
        heads=near(fitted.heads, chances, tolerance=1e-10),
        weights=near(fitted.weights, weights, tolerance=1e-10),
        trace=near(fitted.trace, trace, tolerance=1e-9),
        bound=near(elbo(np.log(joint), q), bound, tolerance=1e-10),
        evidence=near(evidence(np.log(joint)), trace[-1], tolerance=1e-9),
        posterior=near(posterior(np.log(joint)), r, tolerance=1e-12),
    )


@oracle("margin.mixture.factorial.factorized_posterior", "margin.mixture.factorial.factors_em")
def switches_by_search(seed: int) -> Verdict:
    """The best product of three switches from where ours ends, by SciPy; sums over all eight states for one step."""
    rng = np.random.default_rng(seed)
    model = factorial.Factors(rng.normal(size=(4, 3)), rng.normal(size=4), 0.7, rng.uniform(0.2, 0.8, size=3))
    X = rng.normal(size=(6, 4)) + 1.0
    states = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    table = np.array([
        [
            stats.multivariate_normal(model.offset + model.loadings @ z, 0.7 * np.eye(4)).logpdf(x)
            + np.log(np.where(z == 1, model.chances, 1 - model.chances)).sum()
            for z in states
        ]
        for x in X
    ])  # fmt: skip
    posterior = factorial.factorized_posterior(table)
    on = posterior @ states
    products = np.where(states == 1, on[:, None], 1 - on[:, None]).prod(axis=2)

    def bound(logits: np.ndarray, row: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-logits))
        q = np.where(states == 1, p, 1 - p).prod(axis=1)
        return -float(q @ (row - np.log(q)))

    logits = np.log(on / (1 - on))
    slopes = [optimize.approx_fprime(logit, bound, 1e-6, row) for logit, row in zip(logits, table)]
    steps = factorial.factors_em(X, model, max_iter=2)
    (first, _), (_, after) = steps
    r = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)
    inputs = np.repeat(np.column_stack([np.ones(8), states])[None], 6, axis=0).reshape(48, 4)
    roots = np.sqrt(r.ravel())[:, None]
    theta = np.linalg.lstsq(roots * inputs, roots * np.repeat(X, 8, axis=0), rcond=None)[0]
    gaps = np.repeat(X, 8, axis=0) - inputs @ theta
    rugged = 3.0 * rng.normal(size=(60, 8))  # with more than one best product, of which the two starts find some
    chosen = factorial.factorized_posterior(rugged)
    weights = np.exp(rugged - rugged.max(axis=1, keepdims=True))
    starts = (weights / weights.sum(axis=1, keepdims=True) @ states, states[rugged.argmax(axis=1)].astype(float))
    reached = np.max([_bounds(climbed(start, rugged, states), rugged) for start in starts], axis=0)
    return every(
        better_of_two_starts=near(_bounds(chosen, rugged), reached, tolerance=1e-6),
        joint=near(model.log_joint(X), table, tolerance=1e-9),
        product=near(posterior, products, tolerance=1e-9),
        best=near(slopes, np.zeros((6, 3)), tolerance=1e-4),
        bound=near(first["bound"], float(np.log(np.exp(table).sum(axis=1)).sum()), tolerance=1e-8),
        loadings=near(after.loadings, theta[1:].T, tolerance=1e-7),
        offset=near(after.offset, theta[0], tolerance=1e-7),
        variance=near(after.variance, float((r.ravel()[:, None] * gaps**2).sum()) / 24, tolerance=1e-8),
        chances=near(after.chances, (r @ states).mean(axis=0), tolerance=1e-9),
    )


def climbed(on: np.ndarray, rows: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Products (n, 8) after 500 rounds in which each switch takes the odds that the others give it."""
    on = on.copy()
    for _ in range(500):
        for j in range(3):
            rest = np.where(
                np.delete(states, j, 1) == 1, np.delete(on, j, 1)[:, None], 1 - np.delete(on, j, 1)[:, None]
            )
            odds = (rest.prod(axis=2) * rows * np.where(states[:, j] == 1, 1, -1)).sum(axis=1)
            on[:, j] = expit(odds)
    return np.where(states == 1, on[:, None], 1 - on[:, None]).prod(axis=2)


def _bounds(q: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray((q * rows).sum(axis=1) + stats.entropy(q, axis=1))
