r"""Gradient boosting by hand: a predicted weight as a chain of trees.

Three people weigh 88, 76 and 56 kg. Boosting starts from their mean and adds a tenth of what each tree says about the
residuals that are left:

.. math:: 73.3 + 0.1 \cdot (-17.3) + 0.1 \cdot (-15.6) = 70.01 .
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near
from margin.trees import GradientBoostingRegressor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEOPLE = np.array([[1.6, 0.0, 1.0], [1.6, 1.0, 0.0], [1.5, 0.0, 0.0]])  # height, likes green, male
COLUMNS = ("height (m)", "likes green", "male")
WEIGHTS = np.array([88.0, 76.0, 56.0])
PRINTED_START, PRINTED_OUTPUTS, RATE = 73.3, (-17.3, -15.6), 0.1
PERSON = 2


def run(seed: int, fast: bool) -> dict[str, Any]:
    rounds = 40 if fast else 80
    model = GradientBoostingRegressor(
        n_estimators=rounds, learning_rate=RATE, max_leaf_nodes=4, min_samples_leaf=1, random_state=seed
    ).fit(PEOPLE, WEIGHTS)
    leaves = model.apply(PEOPLE)
    outputs = np.array([model.tree(m)["value"][leaves[:, m], 0] for m in range(rounds)]) / RATE
    return {
        "start": float(model.start_[0]),
        "said": outputs,  # (rounds, people): what each tree says before it is shrunk
        "stages": np.array(list(model.staged_predict(PEOPLE))),
        "by_hand": PRINTED_START + sum(RATE * output for output in PRINTED_OUTPUTS),
        "questions": [_question(model.tree(m)) for m in range(2)],
    }


def check(data: dict[str, Any]) -> Verdict:
    outputs, stages = data["said"][:, PERSON], data["stages"][:, PERSON]
    remaining = np.abs(WEIGHTS - data["stages"]).max(axis=1)
    return every(
        by_hand=near(data["by_hand"], 70.01, tolerance=1e-12),
        start=near(round(data["start"], 1), PRINTED_START, tolerance=0.0),
        first_two_trees=near(np.round(outputs[:2], 1), np.array(PRINTED_OUTPUTS), tolerance=1e-12),
        second_stage_as_printed=near(round(float(stages[1])), 70.0, tolerance=0.0),
        stages_are_shrunken_sums=near(data["start"] + RATE * np.cumsum(outputs), stages, tolerance=1e-9),
        what_is_left_after_all=below(float(remaining[-1] / remaining[0]), 0.9 ** (len(stages) - 2)),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    top, bottom = figure.subplots(2, 1, height_ratios=(1.1, 1))
    top.set_axis_off()
    top.set(xlim=(0, 10), ylim=(0, 3), title="The third person: 73.3 + 0.1 × (−17.3) + 0.1 × (−15.6) = 70.01")
    box = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "C0"}
    top.text(0.8, 1.6, f"mean\n{data['start']:.1f}", ha="center", va="center", bbox=box)
    for place, (tree, outputs) in enumerate(zip(data["questions"], data["said"], strict=False)):
        _draw_tree(top, 2.6 + 3.9 * place, tree, outputs)
    top.text(9.5, 1.6, f"= {data['stages'][1, PERSON]:.1f}", ha="center", va="center", fontsize=13, color="C3")
    rounds = np.arange(len(data["stages"]) + 1)
    for person, weight in enumerate(WEIGHTS):
        path = np.concatenate([[data["start"]], data["stages"][:, person]])
        bottom.plot(rounds, path, color=f"C{person}", label=f"person {person + 1}")
        bottom.axhline(weight, color=f"C{person}", linestyle=":", linewidth=1)
    bottom.set(xlabel="trees", ylabel="predicted weight (kg)", title="A tenth of the way at every step")
    bottom.legend()


def _question(tree: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {name: np.copy(tree[name]) for name in ("feature", "threshold", "left", "right", "value")}


def _draw_tree(axis: Any, x: float, tree: dict[str, Any], outputs: np.ndarray) -> None:
    """The root's question, and under it what the tree says to each of the three."""
    axis.text(x - 0.95, 1.6, "+ 0.1 ×", ha="center", va="center")
    question = f"{COLUMNS[tree['feature'][0]]} ≤ {tree['threshold'][0]:.3g}?"
    axis.text(x + 1.0, 2.5, question, ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "0.93"})
    for person, value in enumerate(outputs):
        color = "C3" if person == PERSON else "0.4"
        place = x + 1.0 * person
        axis.plot([x + 1.0, place], [2.2, 1.15], color=color, linewidth=1)
        axis.text(place, 0.85, f"person {person + 1}\n{value:+.1f}", ha="center", va="center", color=color)
