r"""The area under the ROC curve is the chance that a positive outranks a negative.

Sorted by score, each pair of a positive and a negative row is in the right order or not:

.. math:: \mathrm{AUC} = \frac{1}{n_+ n_-}\sum_{i \in +}\sum_{j \in -}
          \Bigl[\mathbf 1(s_i > s_j) + \tfrac12\mathbf 1(s_i = s_j)\Bigr] .

The steps of the curve go up for a positive and right for a negative, so the cells below it are the pairs in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.metrics import pair_count, roc_auc, roc_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POSITIVE, NEGATIVE = "C1", "C0"


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, 0], [9, 13]))
    score = rng.normal(size=len(y)) + 1.2 * y
    many_y = (np.arange(400 if fast else 4000) % 2).astype(int)
    many = np.round(rng.normal(size=len(many_y)) + 1.2 * many_y, 1)  # rounding makes ties
    return {
        "y": y,
        "score": score,
        "few": (*roc_curve(y, score)[:2], roc_auc(y, score), pair_count(y, score)),
        "many": (*roc_curve(many_y, many)[:2], roc_auc(many_y, many), pair_count(many_y, many)),
    }


def check(data: dict[str, Any]) -> Verdict:
    by_pairs = [(up + tied / 2) / (up + tied + down) for *_, (up, tied, down) in (data["few"], data["many"])]
    strict = [up / (up + tied + down) for *_, (up, tied, down) in (data["few"], data["many"])]
    areas = [data[name][2] for name in ("few", "many")]
    truth = every(
        pairs=near(areas, by_pairs, tolerance=1e-12),
        area=near(areas, [np.trapezoid(data[name][1], data[name][0]) for name in ("few", "many")], tolerance=1e-12),
        all_pairs=equal(sum(data["few"][3]), 9 * 13),
    )
    return corrected(truth, printed=near(areas[1], strict[1], tolerance=1e-3))


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 7.5)
    grid = figure.add_gridspec(2, 2, height_ratios=[1, 3.2])
    row, few, many = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    order = np.argsort(data["score"])
    colors = np.where(data["y"][order] == 1, POSITIVE, NEGATIVE)
    row.scatter(np.arange(len(order)), np.zeros(len(order)), s=420, c=colors, edgecolors="white")
    for place, i in enumerate(order):
        row.text(place, 0, "+" if data["y"][i] else "-", ha="center", va="center", color="white", weight="bold")
        row.text(place, -0.55, f"{data['score'][i]:.1f}", ha="center", va="center", fontsize=8, color="0.35")
    up, tied, down = data["few"][3]
    row.set(ylim=(-0.9, 0.8), xticks=[], yticks=[], xlabel="rows in order of their score")
    row.set_title(f"{up} of {up + tied + down} pairs have the positive (orange) to the right of the negative (blue)")
    row.spines[:].set_visible(False)
    for axes, name in ((few, "few"), (many, "many")):
        fpr, tpr, area, _ = data[name]
        axes.fill_between(fpr, tpr, alpha=0.25, color=POSITIVE)
        axes.plot(fpr, tpr, color=POSITIVE, lw=2)
        axes.plot([0, 1], [0, 1], color="0.6", ls=":")
        axes.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal", xlim=(0, 1), ylim=(0, 1.01))
        axes.text(0.6, 0.25, f"AUC = {area:.3f}", ha="center", fontsize=13)
    few.set_xticks(np.arange(14) / 13, labels=[])
    few.set_yticks(np.arange(10) / 9, labels=[])
    few.grid(color="0.8", lw=0.6)
    few.set_title("The same 22 rows: every cell under the curve is a pair in order")
    many.set_title(f"{len(data['many'][0]) - 1} thresholds, with ties: slanted steps count one half")
