"""Nearest neighbors against scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import neighbors as peers
from tests.oracles import oracle

from margin import neighbors as ours
from margin.core.verdict import Verdict, every, near


@oracle("margin.neighbors.KNeighborsClassifier", "margin.neighbors.KNeighborsRegressor")
def nearest_neighbors(seed: int) -> Verdict:
    rng = np.random.default_rng([seed, 17])
    X, fresh = rng.normal(size=(70, 3)) * [1.0, 2.0, 0.5], rng.normal(size=(12, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=70), [-0.5, 0.5])
    parts = {}
    for weights in ("uniform", "distance"):
        for metric in ("euclidean", "manhattan"):
            settings: dict[str, Any] = {"n_neighbors": 4, "weights": weights, "metric": metric}
            votes = [m(**settings).fit(X, y) for m in (ours.KNeighborsClassifier, peers.KNeighborsClassifier)]
            means = [m(**settings).fit(X, X[:, 1] ** 2) for m in (ours.KNeighborsRegressor, peers.KNeighborsRegressor)]
            key = f"{weights}_{metric}"
            parts[f"chances_{key}"] = near(*(m.predict_proba(fresh) for m in votes), tolerance=1e-10)
            parts[f"means_{key}"] = near(*(m.predict(fresh) for m in means), tolerance=1e-10)
            parts[f"distances_{key}"] = near(*(m.kneighbors(fresh)[0] for m in votes), tolerance=1e-6)
    return every(**parts)
