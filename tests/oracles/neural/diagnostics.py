"""Measurements on networks: what one parameter does, and how units saturate, by changing and counting."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same

from margin.core.verdict import Verdict, every, near
from margin.neural.diagnostics import shattering
from margin.neural.diagnostics.influence import parameter_influence
from margin.neural.nets.mlp import MLP
from margin.neural.weights import build


@oracle(f"{PATH}.diagnostics.influence.parameter_influence")
def one_parameter_moved(seed: int) -> Verdict:
    """A copy with one entry larger, layer by layer; slopes from a copy with it larger and one with it smaller."""
    net: Any = build(lambda: MLP([3, 4, 5, 2], "tanh"), seed, torch.float64).requires_grad_(False)
    x = normal(seed, 6, 3)

    def layers(amount: float) -> list[torch.Tensor]:
        moved: Any = copy.deepcopy(net)
        moved.linears[1].weight[2, 3] += amount
        h, seen = x, [x]
        for k, linear in enumerate(moved.linears):
            h = h @ linear.weight.T + linear.bias
            h = torch.tanh(h) if k < 2 else h
            seen.append(h)
        return seen

    influences = parameter_influence(net, "linears.1.weight", (2, 3), x, step=0.3)
    before, after, up, down = (layers(amount) for amount in (0.0, 0.3, 1e-5, -1e-5))
    parts: dict[str, Verdict] = {}
    for k, part in enumerate(influences):
        parts[f"moved_{k}"] = same(part.moved, after[k] - before[k])
        parts[f"predicted_{k}"] = same(part.predicted, 0.3 * (up[k] - down[k]) / 2e-5, 1e-7)
    return every(**parts)


@oracle(*(f"{PATH}.diagnostics.shattering.{name}" for name in ("autocorrelation", "sign_changes")))
def correlations_of_curves(seed: int) -> Verdict:
    """Away from mean 0: a curve with an offset, lag by lag."""
    curve = np.random.default_rng(seed).normal(size=40) + 0.4
    centered = curve - curve.mean()
    lags = [float(centered[: 40 - k] @ centered[k:] / (centered @ centered)) for k in range(8)]
    changes = sum(a * b < 0 for a, b in pairwise(curve))
    return every(
        lags=near(shattering.autocorrelation(curve, 7), lags, tolerance=1e-9),
        zeros=near(float(shattering.sign_changes(np.array([1.0, 0.0, -1.0, 2.0]))), 1.0, tolerance=1e-9),
        changes=near(float(shattering.sign_changes(curve)), float(changes), tolerance=1e-9),
    )
