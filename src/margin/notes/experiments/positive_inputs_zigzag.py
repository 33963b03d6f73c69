r"""Why inputs of one sign make descent zigzag

A neuron :math:`z = w^\top a` fed by sigmoids has positive inputs only: for one example all entries of
:math:`\partial L/\partial w = \delta\,a` have the sign of :math:`\delta`, so w can only move up or down in all entries
at once. To go up in one and down in another, the path goes
back and forth. With the same signal through tanh, both signs occur.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = np.array([1.0, -1.0])  # the weights to reach: one up, one down


def run(seed: int, fast: bool) -> dict[str, Any]:
    signal = np.random.default_rng(seed).normal(size=(20 if fast else 100, 1000, 2))
    data: dict[str, Any] = {}
    for name, a in {"sigmoid": 1 / (1 + np.exp(-signal)), "tanh": np.tanh(signal)}.items():
        a = a / np.sqrt((a**2).sum(axis=-1).mean())  # inputs of the same size
        paths = [descent(examples) for examples in a]
        single = (-a[0] @ TARGET)[:, None] * a[0]  # gradients of single examples at the start
        data[name] = {
            "path": paths[0],
            "length": float(np.mean([np.linalg.norm(np.diff(p, axis=0), axis=1).sum() for p in paths]) / np.sqrt(2)),
            "one_sign": float((np.sign(single[:, 0]) == np.sign(single[:, 1])).mean()),
            "gradients": single[:400],
            "curvature": a[0].T @ a[0] / len(a[0]),
        }
    return data


def descent(examples: np.ndarray) -> np.ndarray:
    """Stochastic gradient descent on the squared error from the origin to within 0.01 of the target."""
    path = [np.zeros(2)]
    for a in examples:
        path.append(path[-1] - 0.7 * (a @ (path[-1] - TARGET)) * a)
        if np.linalg.norm(path[-1] - TARGET) < 0.01:
            break
    return np.array(path)


def check(data: dict[str, Any]) -> Verdict:
    return every(
        sigmoid_gradients_have_one_sign=equal(data["sigmoid"]["one_sign"], 1.0),
        tanh_gradients_mix=below(data["tanh"]["one_sign"], 0.65),
        longer_path=above(data["sigmoid"]["length"], 1.5 * data["tanh"]["length"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 9)
    axes = figure.subplots(2, 2)
    u, v = np.meshgrid(np.linspace(-0.6, 1.6, 120), np.linspace(-1.6, 0.6, 120))
    for column, (name, part) in enumerate(data.items()):
        top, bottom = axes[:, column]
        top.axhspan(-3, 0, xmin=0, xmax=0.5, color="honeydew")
        top.axhspan(0, 3, xmin=0.5, xmax=1, color="honeydew")
        top.scatter(*-part["gradients"].T, s=8, alpha=0.6)
        top.set(title=f"{name} inputs: steps of single examples, {part['one_sign']:.0%} of one sign", aspect="equal")
        top.set(xlim=(-3, 3), ylim=(-3, 3), xlabel=r"$-\partial L/\partial w_1$", ylabel=r"$-\partial L/\partial w_2$")
        offsets = np.stack([u, v], axis=-1) - TARGET
        loss = 0.5 * np.einsum("...i,ij,...j->...", offsets, part["curvature"], offsets)
        bottom.contour(u, v, loss, levels=14, cmap="Greys", linewidths=0.7)
        bottom.plot(*part["path"].T, "o-", color="C3", ms=3, lw=1.2)
        bottom.plot(*TARGET, "k*", ms=12)
        bottom.set(
            title=f"descent, one example a step: paths {part['length']:.1f} times the distance",
            xlabel="$w_1$",
            ylabel="$w_2$",
            aspect="equal",
        )
