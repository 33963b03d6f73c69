"""Measurements on networks: what one parameter does, and how units saturate, by changing and counting."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.diagnostics import descend, shattering
from margin.neural.diagnostics.curvature import error_surface, smallest_curvature
from margin.neural.diagnostics.influence import parameter_influence
from margin.neural.diagnostics.pieces import boundary_segments, joints, linear_regions
from margin.neural.diagnostics.units import dead_units
from margin.neural.nets.mlp import MLP
from margin.neural.weights import build


@oracle("margin.neural.nets.mlp.Trace", f"{PATH}.diagnostics.influence.parameter_influence")
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


@oracle(f"{PATH}.diagnostics.descent.descend", f"{PATH}.diagnostics.descend")
def steps_of_descent_by_hand(seed: int) -> Verdict:
    """A bowl that is no circle: every value from the slope written out; a step too long ends where it is infinite."""
    A, start = torch.tensor([[3.0, 0.4], [0.4, 0.5]]).double(), normal(seed, 2)
    w = torch.nn.Parameter(start.clone())
    found = descend([w], lambda: w @ A @ w / 2, steps=4, rate=0.2)
    x, expected = start.numpy(), []
    for _ in range(5):
        expected.append(float(x @ A.numpy() @ x / 2))
        x = x - 0.2 * A.numpy() @ x
    wild = torch.nn.Parameter(torch.ones(1) * 1e30)
    lost = descend([wild], lambda: wild.square().sum(), steps=9, rate=1e9)
    return every(values=near(found, expected, tolerance=1e-10), ends=equal(bool(np.isfinite(lost[-1])), False))


@oracle(*(f"{PATH}.diagnostics.curvature.{name}" for name in ("error_surface", "smallest_curvature")))
def surfaces_point_by_point(seed: int) -> Verdict:
    """A saddle with a slope; second differences at every point of a grid with unequal sides."""
    a, b = torch.linspace(-1.0, 2.0, 4).double(), torch.linspace(0.5, 1.5, 3).double()
    c = float(normal(seed, 1))
    loss = lambda w: torch.sin(w[0]) * w[1] ** 2 + c * w[0] * w[1]  # noqa: E731
    value = lambda x, y: np.sin(x) * y**2 + c * x * y  # noqa: E731
    h, lowest = 1e-4, np.inf
    for x in a.tolist():
        for y in b.tolist():
            xx = (value(x + h, y) - 2 * value(x, y) + value(x - h, y)) / h**2
            yy = (value(x, y + h) - 2 * value(x, y) + value(x, y - h)) / h**2
            corners = [p * q * value(x + p * h, y + q * h) for p in (1, -1) for q in (1, -1)]
            lowest = min(
                lowest, np.linalg.eigvalsh([[xx, sum(corners) / (4 * h**2)], [sum(corners) / (4 * h**2), yy]])[0]
            )
    return every(
        surface=near(
            error_surface(loss, a, b), [[value(x, y) for y in b.tolist()] for x in a.tolist()], tolerance=1e-12
        ),
        curvature=near(smallest_curvature(loss, a, b), lowest, tolerance=1e-5),
    )


@oracle(*(f"{PATH}.diagnostics.pieces.{name}" for name in ("joints", "linear_regions", "boundary_segments")))
def pieces_of_a_rectifier_network(seed: int) -> Verdict:
    """Where slopes change on a fine line; cells that tile the box, each an affine piece; boundaries at height 0."""
    rng = np.random.default_rng(seed)
    w, b, phi = rng.normal(0.3, 1.0, size=5), rng.normal(size=5), rng.normal(size=5)
    w[3], phi[4] = 0.0, 0.0  # neither bends anything
    bends = joints(w, b, phi)
    line = lambda x: phi @ np.maximum(np.outer(w, x) + b[:, None], 0.0)  # noqa: E731
    straight = [
        line(t + 1e-6 * np.array([-1, 0, 1])) @ [1, -2, 1] / 1e-6 for t in [*bends, *(bends[:-1] + bends[1:]) / 2]
    ]
    W, box = rng.normal(size=(4, 2)), (-1.0, 2.0, -1.5, 1.0)
    height = lambda x: phi[:4] @ np.maximum(W @ x + b[:4], 0.0) - 0.2  # noqa: E731
    cells = linear_regions(W, b[:4], phi[:4], -0.2, box)
    sides = [np.roll(c.corners, -1, axis=0) for c in cells]
    areas = [abs(np.sum(c.corners[:, 0] * s[:, 1] - c.corners[:, 1] * s[:, 0])) / 2 for c, s in zip(cells, sides)]
    inner = [rng.dirichlet(np.ones(len(c.corners))) @ c.corners for c in cells]
    segments = boundary_segments(cells)
    heights = [height(t * s[0] + (1 - t) * s[1]) for s in segments for t in (0.0, 0.3, 1.0)]
    return every(
        count=equal(len(bends), 3),
        bends=equal([abs(change) > 1e-3 for change in straight], [True] * 3 + [False] * 2),
        tiles=near(sum(areas), 3.0 * 2.5, tolerance=1e-9),
        patterns=equal(len({tuple(W @ x + b[:4] > 0) for x in inner}), len(cells)),
        affine=near(
            [c.gradient @ x + c.constant for c, x in zip(cells, inner)], [height(x) for x in inner], tolerance=1e-9
        ),
        boundary=near(heights, np.zeros(len(heights)), tolerance=1e-9),
    )


@oracle(f"{PATH}.diagnostics.units.dead_units")
def units_that_never_answer(seed: int) -> Verdict:
    net, x = build(lambda: MLP([3, 6, 5, 1], "relu"), seed, torch.float64).requires_grad_(False), normal(seed, 20, 3)
    net.linears[0].bias[[1, 4]] = -50.0
    net.linears[1].bias[2] = -500.0
    h, expected = x.numpy(), []
    for layer, linear in enumerate(list(net.linears)[:2]):
        h = np.maximum(h @ linear.weight.numpy().T + linear.bias.numpy(), 0.0)
        expected += [(layer, unit) for unit in range(h.shape[1]) if not any(row[unit] > 0 for row in h)]
    return every(
        silent=equal(dead_units(net, x), expected), silenced=equal({(0, 1), (0, 4), (1, 2)} <= set(expected), True)
    )
