"""Tables for models that learn from streams: correlated columns, or counts, with three classes or numbers."""

import numpy as np
import pandas as pd
from problems import build


def build_for_streams(entry):
    """The model of the contract tests, without what needs the rows themselves."""
    model = build(entry)
    return model.set_params(oob_score=False) if "oob_score" in model.get_params() else model


def streamed_table(entry):
    rng = np.random.default_rng(3)
    n, p = 1_500, 4
    centers = np.array([[0.0, 2, 1, 3], [3, 0, 2, 1], [1, 3, 0, 2]])
    kinds = rng.integers(3, size=n)
    X = (
        rng.poisson(1 + centers[kinds]).astype(float)
        if entry.takes != "standard"
        else (rng.normal(size=(n, p)) @ np.triu(np.ones((p, p))) + centers[kinds] + 5)
    )
    if entry.task == "classification":
        y = np.array(["no", "yes", "perhaps"], dtype=object)[kinds]
    else:
        y = X @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.normal(size=n)
    return pd.DataFrame(X, columns=list("abcd")), y
