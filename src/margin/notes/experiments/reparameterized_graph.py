r"""The graph of a VAE's loss before and after reparameterization

Drawn from q, the latent is a random node on the path and no derivative passes it. As :math:`z = \mu + \sigma\epsilon`
the randomness is an input :math:`\epsilon` beside the path, and the derivative of the loss reaches :math:`\mu` and
:math:`\log\sigma^2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near
from margin.notes.diagrams import draw_tape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEN, WEIGHT = 1.5, 0.8  # the row, and the weight of a linear decoder
STOCHASTIC = {"before": "z", "after": "eps"}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.autodiff import Tape, graph_entries
    from margin.neural.autodiff.primitives import exp

    del fast
    mean, log_variance, epsilon = (round(float(value), 2) for value in np.random.default_rng(seed).normal(size=3))
    deviation = float(np.exp(0.5 * log_variance))
    data: dict[str, Any] = {"mean": mean, "log_variance": log_variance, "epsilon": epsilon}
    for name in ("before", "after"):
        tape = Tape()
        mu, width = tape.variable(mean, "mu"), tape.variable(log_variance, "log_var")
        if name == "before":  # a draw has a value, and nothing it was computed from
            z = tape.variable(mean + deviation * epsilon, "z")
        else:
            z = mu + exp(0.5 * width) * tape.variable(epsilon, "eps")
        gap = SEEN - WEIGHT * z
        data[name] = [tuple(entry) for entry in graph_entries(0.5 * (gap * gap))]
    return data


def slopes(entries: list[tuple[Any, ...]]) -> dict[str, float]:
    return {name: float(adjoint) for _, name, _, _, adjoint in entries if name in ("mu", "log_var", "z", "eps")}


def check(data: dict[str, Any]) -> Verdict:
    deviation = float(np.exp(0.5 * data["log_variance"]))
    outer = -WEIGHT * (SEEN - WEIGHT * (data["mean"] + deviation * data["epsilon"]))
    before, after = slopes(data["before"]), slopes(data["after"])
    return every(
        nothing_passes_a_draw=equal((before["mu"], before["log_var"]), (0.0, 0.0)),
        the_draw_itself_has_a_slope=near(before["z"], outer, tolerance=1e-12),
        through_the_mean=near(after["mu"], outer, tolerance=1e-12),
        through_the_deviation=near(after["log_var"], outer * 0.5 * deviation * data["epsilon"], tolerance=1e-12),
        something_passes=above(abs(after["mu"]), 0.0),
    )


TITLES = {
    "before": "Drawn from q: no derivative (red) passes the random node (orange)",
    "after": "Reparameterized: the randomness stands beside the path, and derivatives reach both parameters",
}


def draw(data: dict[str, Any], figure: Figure) -> None:
    for axis, (name, title) in zip(figure.subplots(2, 1, height_ratios=(2, 3)), TITLES.items()):
        draw_tape(axis, data[name], fill={STOCHASTIC[name]: "C1"})
        axis.set_title(title)
