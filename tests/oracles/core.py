"""What every estimator shares: which labels are known, and parameters that are read, set and refused."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from tests.oracles import oracle

from margin.core.estimator import Estimator
from margin.core.labels import has_label
from margin.core.verdict import Verdict, equal, every
from margin.linear import Ridge


@oracle("margin.core.labels.has_label")
def labels_one_by_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    classes, words = rng.integers(-1, 3, 20), rng.choice(np.array(["a", "b", None], dtype=object), 20)
    signs = rng.permutation(np.repeat([-1, 1], 5))
    return every(
        numbers=equal(has_label(classes).tolist(), [c != -1 for c in classes.tolist()]),
        words=equal(has_label(words).tolist(), [w is not None for w in words]),
        two_signs=equal(has_label(signs).tolist(), [True] * 10),
        never_a_class=equal(has_label(signs, may_be_class=False).tolist(), (signs == 1).tolist()),
        missing=equal(has_label(np.array([0.0, np.nan, 1.0])).tolist(), [True, False, True]),
    )


@oracle("margin.core.estimator.Estimator")
def parameters_by_name(seed: int) -> Verdict:
    alpha = float(np.random.default_rng(seed).uniform(0.5, 2.0))
    model = Ridge(alpha=alpha, fit_intercept=False)
    copy = clone(model).set_params(alpha=2 * alpha)
    X, y = np.array([[1.0], [2.0]]), np.array([1.0, 3.0])
    refused = ""
    try:
        Ridge(alpha=-1.0).fit(X, y)
    except ValueError as problem:
        refused = str(problem)
    return every(
        is_one=equal(isinstance(model, Estimator), True),
        own=equal((model.get_params()["alpha"], copy.get_params()["alpha"]), (alpha, 2 * alpha)),
        others_are_kept=equal(copy.get_params()["fit_intercept"], False),
        not_fitted=equal(hasattr(model, "coef_"), False),
        fitted=equal(bool(np.allclose(model.fit(X, y).coef_, 7 / (5 + alpha))), True),
        refused=equal("alpha" in refused and "Ridge" in refused, True),
    )
