r"""The error of a forest on rows its trees have not seen.

A bootstrap sample of :math:`n` rows leaves out a fraction :math:`(1 - 1/n)^n \to 1/e` of them. Judging every row only
by the trees that left it out gives an error estimate that follows the error on fresh rows while the forest grows,
without holding anything back; the training error says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.data import load
from margin.trees import RandomForestClassifier
from margin.trees.cart.walking import predict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    n, trees = (900, 60) if fast else (1800, 300)
    moons, y = load("moons", n_samples=n + 2500, noise=0.3, seed=seed).arrays()
    rng = np.random.default_rng(seed)
    X = np.hstack([moons, rng.standard_normal((len(moons), 4))])  # four columns that mean nothing
    train, test = slice(0, n), slice(n, None)
    forest = RandomForestClassifier(trees, oob_score=True, random_state=seed)
    curves: dict[str, list[float]] = {"out of bag": [], "test": [], "training": []}
    sums = {"test": np.zeros((2500, 2)), "training": np.zeros((n, 2))}
    for record in forest.iterate(X[train], y[train]):
        tree = forest.trees_[-1]
        curves["out of bag"].append(record["oob_error"])
        for name, rows in (("test", test), ("training", train)):
            sums[name] += predict(tree, X[rows])
            curves[name].append(float(np.mean(sums[name].argmax(axis=1) != y[rows])))
    left_out = [np.setdiff1d(np.arange(n), drawn) for drawn in forest.estimators_samples_]
    alone = [np.mean(predict(tree, X[rows]).argmax(axis=1) != y[rows]) for tree, rows in zip(forest.trees_, left_out)]
    return {
        "curves": {name: np.array(curve) for name, curve in curves.items()},
        "alone": np.array(alone),
        "left_out": float(np.mean([len(rows) / n for rows in left_out])),
        "n": n,
    }


def check(data: dict[str, Any]) -> Verdict:
    curves = data["curves"]
    late = len(curves["test"]) // 2
    gap = np.abs(curves["out of bag"][late:] - curves["test"][late:]).mean()
    # The out-of-bag error is a fraction of n rows: four of its standard errors.
    noise = 4 * np.sqrt(curves["test"][-1] * (1 - curves["test"][-1]) / data["n"])
    return every(
        left_out=near(data["left_out"], (1 - 1 / data["n"]) ** data["n"], tolerance=0.01),
        follows_the_test_error=below(float(gap), float(noise)),
        begins_with_one_tree=near(curves["out of bag"][0], data["alone"][0], tolerance=1e-12),
        # One tree may be lucky: the curve ends well below the error that single trees have on average.
        falls=below(curves["out of bag"][-1], 0.8 * float(data["alone"].mean())),
        training_error_says_nothing=below(curves["training"][-1], 0.02),
        test_error_remains=above(curves["test"][-1], 0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(9, 5.2)
    axis = figure.subplots()
    trees = np.arange(1, len(data["curves"]["test"]) + 1)
    for (name, curve), color in zip(data["curves"].items(), ("C1", "C0", "0.6")):
        axis.plot(trees, curve, color=color, label=f"{name}: {curve[-1]:.3f} at the end", lw=1.8)
    axis.set(xscale="log", xlabel="trees", ylabel="fraction of errors", ylim=(0, None))
    axis.set_title(f"Each tree leaves out {data['left_out']:.1%} of the rows; they judge the forest as fresh rows do")
    axis.legend()
