r"""What every classifier makes of three small problems.

Each panel shows :math:`P(\text{class } 1 \mid x)` of one model on moons, circles or exclusive-or, with its accuracy on
rows it has not seen. A linear rule cannot part circles or exclusive-or; independent features cannot see
exclusive-or either; two covariances can; neighbors, kernels, trees and nets can do all three.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEMS = {"moons": {"noise": 0.2}, "circles": {"noise": 0.1}, "xor": {"noise": 0.1}}
STRAIGHT = ("logistic regression", "linear discriminant")
FLEXIBLE = ("neighbors", "support vectors", "random forest", "perceptron")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.data import load

    n, side = (200, 36) if fast else (400, 120)
    data: dict[str, Any] = {"problems": {}}
    for name, options in PROBLEMS.items():
        train = load(name, n_samples=n, seed=seed, **options)
        test = load(name, n_samples=2000, seed=seed + 10_000, **options)
        X = np.asarray(train.X)
        low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
        grid = np.stack(np.meshgrid(*(np.linspace(low[i], high[i], side) for i in (0, 1))), axis=-1)
        panels = {}
        for model_name, model in _models(seed, fast).items():
            model.fit(train.X, train.y)
            surface = _first_class_surface(model, grid.reshape(-1, 2)).reshape(side, side)
            panels[model_name] = {"surface": surface, "accuracy": float(np.mean(model.predict(test.X) == test.y))}
        data["problems"][name] = {"X": train.X, "y": train.y, "grid": grid, "panels": panels}
    return data


def _models(seed: int, fast: bool) -> dict[str, Any]:
    from margin import bayes, kernels, linear, neighbors, trees
    from margin.neural.estimators import MLPClassifier

    return {
        "neighbors": neighbors.KNeighborsClassifier(9),
        "naive Bayes": bayes.GaussianNB(),
        "linear discriminant": bayes.LinearDiscriminantAnalysis(),
        "quadratic discriminant": bayes.QuadraticDiscriminantAnalysis(),
        "logistic regression": linear.LogisticRegression(),
        "support vectors": kernels.SVC(C=5.0, gamma=2.0),
        "decision tree": trees.DecisionTreeClassifier(max_depth=6, random_state=seed),
        "random forest": trees.RandomForestClassifier(n_estimators=20 if fast else 100, random_state=seed),
        "boosting": trees.GradientBoostingClassifier(n_estimators=20 if fast else 60, random_state=seed),
        "perceptron": MLPClassifier((24,), max_iter=40 if fast else 150, learning_rate_init=0.02, random_state=seed),
    }


def _first_class_surface(model: Any, points: np.ndarray) -> np.ndarray:
    """Probability of class 1, or a decision value pressed between 0 and 1."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(points)[:, 1]
    return 1 / (1 + np.exp(-2 * model.decision_function(points)))


def check(data: dict[str, Any]) -> Verdict:
    scores = {p: {m: panel["accuracy"] for m, panel in d["panels"].items()} for p, d in data["problems"].items()}
    straight = max(scores[problem][model] for problem in ("circles", "xor") for model in STRAIGHT)
    flexible = min(scores[problem][model] for problem in PROBLEMS for model in FLEXIBLE)
    # A line, and naive Bayes, can have three of the four quadrants of xor right, 0.75, and by chance 0.03 more.
    return every(
        a_line_parts_neither_circles_nor_xor=below(straight, 0.78),
        flexible_models_do_all_three=above(flexible, 0.82),
        independent_features_see_circles=above(scores["circles"]["naive Bayes"], 0.9),
        but_not_xor=below(scores["xor"]["naive Bayes"], 0.78),
        two_covariances_see_xor=above(scores["xor"]["quadratic discriminant"], 0.8),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    """Five models to a row, three rows of problems, then the other five."""
    models = list(next(iter(data["problems"].values()))["panels"])
    wide, high = math.ceil(len(models) / 2), len(data["problems"])
    figure.set_size_inches(2.3 * wide, 2.25 * 2 * high)
    axes = figure.subplots(2 * high, wide)
    for k, model in enumerate(models):
        axes[high * (k // wide), k % wide].set_title(model, fontsize=12)
    for row, (problem, drawn) in enumerate(data["problems"].items()):
        x, y = drawn["grid"][..., 0], drawn["grid"][..., 1]
        for k, panel in enumerate(drawn["panels"].values()):
            axis = axes[row + high * (k // wide), k % wide]
            shades = axis.contourf(x, y, panel["surface"], levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.7)
            axis.contour(x, y, panel["surface"], levels=[0.5], colors="black", linewidths=1.0)
            for label, color in ((0, "#8b0000"), (1, "#00307a")):
                axis.scatter(*drawn["X"][drawn["y"] == label].T, s=8, color=color, edgecolors="white", linewidths=0.3)
            axis.set(xticks=[], yticks=[], xlabel=f"test accuracy {panel['accuracy']:.2f}")
            if k % wide == 0:
                axis.set_ylabel(problem, fontsize=12)
    bar = figure.colorbar(shades, ax=axes, location="bottom", shrink=0.4, pad=0.01, aspect=40, ticks=[0, 0.5, 1])
    bar.set_label("P(class 1 | x); the line is one half")
