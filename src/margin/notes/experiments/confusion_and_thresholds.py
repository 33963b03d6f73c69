r"""A threshold turns scores into a confusion matrix, and moving it trades recall for precision.

.. math:: C^\delta(x) = \mathbf 1(s(x) > \delta), \qquad
          \text{precision} = \frac{TP}{TP + FP}, \quad \text{recall} = \frac{TP}{TP + FN} .

Recall can only fall as the threshold rises. Precision mostly rises, but not always: where the next row to be dropped is
a positive one, it falls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.linear import LogisticRegression
from margin.metrics import best_threshold, confusion_matrix, precision, recall, threshold_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = (0.2, 0.5, 0.8)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n = 400 if fast else 2000
    X = rng.normal(size=(2 * n, 2))
    y = (rng.random(2 * n) < 1 / (1 + np.exp(-(1.8 * X[:, 0] + X[:, 1] - 1)))).astype(int)
    p = LogisticRegression().fit(X[:n], y[:n]).predict_proba(X[n:])[:, 1]
    test = y[n:]
    called = [(p > t).astype(int) for t in SHOWN]
    return {
        "y": test,
        "p": p,
        "sweep": threshold_sweep(test, p),
        "matrices": [confusion_matrix(test, c, labels=[1, 0]) for c in called],
        "rates": [(precision(test, c), recall(test, c)) for c in called],
        "cheapest": {name: best_threshold(test, p, *cost)[0] for name, cost in (("fp", (5, 1)), ("fn", (1, 5)))},
    }


def check(data: dict[str, Any]) -> Verdict:
    sweep = data["sweep"]
    margins = [(m[0, 0] / m[:, 0].sum(), m[0, 0] / m[0].sum()) for m in data["matrices"]]
    return every(
        every_row_once=equal([int(m.sum()) for m in data["matrices"]], [len(data["y"])] * 3),
        rates_in_the_margins=near(data["rates"], margins, tolerance=1e-12),
        recall_falls=below(float(np.diff(sweep["recall"]).max()), 1e-12),
        precision_rises_from_end_to_end=above(data["rates"][2][0] - data["rates"][0][0], 0.05),
        but_not_at_every_step=below(float(np.diff(sweep["precision"]).min()), 0.0),
        costs_move_the_threshold=above(data["cheapest"]["fp"] - data["cheapest"]["fn"], 0.1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 8)
    grid = figure.add_gridspec(2, 3, height_ratios=[1, 1.25])
    for column, (t, matrix) in enumerate(zip(SHOWN, data["matrices"], strict=True)):
        axes = figure.add_subplot(grid[0, column])
        axes.imshow(matrix, cmap="Blues", vmin=0, vmax=len(data["y"]) * 0.8)
        for (i, j), count in np.ndenumerate(matrix):
            color = "white" if count > 0.4 * len(data["y"]) else "black"
            axes.text(j, i, f"{('TP', 'FN', 'FP', 'TN')[2 * i + j]}\n{count}", ha="center", va="center", color=color)
        axes.set_xticks([0, 1], ["called +", "called -"])
        axes.set_yticks([0, 1], ["is +", "is -"])
        precision, recall = data["rates"][column]
        axes.set_title(f"threshold {t}: precision {precision:.2f}, recall {recall:.2f}")
    left, right = figure.add_subplot(grid[1, :2]), figure.add_subplot(grid[1, 2])
    sweep = data["sweep"]
    used = np.isfinite(sweep["threshold"])
    used[-1] = False  # beyond the largest score nothing is called positive
    for name, color in (("precision", "C1"), ("recall", "C0"), ("accuracy", "0.5")):
        left.plot(sweep["threshold"][used], sweep[name][used], color=color, label=name)
    for name, label in (("fp", "a false positive costs 5"), ("fn", "a false negative costs 5")):
        left.axvline(data["cheapest"][name], color="C2", ls="--" if name == "fp" else ":", label=f"best if {label}")
    left.set(xlabel="threshold", ylim=(0, 1.02), title="Recall falls at every step, precision rises with dents")
    left.legend(fontsize=9)
    bins = np.linspace(0, 1, 21).tolist()
    for number, color in ((0, "C0"), (1, "C1")):
        right.hist(data["p"][data["y"] == number], bins, color=color, alpha=0.6, label=f"class {number}")
    right.set(xlabel="predicted probability", ylabel="rows", title="What the threshold cuts through")
    right.legend()
