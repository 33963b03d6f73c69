"""Adaptation to another domain: what turns gradients, and what classifiers are then fitted to."""

from __future__ import annotations

import numpy as np
import torch
from scipy.linalg import sqrtm
from sklearn.linear_model import LogisticRegression
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.linear import LogisticRegression as Ours
from margin.meta import DomainAdaptationClassifier
from margin.meta.domains import reverse_gradient


def two_domains(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of three columns in units of their own; the target is turned, scaled and moved."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [35, 25])
    X = (rng.normal(size=(60, 3)) + 1.2 * y[:, None]) * [1.0, 5.0, 0.3]
    target = (rng.normal(size=(50, 3)) + 1.2 * rng.integers(0, 2, (50, 1))) * [2.0, 4.0, 0.6] + [1.0, -6.0, 0.5]
    return X, y, target


@oracle("margin.meta.domains.reverse_gradient")
def gradients_turned_round(seed: int) -> Verdict:
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(3, 2))).requires_grad_()
    y = reverse_gradient(x, 0.7)
    (slope,) = torch.autograd.grad((y**3).sum(), x)
    return every(
        value=near(y.detach().numpy(), x.detach().numpy(), tolerance=0.0),
        slope=near(slope.numpy(), -0.7 * 3 * x.detach().numpy() ** 2, tolerance=1e-12),
    )


@oracle("margin.meta.DomainAdaptationClassifier")
def rows_brought_over(seed: int) -> Verdict:
    """Matched means and covariances by matrix square roots; weights by odds of the domain, for the same classifier."""
    X, y, target = two_domains(seed)
    table, labels = np.concatenate([X, target]), np.concatenate([y, np.full(50, -1)])
    deviation = X.std(axis=0)
    source, other = X / deviation, target / deviation
    first, second = (np.cov(rows.T) + 0.05 * np.eye(3) for rows in (source, other))
    matched = (source - source.mean(axis=0)) @ np.linalg.inv(sqrtm(first).real) @ sqrtm(second).real
    matched = (matched + other.mean(axis=0)) * deviation
    domains = LogisticRegression(C=0.5, tol=1e-10, max_iter=5000)
    p = domains.fit(table, np.repeat([0, 1], [60, 50])).predict_proba(X)[:, 1]
    odds = p / (1 - p)
    fits = {
        "coral": Ours().fit(matched, y),
        "importance": Ours().fit(X, y, sample_weight=odds / odds.mean()),
        "none": Ours().fit(X, y),
    }
    models = {
        method: DomainAdaptationClassifier(Ours(), method=method, shrinkage=0.05, C=0.5).fit(table, labels)
        for method in fits
    }
    return every(
        **{
            method: near(models[method].predict_proba(target), fit.predict_proba(target), tolerance=2e-3)
            for method, fit in fits.items()
        },
        labels=equal(
            models["none"].predict(target).tolist(), fits["none"].predict_proba(target).argmax(axis=1).tolist()
        ),
        they_differ=equal(bool(np.abs(odds / odds.mean() - 1).max() > 0.1), True),
    )
