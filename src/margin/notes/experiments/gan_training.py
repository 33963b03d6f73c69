r"""Noise, generator, discriminator: a game on one axis

The generator's density :math:`p_G` moves towards the data while the discriminator follows
:math:`D^* = p/(p + p_G)`; at the end it can only guess, and V is near :math:`-2\log 2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near
from margin.notes.diagrams import MUTED, add_arrow, add_box, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = np.linspace(-4, 6, 121)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.generative import GAN

    rng = np.random.default_rng(seed)
    X = np.where(rng.random((800, 1)) < 0.5, rng.normal(-0.5, 0.5, (800, 1)), rng.normal(2.0, 0.6, (800, 1)))
    model = GAN(4, (32, 32), max_iter=25 if fast else 200, random_state=seed, record_steps=None)
    curve = []
    for record in model.iterate(X):
        values = ("discriminator_value", "discriminator_real", "discriminator_fake", "generator_loss")
        curve.append([record.iteration, *(record[name] for name in values)])
    made = model.sample(2000, random_state=seed)
    return {
        "X": X[:, 0],
        "made": made[:, 0],
        "curve": np.array(curve),
        "discriminator": model.discriminate(GRID[:, None]),
        "layers": [[name, list(array.shape)] for name, array in model.weights_.items()],
    }


def check(data: dict[str, Any]) -> Verdict:
    value, real, fake = data["curve"][-1, 1:4]
    quantiles = np.linspace(0.05, 0.95, 19)
    gap = np.abs(np.quantile(data["made"], quantiles) - np.quantile(data["X"], quantiles)).mean()
    return every(
        value_near_the_draw=near(float(value), -2 * np.log(2), tolerance=0.15),
        guesses_on_real=near(float(real), 0.5, tolerance=0.1),
        guesses_on_made=near(float(fake), 0.5, tolerance=0.1),
        quantiles_match=below(float(gap), 0.4),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    """The two players as they are built, above what they reach and how the game went."""
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 2))
    _draw_players(figure.add_subplot(grid[0, :]), dict(data["layers"]))
    left, right = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    bins = np.linspace(GRID[0], GRID[-1], 50).tolist()
    left.hist(data["X"], bins, density=True, alpha=0.5, color="C0", label="data")
    left.hist(data["made"], bins, density=True, alpha=0.5, color="C1", label="generated")
    left.plot(GRID, data["discriminator"], color="black", label="D(x): is it real?")
    left.set(title="At the end", xlabel="x", ylabel="density, probability")
    left.legend()
    steps, value, real, fake, loss = data["curve"].T
    for name, line in (("V", value), ("D(data)", real), ("D(generated)", fake), ("generator's loss", loss)):
        right.plot(steps, line, label=name)
    right.axhline(-2 * np.log(2), color="C7", ls=":", label=r"$-2\,\log 2$: only guesses")
    right.set(title="The game", xlabel="step", ylabel="nats, probability")
    right.legend(ncols=2)


def _draw_players(axis: Axes, layers: dict[str, list[int]]) -> None:
    """Layers by their widths, read from the arrays of weights."""
    blank(axis, width=(-1.0, 10.0), height=(-0.6, 1.3))
    widths = {player: _widths(layers, player) for player in ("generator", "discriminator")}
    boxes = (
        (0.0, 0.9, "noise z", f"{widths['generator'][0]} numbers", "C7"),
        (2.8, 0.9, "generator G", " – ".join(map(str, widths["generator"])), "C1"),
        (2.8, 0.0, "data", "1 number", "C0"),
        (6.0, 0.45, "discriminator D", " – ".join(map(str, widths["discriminator"])), "C2"),
        (9.0, 0.45, "real or made?", "probability", "C7"),
    )
    for x, y, text, size, color in boxes:
        add_box(axis, x, y, text, width=1.6, height=0.4, color=color)
        axis.text(x, y - 0.34, size, ha="center", va="center", fontsize=8, color=MUTED)
    ends = {text: (x, y) for x, y, text, *_ in boxes}
    for start, end in (("noise z", "generator G"), ("generator G", "discriminator D"),
                       ("data", "discriminator D"), ("discriminator D", "real or made?")):  # fmt: skip
        (x, y), (u, v) = ends[start], ends[end]
        add_arrow(axis, (x + 0.8, y), (u - 0.8, v))


def _widths(layers: dict[str, list[int]], player: str) -> list[int]:
    """Input width, then the output width of every layer of one player."""
    shapes = [shape for name, shape in layers.items() if name.startswith(player) and len(shape) == 2]
    return [shapes[0][1], *(shape[0] for shape in shapes)]
