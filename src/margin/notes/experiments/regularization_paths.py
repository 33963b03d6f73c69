r"""Paths of coefficients: the lasso selects, ridge only shrinks

As the penalty grows, coefficients of the lasso :math:`\tfrac1{2n}\lVert y - Xw\rVert^2 + \alpha\lVert w\rVert_1` reach
zero one after the other and stay there; those of ridge regression,
:math:`\lVert y - Xw\rVert^2 + \alpha\lVert w\rVert_2^2`, approach zero together and never arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every
from margin.linear import Path, Ridge, draw_path, lasso_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, COLUMNS = 80, 20
TRUTH = (3.0, -2.0, 1.5)


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Both paths on 3 relevant of 20 columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = X[:, :3] @ np.array(TRUTH) + rng.normal(size=ROWS)
    path = lasso_path(X, y, n_alphas=30 if fast else 100, tol=1e-8)
    alphas = np.logspace(4, -2, 30 if fast else 100)
    return {
        "alphas": path.alphas,
        "lasso": path.coefs,
        "gaps": path.gaps,
        "intercepts": path.intercepts,
        "sweeps": path.sweeps,
        "ridge_alphas": alphas,
        "ridge": np.column_stack([Ridge(alpha=a).fit(X, y).coef_ for a in alphas]),
    }


def check(data: dict[str, Any]) -> Verdict:
    zeros = (data["lasso"] == 0).sum(axis=0)
    entered = np.argmax(data["lasso"] != 0, axis=1) + len(zeros) * (data["lasso"] == 0).all(axis=1)
    lengths = np.linalg.norm(data["ridge"], axis=0)
    return every(
        starts_empty=equal(int(zeros[0]), COLUMNS),
        relevant_first=below(float(entered[:3].max()), float(entered[3:].min())),
        ridge_never_zero=equal(int((data["ridge"] == 0).sum()), 0),
        ridge_shrinks=above(float(np.diff(lengths).min()), 0.0),
        solved=below(float(data["gaps"].max()), 1e-6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    path = Path(data["alphas"], data["lasso"], data["intercepts"], data["gaps"], data["sweeps"])
    draw_path(path, left, most=3)
    left.set_title("lasso: exact zeros")
    ridge = Path(data["ridge_alphas"], data["ridge"], np.zeros(len(data["ridge_alphas"])), data["gaps"], data["sweeps"])
    draw_path(ridge, right, most=3)
    right.set_title("ridge: small, never zero")
    right.set_ylabel("")
