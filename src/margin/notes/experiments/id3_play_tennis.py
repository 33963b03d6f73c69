r"""ID3 by hand: fourteen days of tennis, every gain at every node.

At each node the attribute with the largest :math:`IG(S, F) = H(S) - \sum_v \frac{|S_v|}{|S|} H(S_v)` is asked about: of
0.940 bits outlook takes 0.247, then humidity settles the sunny days and wind the rainy ones. What is compared is the
entropy of the class after the split; the entropy of the attributes' own values would start with the wind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.trees import ID3, play_tennis, split_information
from margin.trees.multiway.tree_drawing import draw_tree
from margin.trees.multiway.tree_text import TreeNames, condition

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Printed in every textbook, cut (not rounded) after three digits by some: 0.246, 0.029, 0.151, 0.048.
ROOT_GAINS = {"outlook": 0.2467, "temperature": 0.0292, "humidity": 0.1518, "wind": 0.0481}


def run(seed: int, fast: bool) -> dict[str, Any]:
    days, played = play_tennis()
    model = ID3()
    steps = []
    for record in model.iterate(days, played):
        gains = {name: record.values.get(f"gain {name}") for name in days.names}
        steps.append(
            {
                "node": int(record["node"]),
                "rows": record["rows"],
                "entropy": record["entropy"],
                "split": days.names[int(record["split"])],
                "gains": {name: gain for name, gain in gains.items() if gain is not None},
            }
        )
    names = model.names
    return {
        "steps": steps,
        "tree": model.tree_,
        "names": list(names.columns),
        "categories": list(names.categories.values()),
        "classes": list(names.classes),
        "own_entropy": {name: split_information(days[name]) for name in days.names},
    }


def check(data: dict[str, Any]) -> Verdict:
    root, *others = data["steps"]
    truth = every(
        entropy=near(root["entropy"], 0.940, tolerance=5e-4),
        gains=near(list(root["gains"].values()), list(ROOT_GAINS.values()), tolerance=5e-5),
        root=equal(root["split"], "outlook"),
        below=equal({(step["split"], round(step["entropy"], 3)) for step in others},
                    {("humidity", 0.971), ("wind", 0.971)}),
        gains_below=near([step["gains"][step["split"]] for step in others], [0.971, 0.971], tolerance=5e-4),
    )  # fmt: skip
    lowest = min(data["own_entropy"], key=data["own_entropy"].__getitem__)
    return corrected(truth, printed=equal(lowest, root["split"]))


def draw(data: dict[str, Any], figure: Figure) -> None:
    grid = figure.add_gridspec(1, 2, width_ratios=(1.7, 1))
    names = TreeNames(data["names"], dict(enumerate(data["categories"])), data["classes"])
    tree = figure.add_subplot(grid[0, 0])
    draw_tree(data["tree"], names, tree)
    tree.set_title("The tree; leaves show no : yes")
    bars = grid[0, 1].subgridspec(len(data["steps"]), 1).subplots(sharex=True, squeeze=False)
    for axis, step in zip(bars.flat, data["steps"]):
        node = step["node"]
        where = "all days" if node == 0 else condition(data["tree"], node, names)
        _draw_gains(axis, step, data["names"], where)
    figure.suptitle(
        "ID3 on fourteen days of tennis: the attribute with the largest gain is asked (dashed: all there is to gain)"
    )


def _draw_gains(axis: Axes, step: dict[str, Any], names: list[str], where: str) -> None:
    colors = ["C0" if name == step["split"] else "#b9c4d0" for name in names]
    axis.barh(range(len(names)), [step["gains"].get(name, 0.0) for name in names], color=colors)
    axis.axvline(step["entropy"], color="C3", linestyle="--", linewidth=1.2)
    plate = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    for place, name in enumerate(names):
        gain = step["gains"].get(name)
        label, x = ("asked above", 0.0) if gain is None else (f"{gain:.3f}", gain)
        axis.text(x + 0.015, place, label, va="center", fontsize=8.5, bbox=plate)
    axis.set_yticks(range(len(names)), names)
    axis.set(xlim=(0, 1.15), xlabel="information gain (bits)")
    axis.set_title(f"{where}: {step['rows']:g} rows")
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    axis.label_outer()
