"""Learning without examples against ridge regression onto attributes."""

from __future__ import annotations

import numpy as np
import torch
from scipy import linalg
from sklearn.linear_model import LogisticRegression, Ridge

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, equal, every, near
from margin.meta import ZeroShot
from margin.meta.domains import coral, importance_weights
from margin.meta.similarity import pair_logits


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


@oracle("margin.meta.domains.coral", "margin.meta.domains.importance_weights", "margin.meta.similarity.pair_logits")
def rows_of_another_domain(seed: int) -> Verdict:
    """Moved rows have the other mean and covariance; weights are odds of scikit-learn's regression; logits by hand."""
    rng = np.random.default_rng(seed)
    # Turned and stretched by known factors: a matrix of random numbers may be nearly singular.
    source, target = (
        rng.normal(size=(n, 3)) * [0.6, 1.3, 2.1] @ linalg.qr(rng.normal(size=(3, 3)))[0] + shift
        for n, shift in ((60, 1.0), (50, -2.0))
    )
    moved, exact = coral(source, target), coral(source, target, shrinkage=1e-10)
    roots = [linalg.sqrtm(np.cov(X.T) + 0.001 * np.eye(3)).real for X in (source, target)]
    rows = np.vstack([source[:20, :1], target[:, :1]])
    theirs = LogisticRegression(C=0.4, tol=1e-10).fit(rows, np.repeat([0, 1], [20, 50]))
    odds = np.exp(theirs.decision_function(source[:20, :1]))
    a, b = torch.tensor([[1.0, 2.0], [0.5, -1.0]]), torch.tensor([[0.0, 4.0], [0.5, 1.0]])
    return every(
        mean=near(exact.mean(axis=0), target.mean(axis=0), tolerance=1e-8),
        covariance=near(np.cov(exact.T), np.cov(target.T), tolerance=1e-6),
        moved=near(moved, (source - source.mean(axis=0)) @ np.linalg.inv(roots[0]) @ roots[1] + target.mean(axis=0),
                   tolerance=1e-6),
        weights=near(importance_weights(source[:20, :1], target[:, :1], 0.4), odds / odds.mean(),
                     tolerance=1e-3 * float(odds.max() / odds.mean())),
        logits=near(pair_logits(a, b, 0.7, 2.5).numpy(), [2.5 - 0.7 * 5.0, 2.5 - 0.7 * 4.0], tolerance=1e-5),
    )  # fmt: skip
