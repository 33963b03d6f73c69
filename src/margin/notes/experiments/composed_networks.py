r"""A network that folds repeats whatever comes after it

The first network covers [-1, 1] three times, with slopes 3, -3, 3. The second is applied three times, once reversed,
and three copies of three pieces make nine linear regions. Points of one color are folded together and share an output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.theory import DenseNetwork, compose, linear_pieces

    rng = np.random.default_rng(seed)
    first = DenseNetwork(
        [np.ones((3, 1)), np.array([[3.0, -6.0, 6.0]])], [np.array([1.0, 1 / 3, -1 / 3]), np.array([-1.0])]
    )
    bends = np.array([1.0, rng.uniform(0.2, 0.5), rng.uniform(-0.5, -0.2)])
    second = DenseNetwork(
        [np.ones((3, 1)), np.array([[1.0, -rng.uniform(2, 3), rng.uniform(1.5, 3)]])], [bends, np.array([-0.2])]
    )
    both = compose(first, second)
    x = np.linspace(-1, 1, 601 if fast else 6001)
    pieces = linear_pieces(both).within(-1, 1)
    return {
        "x": x, "first": first(x)[:, 0], "second": second(x)[:, 0], "both": both(x)[:, 0], "joints": pieces.joints,
        "values": both(pieces.joints)[:, 0], "n_pieces": len(pieces),
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    x, both = data["x"], data["both"]
    left = np.interp((x - 2) / 3, x, both)  # the copy of the left third, stretched to [-1, 1]
    middle, right = np.interp(-x / 3, x, both), np.interp((x + 2) / 3, x, both)
    return every(
        nine=equal(data["n_pieces"], 9),
        copy=near(left, data["second"], tolerance=2e-2),
        reversed_copy=near(middle, data["second"], tolerance=2e-2),
        third=near(right, data["second"], tolerance=2e-2),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.2)
    axes = figure.subplots(1, 4)
    curves = (
        ("network 1 folds its input", data["first"], data["first"], "x", "h, where x lands"),
        ("network 2", data["second"], data["x"], "h", "y"),
        ("network 2 after network 1: nine pieces", data["both"], data["first"], "x", "y"),
    )
    for axis, (title, values, colors, across, up) in zip(axes, curves):
        axis.scatter(data["x"], values, c=colors, s=12, cmap="twilight_shifted", vmin=-1.1, vmax=1.1)
        axis.set(title=title, xlabel=across, ylabel=up)
    axes[2].plot(data["joints"], data["values"], "o", color="C3", ms=5)
    axes[3].scatter(data["first"], data["x"], c=data["first"], s=12, cmap="twilight_shifted", vmin=-1.1, vmax=1.1)
    axes[3].set(title="one color, one output", xlabel="h", ylabel="x")
