"""Mixtures against scikit-learn's, from the same start."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture as Peer

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.mixture import GaussianMixture


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
