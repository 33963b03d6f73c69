r"""Which learning rates an activation survives, on patterns of two sizes

The same perceptron trained by plain gradient descent with rates over three orders of magnitude, on inputs as they are
and on inputs eight times as large. A rule of thumb says that a bounded range makes training stable, since a pattern
then moves limited weights only, and that an unbounded one is more efficient but needs smaller rates. Stability is seen:
larger patterns cost the bounded activations little of their largest rate and the unbounded ones nearly all. Efficiency
is not: the hyperbolic tangent, bounded too, learns as fast as the rectifier and faster than the sigmoid.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOUNDED, UNBOUNDED = ("sigmoid", "tanh"), ("relu", "elu")
NAMES = (*BOUNDED, *UNBOUNDED)
SIZES = (1, 8)  # of the patterns


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.losses import mse_loss
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    rng, steps = np.random.default_rng(seed), 100 if fast else 1000
    X = torch.from_numpy(rng.uniform(-2, 2, size=(60, 1)))
    y = torch.sin(2 * X)

    def error(net: MLP, size: int) -> torch.Tensor:
        return mse_loss(net(size * X), y)

    rates = np.geomspace(1e-3, 1, 7 if fast else 13)
    final: dict[str, Any] = {}
    for name in NAMES:
        final[name] = np.full((len(SIZES), len(rates)), np.inf)
        for row, size in enumerate(SIZES):
            for k, rate in enumerate(rates):
                net = build(partial(MLP, [1, 32, 1], name), seed, torch.float64)
                losses = descend(net.parameters(), partial(error, net, size), steps=steps, rate=float(rate))
                if np.isfinite(losses[-1]):
                    final[name][row, k] = losses[-1] / float(y.var())
    return {"rates": rates, "final": final}


def largest_stable(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The largest rate, for patterns of each size, at which the loss ends below that of predicting the mean."""
    return {
        name: np.array([data["rates"][row < 1].max(initial=0.0) for row in final])
        for name, final in data["final"].items()
    }


def check(data: dict[str, Any]) -> Verdict:
    stable = largest_stable(data)
    best = {name: float(final[0].min()) for name, final in data["final"].items()}
    bounded, unbounded = (np.array([stable[name] for name in names]) for names in (BOUNDED, UNBOUNDED))
    return every(
        bounded_survive_large_patterns=above(float((bounded[:, 1] / bounded[:, 0]).min()), 0.09),
        unbounded_do_not=below(float((unbounded[:, 1] / unbounded[:, 0]).max()), 0.05),
        which_need_smaller_rates=below(float(unbounded[:, 1].max()), 0.2 * float(bounded[:, 1].min())),
        the_tangent_learns_as_fast_as_the_rectifier=below(best["tanh"], 2.5 * best["relu"]),
        and_faster_than_the_sigmoid=below(best["tanh"], 0.85 * best["sigmoid"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    stable = largest_stable(data)
    for row, ax in enumerate(figure.subplots(1, len(SIZES), sharey=True)):
        for name in NAMES:
            label = f"{name}, stable to {stable[name][row]:.2g}"
            style = "o-" if name in BOUNDED else "s--"
            (line,) = ax.loglog(data["rates"], np.minimum(data["final"][name][row], 30), style, label=label)
            ax.axvline(stable[name][row], color=line.get_color(), lw=0.8, ls=":")
        ax.set(title=f"inputs times {SIZES[row]}", xlabel="learning rate", ylim=(None, 40))
        ax.legend()
    figure.axes[0].set_ylabel("loss at the end, relative to the variance")
