r"""A forest averages variance away, down to the correlation of its trees.

Trees of variance :math:`\sigma^2` and pairwise correlation :math:`\rho`, averaged over :math:`B`, have

.. math:: \operatorname{Var}\hat f_B = \rho\,\sigma^2 + \frac{1-\rho}{B}\,\sigma^2 .

Many forests are grown on independent training sets of Friedman's problem; points are the variance of the average of
the first :math:`B` trees, lines the formula with the measured :math:`\sigma^2` and :math:`\rho`. Looking at fewer
columns per split lowers :math:`\rho` and with it the floor, at some cost in bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.data.generators import friedman
from margin.trees import RandomForestRegressor
from margin.trees.cart.walking import predict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = {"all 10 columns": None, "3 columns": 3, "1 column": 1}
ROWS, NOISE = 100, 1.0


def run(seed: int, fast: bool) -> dict[str, Any]:
    sets, trees = (36, 60) if fast else (100, 50)
    rng = np.random.default_rng(seed)
    X_test, truth = friedman(rng, 80, noise=0.0)
    training = [friedman(rng, ROWS, noise=NOISE) for _ in range(sets)]
    counts = np.unique(np.geomspace(1, trees, 9).round().astype(int))
    data: dict[str, Any] = {"counts": counts, "kinds": {}}
    for name, columns in COLUMNS.items():
        predictions = np.empty((sets, trees, len(X_test)))
        for i, (X, y) in enumerate(training):
            forest = RandomForestRegressor(trees, max_features=columns, min_samples_split=2, random_state=seed + i)
            predictions[i] = [predict(tree, X_test)[:, 0] for tree in forest.fit(X, y).trees_]
        data["kinds"][name] = _moments(predictions, truth, counts)
    return data


def _moments(predictions: np.ndarray, truth: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
    """From predictions (sets, trees, points): variance of averages, of single trees, correlation, squared bias."""
    variance = [float(predictions[:, :b].mean(axis=1).var(axis=0, ddof=1).mean()) for b in counts]
    single = float(predictions.var(axis=0, ddof=1).mean())
    trees = predictions.shape[1]
    # The variance of the average of all trees, solved for the correlation.
    rho = (variance[-1] / single - 1 / trees) / (1 - 1 / trees)
    bias = float(np.mean((predictions.mean(axis=(0, 1)) - truth) ** 2))
    return {"variance": np.array(variance), "single": single, "rho": rho, "bias": bias}


def formula(kind: dict[str, Any], counts: np.ndarray) -> np.ndarray:
    return kind["single"] * (kind["rho"] + (1 - kind["rho"]) / counts)


def check(data: dict[str, Any]) -> Verdict:
    every_column, few, one = (data["kinds"][name] for name in COLUMNS)
    gap = max(float(np.abs(k["variance"] / formula(k, data["counts"]) - 1).max()) for k in data["kinds"].values())
    return every(
        variance_falls=below(every_column["variance"][-1], 0.5 * every_column["variance"][0]),
        formula_holds=below(gap, 0.15),
        fewer_columns_less_correlated=below(few["rho"], every_column["rho"]),
        one_column_least_correlated=below(one["rho"], few["rho"]),
        and_lower_variance=below(few["variance"][-1], every_column["variance"][-1]),
        but_more_bias=above(one["bias"], every_column["bias"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5)
    left, right = figure.subplots(1, 2)
    dense = np.geomspace(1, data["counts"][-1], 200)
    for color, (name, kind) in zip(("C0", "C1", "C2"), data["kinds"].items()):
        left.plot(data["counts"], kind["variance"], "o", color=color)
        left.plot(dense, formula(kind, dense), color=color, label=rf"{name}: $\rho$ = {kind['rho']:.2f}")
        left.axhline(kind["rho"] * kind["single"], color=color, ls=":", lw=1)
    left.set(xscale="log", xlabel="trees averaged B", ylabel="variance over training sets", ylim=(0, None))
    left.set_title(r"Variance falls to the floor $\rho\sigma^2$ (dotted)")
    left.legend(title="looked at per split")
    names, place = list(data["kinds"]), np.arange(len(data["kinds"]))
    bias = [data["kinds"][name]["bias"] for name in names]
    last = [data["kinds"][name]["variance"][-1] for name in names]
    one = [data["kinds"][name]["single"] for name in names]
    right.bar(place - 0.2, bias, 0.38, color="0.65", label="squared bias")
    right.bar(place - 0.2, one, 0.38, bottom=bias, color="C3", alpha=0.7, label="variance of one tree")
    right.bar(place + 0.2, bias, 0.38, color="0.65")
    right.bar(
        place + 0.2, last, 0.38, bottom=bias, color="C0", alpha=0.8, label=f"variance of {data['counts'][-1]} trees"
    )
    right.set_xticks(place, names)
    right.set(ylabel="expected squared error", title="One tree (left bar) and the forest (right bar)")
    right.legend()
