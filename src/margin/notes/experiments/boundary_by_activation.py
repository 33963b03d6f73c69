r"""A circle drawn by three activations: identity fails, tanh is smooth, ReLU is a polygon

One hidden layer on points inside and outside of a circle. Without an activation the boundary is a line. With tanh it is
a smooth closed curve. With rectifiers it is made of straight segments, one in each cell between the lines
:math:`w_d^\top x + b_d = 0`: the segments drawn here are computed exactly and their corners counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, RADIUS, BOX = 4, 1.0, (-2.0, 2.0, -2.0, 2.0)
STARTS = 12  # with so few units some starting points get stuck


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import boundary_segments, linear_regions

    rng = np.random.default_rng(seed)
    inner, outer = rng.uniform(0, 0.85, size=150), rng.uniform(1.15, 2.0, size=150)
    radius, angle = np.concatenate([inner, outer]), rng.uniform(0, 2 * np.pi, size=300)
    X, y = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), radius < RADIUS
    grid = np.linspace(-2, 2, 60 if fast else 200)
    mesh = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    data: dict[str, Any] = {"X": X, "y": y, "grid": grid, "accuracy": {}, "surface": {}}
    for name in ("identity", "tanh", "relu"):
        net, score = _best(name, X, y, seed, 200 if fast else 500)
        data["accuracy"][name] = score
        with torch.no_grad():
            data["surface"][name] = net(torch.from_numpy(mesh))[:, 0].numpy().reshape(len(grid), -1)
    w, b, phi, phi_0 = (p.detach().numpy() for p in net.parameters())
    data["lines"] = np.column_stack([w, b])
    data["segments"] = np.array(boundary_segments(linear_regions(w, b, phi[0], float(phi_0[0]), BOX)))
    ends = data["segments"].reshape(-1, 2)
    at = torch.from_numpy((ends[0::2] + ends[1::2]) / 2)
    data["off_boundary"] = float(net(at).detach().abs().max())
    return data


def _best(activation: str, X: np.ndarray, y: np.ndarray, seed: int, steps: int) -> tuple[Any, float]:
    """The network that fits best, of several starting points."""
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.losses import bce_with_logits
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    rows, labels = torch.from_numpy(X), torch.from_numpy(y.astype(float))
    best: tuple[Any, float] = (None, -1.0)
    for start in range(1 if activation == "identity" else STARTS):
        net = build(lambda: MLP([2, WIDTH, 1], activation), 100 * seed + start, torch.float64)
        objective = lambda net=net: bce_with_logits(net(rows)[:, 0], labels)  # noqa: E731
        descend(net.parameters(), objective, steps=steps, rate=0.05, rule=torch.optim.Adam)
        score = float(((net(rows)[:, 0] > 0) == (labels > 0.5)).double().mean())
        if score > best[1]:
            best = (net, score)
        if score > 0.985:
            break
    return best


def check(data: dict[str, Any]) -> Verdict:
    return every(
        identity_near_chance=below(data["accuracy"]["identity"], 0.7),
        tanh=above(data["accuracy"]["tanh"], 0.95),
        relu=above(data["accuracy"]["relu"], 0.95),
        corners=within(len(data["segments"]), 4, 2 * WIDTH),
        segments_are_the_boundary=below(data["off_boundary"], 1e-9),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 4.9)
    titles = {"identity": "no activation", "tanh": "tanh", "relu": f"ReLU, {len(data['segments'])} straight segments"}
    for axis, (name, title) in zip(figure.subplots(1, 3, sharey=True), titles.items()):
        surface = data["surface"][name]
        axis.contourf(
            data["grid"], data["grid"], surface > 0, levels=[-0.5, 0.5, 1.5], colors=["mistyrose", "lightblue"]
        )
        colors = np.where(data["y"], "C0", "C3")
        axis.scatter(*data["X"].T, s=10, color=colors)
        if name == "relu":
            for w1, w2, b in data["lines"]:
                u = data["grid"]
                a, c = (u, -(w1 * u + b) / w2) if abs(w2) > abs(w1) else (-(w2 * u + b) / w1, u)
                axis.plot(a, c, color="gray", lw=0.9, ls="--")
            for segment in data["segments"]:
                axis.plot(*segment.T, "o-", color="black", lw=2, ms=4)
        else:
            axis.contour(data["grid"], data["grid"], surface, levels=[0], colors="black", linewidths=2)
        axis.set(title=f"{title}: {data['accuracy'][name]:.0%}", aspect="equal", xlim=(-2, 2), ylim=(-2, 2))
