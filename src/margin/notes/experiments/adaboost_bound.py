r"""AdaBoost drives the training error to zero at least as fast as its bound.

If learner :math:`m` has the weighted error :math:`e_m`, then after :math:`M` rounds

.. math:: \frac1n \#\{i : H(x_i) \ne y_i\} \;\le\; \prod_{m=1}^M 2\sqrt{e_m(1-e_m)} .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near
from margin.data import load
from margin.trees import AdaBoostClassifier
from margin.trees.boosting.adaboost import training_error_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = 120


def run(seed: int, fast: bool) -> dict[str, Any]:
    X, y = _circles(300, seed)
    unseen_X, unseen_y = _circles(2000, seed + 1)
    model = AdaBoostClassifier(n_estimators=ROUNDS, random_state=seed)
    training, testing = [], []
    votes, unseen = np.zeros(len(y)), np.zeros(len(unseen_y))
    for _ in model.iterate(X, y):
        latest, weight = model.estimators_[-1], model.estimator_weights_[-1]
        votes += weight * (2.0 * latest.predict(X) - 1.0)
        unseen += weight * (2.0 * latest.predict(unseen_X) - 1.0)
        training.append(float(np.mean((votes > 0) != y)))
        testing.append(float(np.mean((unseen > 0) != unseen_y)))
    axis = np.linspace(-1.6, 1.6, 80)
    mesh = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    return {
        # The mean of exp(-y f / 2), f the weighted votes: the quantity that every round multiplies by its factor.
        "exponential_loss": float(np.mean(np.exp(-0.5 * votes * (2.0 * y - 1.0)))),
        "errors": model.estimator_errors_,
        "bound": training_error_bound(model.estimator_errors_),
        "training": np.array(training),
        "testing": np.array(testing),
        "axis": axis,
        "score": model.decision_function(mesh).reshape(80, 80),
        "X": X,
        "y": y,
    }


def _circles(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    data = load("circles", n_samples=rows, noise=0.15, seed=seed)
    return np.asarray(data.X), np.asarray(data.y)


def check(data: dict[str, Any]) -> Verdict:
    return every(
        largest_excess_over_the_bound=below(float((data["training"] - data["bound"]).max()), 1e-12),
        bound_at_the_end=below(float(data["bound"][-1]), 0.5),
        # The bound is the exponential loss itself, which is never below the fraction of mistakes.
        bound_is_the_loss=near(data["exponential_loss"] / data["bound"][-1], 1.0, tolerance=1e-9),
        training_error_at_the_end=below(float(data["training"][-1]), 0.25 * float(data["training"][0])),
        worst_learner=below(float(data["errors"].max()), 0.5),
        test_error_at_the_end=below(float(data["testing"][-1]), 0.5 * float(data["testing"][0])),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    rounds = np.arange(1, len(data["bound"]) + 1)
    left.plot(rounds, data["bound"], color="black", label=r"bound $\prod 2\sqrt{e_m(1-e_m)}$")
    left.plot(rounds, data["errors"], color="0.7", label=r"weighted error $e_m$ of each stump")
    left.plot(rounds, data["training"], color="C0", label="training error")
    left.plot(rounds, data["testing"], color="C3", label="test error")
    left.set(xlabel="rounds", ylabel="error", ylim=(0, 1), title="The training error stays under its bound")
    left.legend()
    limit = np.abs(data["score"]).max()
    right.contourf(data["axis"], data["axis"], data["score"], 20, cmap="RdBu_r", vmin=-limit, vmax=limit, alpha=0.7)
    right.contour(data["axis"], data["axis"], data["score"], [0.0], colors="black")
    for label, color in ((0, "C0"), (1, "C3")):
        right.plot(*data["X"][data["y"] == label].T, ".", color=color, markersize=4)
    right.set(xlabel="x1", ylabel="x2", title="Weighted votes of axis-parallel stumps", aspect="equal")
