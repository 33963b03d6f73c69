r"""The graph of a network, with values forward and gradients backward

Every node shows its value and, below, the derivative of the loss in it. The numbers of the tape are those of the
backward pass written for layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.notes.diagrams import draw_tape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("x", "w1", "b1", "w2", "b2")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.autodiff import Tape, graph_entries
    from margin.neural.autodiff.primitives import tanh
    from margin.neural.backprop import backward_pass, forward_pass

    rng = np.random.default_rng(seed)
    values = dict(zip(NAMES, rng.normal(size=5).round(2)))
    target = round(float(rng.normal()), 2)
    tape = Tape()
    v = {name: tape.variable(value, name) for name, value in values.items()}
    h = tanh(v["w1"] * v["x"] + v["b1"])
    difference = v["w2"] * h + v["b2"] - target
    loss = 0.5 * (difference * difference)
    entries = [tuple(entry) for entry in graph_entries(loss)]
    weights, biases = [[[values["w1"]]], [[values["w2"]]]], [[values["b1"]], [values["b2"]]]
    arrays = [np.array(part, dtype=float) for part in (*weights, *biases)]
    forward = forward_pass(arrays[:2], arrays[2:], np.array([[values["x"]]]), "tanh")
    layered = backward_pass(arrays[:2], forward, forward.f[-1] - target, "tanh")
    by_hand = [layered.weights[0], layered.biases[0], layered.weights[1], layered.biases[1]]
    return {
        "entries": entries, "loss": float(loss.value), "layered": np.array([float(np.ravel(g)[0]) for g in by_hand]),
        "output": float(forward.f[-1][0, 0]), "target": target,
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    adjoint = {name: float(g) for _, name, _, _, g in data["entries"] if name in NAMES}
    return every(
        gradients=near([adjoint[name] for name in NAMES[1:]], data["layered"], tolerance=1e-12),
        loss=near(data["loss"], 0.5 * (data["output"] - data["target"]) ** 2, tolerance=1e-12),
        ends_with_1=equal(float(data["entries"][-1][4]), 1.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5)
    axis = figure.subplots()
    draw_tape(axis, data["entries"])
    axis.set_title("Forward: values (black). Backward: the derivative of the loss in every node (red)")
