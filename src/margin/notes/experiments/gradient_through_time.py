r"""How far back a recurrent network can learn

The derivative of the last state in an early input is a product of one Jacobian per step. In a plain recurrent network
it shrinks by a constant factor per step, or grows if the weights are large; the memory of an LSTM, with open forget
gates, passes it on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HIDDEN, STEPS = 24, 40
CASES = {"RNN": ("rnn", 1.0), "RNN, large weights": ("rnn", 4.0), "LSTM": ("lstm", 1.0), "GRU": ("gru", 1.0)}


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.layers.recurrent import unroll
    from margin.neural.nets.sequence import LAYERS
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    x = 0.1 * torch.from_numpy(rng.normal(size=(4 if fast else 32, STEPS, 2)))
    norms = {}
    for name, (cell, scale) in CASES.items():
        layer = build(partial(LAYERS[cell], 2, HIDDEN), seed, torch.float64)
        W, U, b, c = layer.parameters()
        if cell == "lstm":
            with torch.no_grad():
                b[HIDDEN : 2 * HIDDEN] += 4.0  # forget gates that are open
        inputs = x.clone().requires_grad_()
        last = unroll(cell, inputs, (W, scale * U, b, c))[:, -1]
        (gradient,) = torch.autograd.grad(last.sum(), inputs)
        norms[name] = gradient.norm(dim=2).mean(dim=0).numpy()[::-1].copy()  # by distance from the end
    truncated = x.clone().requires_grad_()
    weights = tuple(build(partial(LAYERS["rnn"], 2, HIDDEN), seed, torch.float64).parameters())
    (cut,) = torch.autograd.grad(unroll("rnn", truncated, weights, truncation=10)[:, -1].sum(), truncated)
    return {"norms": norms, "truncated": cut.norm(dim=2).mean(dim=0).numpy()[::-1].copy()}


def check(data: dict[str, Any]) -> Verdict:
    kept = {name: float(norms[-1] / norms[0]) for name, norms in data["norms"].items()}
    return every(
        rnn_forgets=below(kept["RNN"], 1e-4),
        lstm_remembers=above(kept["LSTM"], 1e-2),
        large_weights_keep_or_explode=above(kept["RNN, large weights"], 1e3 * kept["RNN"]),
        truncation_ends_it=below(float(np.abs(data["truncated"][10:]).max()), 1e-300),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    for name, norms in data["norms"].items():
        axis.semilogy(norms, label=name)
    axis.semilogy(data["truncated"][:10], "k--", label="RNN, truncated after 10 steps")
    axis.set(title=r"$\|\partial h_T / \partial x_t\|$", xlabel="steps back from the end")
    axis.legend()
