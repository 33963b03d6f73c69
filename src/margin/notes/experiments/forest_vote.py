r"""A forest votes on one sample.

Six trees of a forest, each with the path that one iris flower takes through it (bold), and how many trees of the whole
forest vote for each species: :math:`\hat c = \arg\max_c \#\{b : T_b(x) = c\}`. The flower is the one on which the
trees disagree most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every
from margin.data import load
from margin.trees import RandomForestClassifier
from margin.trees.cart.plotting import plot_tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 6


def run(seed: int, fast: bool) -> dict[str, Any]:
    iris = load("iris")
    X, y = iris.arrays()
    rows = np.random.default_rng(seed).permutation(len(X))
    train, test = rows[:100], rows[100:]
    forest = RandomForestClassifier(25 if fast else 101, max_depth=3, random_state=seed).fit(X[train], y[train])
    votes = forest.votes(X[test])
    chosen = int(np.argmin(votes.max(axis=1)))
    x = X[test[chosen]]
    trees = forest.estimators_
    return {
        "x": x,
        "votes": votes[chosen],
        "names": np.array(iris.target_names),
        "features": list(iris.feature_names),
        "trees": forest.trees_[:SHOWN],
        "paths": [[step["node"] for step in tree.explain(x)] for tree in trees[:SHOWN]],
        "marked": [tree.decision_path(x[None]).indices.tolist() for tree in trees[:SHOWN]],
        "leaves": forest.apply(x[None])[0][:SHOWN].tolist(),
        "singles": np.bincount([int(tree.predict(x[None])[0]) for tree in trees], minlength=3),
        "truth": int(y[test[chosen]]),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        votes_are_those_of_the_trees=equal(data["votes"], data["singles"]),
        paths_are_the_decision_paths=equal([sorted(p) for p in data["paths"]], [sorted(m) for m in data["marked"]]),
        paths_end_in_the_leaves=equal([path[-1] for path in data["paths"]], data["leaves"]),
        trees_disagree=above(int(np.count_nonzero(data["votes"])), 1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    from matplotlib.ticker import MaxNLocator

    figure.set_size_inches(15, 9)
    grid = figure.add_gridspec(2, 3, width_ratios=[1, 1, 0.3])
    short = [name.replace(" (cm)", "") for name in data["features"]]
    for k, (tree, path) in enumerate(list(zip(data["trees"], data["paths"]))[:4]):
        axis = figure.add_subplot(grid[k // 2, k % 2])
        plot_tree(tree, names=short, classes=data["names"], path=path, axis=axis, fontsize=6.5)
        vote = data["names"][tree["value"][path[-1]].argmax()]
        axis.set_title(f"tree {k + 1} says {vote}")
    axis = figure.add_subplot(grid[:, 2])
    bars = axis.bar(data["names"], data["votes"], color=["C0", "C1", "C2"], alpha=0.6)
    axis.bar_label(bars)
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set(ylabel="votes of all trees", title=f"the forest of {data['votes'].sum()} trees")
    axis.tick_params(axis="x", rotation=20)
    words = ", ".join(f"{name} {value:g}" for name, value in zip(short, data["x"]))
    figure.suptitle(f"One flower ({words}); it is a {data['names'][data['truth']]}")
