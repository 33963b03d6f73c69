r"""Inputs far from zero saturate a sigmoid network and slow it down

The same network on the same data moved by 0, 3 and 10: the farther from 0, the more hidden units
:math:`\sigma(w^\top x + b)` start out near 0 or 1, where :math:`\sigma'` is small. Standardizing the inputs, or batch
normalization before the activations, brings the speed back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHIFTS = (0.0, 3.0, 10.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from torch import nn

    from margin.neural.diagnostics import descend, saturated_fraction
    from margin.neural.initialize import initialize_
    from margin.neural.losses import bce_with_logits
    from margin.neural.normalization import BatchNorm
    from margin.neural.weights import build

    rng, steps = np.random.default_rng(seed), 150 if fast else 500
    base = rng.normal(size=(200, 10))
    y = torch.from_numpy((base[:, 0] * base[:, 1] > 0).astype(float))
    cases = {f"moved by {shift:g}": (base + shift, False) for shift in SHIFTS}
    cases["moved by 10, standardized"] = (base - base.mean(axis=0), False)
    cases["moved by 10, batch norm"] = (base + 10.0, True)

    def make(normed: bool) -> nn.Sequential:
        norm = [BatchNorm(32)] if normed else []
        return nn.Sequential(nn.Linear(10, 32), *norm, nn.Sigmoid(), nn.Linear(32, 1))

    saturated, losses = {}, {}
    for name, (rows, normed) in cases.items():
        X = torch.from_numpy(rows)
        net = build(partial(make, normed), seed, torch.float64)
        initialize_(net, "xavier", generator=torch.Generator().manual_seed(seed))
        saturated[name] = saturated_fraction(net, X)
        objective = lambda net=net, X=X: bce_with_logits(net(X)[:, 0], y)  # noqa: E731
        losses[name] = np.array(descend(net.parameters(), objective, steps=steps, rate=0.02, rule=torch.optim.Adam))
    return {"saturated": saturated, "losses": losses}


def check(data: dict[str, Any]) -> Verdict:
    part, last = data["saturated"], {name: float(loss[-1]) for name, loss in data["losses"].items()}
    return every(
        more_saturate=above(part["moved by 10"], part["moved by 3"]),
        few_at_0=above(part["moved by 3"], part["moved by 0"] + 0.02),
        slower=above(last["moved by 10"], last["moved by 0"] + 0.05),
        standardized_is_fast=below(last["moved by 10, standardized"], last["moved by 10"] - 0.05),
        batch_norm_is_fast=below(last["moved by 10, batch norm"], last["moved by 10"] - 0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.6])
    names = list(data["saturated"])
    colors = [f"C{k}" for k in range(len(names))]
    left.barh(names[::-1], [data["saturated"][name] for name in names[::-1]], color=colors[::-1])
    left.set(title="fraction of saturated units at the start", xlim=(0, 1))
    for name, color in zip(names, colors):
        right.semilogy(data["losses"][name], color=color, label=name)
    right.set(title="training loss", xlabel="step of Adam", ylabel="cross-entropy")
    right.legend()
