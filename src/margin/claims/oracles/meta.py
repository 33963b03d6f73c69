"""Learning without examples against ridge regression onto attributes."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, equal, every, near
from margin.meta import ZeroShot


@oracle("margin.meta.zero_shot.ZeroShot")
def attributes_by_ridge_regression(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    attributes = {"a": [0.2, 1.0], "b": [1.4, -0.3], "c": [-0.7, 0.5], "d": [2.0, 2.0]}  # nobody has seen d
    X, y = rng.normal(0.8, 1.5, size=(40, 3)), np.array(["a", "b", "c"])[rng.integers(3, size=40)]
    model = ZeroShot(attributes, alpha=0.7).fit(X, y)
    theirs = Ridge(alpha=0.7).fit(X, np.array([attributes[name] for name in y]))
    said = theirs.predict(X)
    distance = np.linalg.norm(said[:, None] - np.array(list(attributes.values())), axis=2)
    return every(
        weights=near(model.coef_, theirs.coef_.T, tolerance=1e-8),
        attributes=near(model.predict_attributes(X), said, tolerance=1e-8),
        classes=equal(model.predict(X).tolist(), [list(attributes)[k] for k in distance.argmin(axis=1)]),
    )
