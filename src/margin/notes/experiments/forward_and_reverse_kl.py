r"""Forward KL covers, reverse KL seeks.

One normal :math:`q` is fitted to a mixture :math:`p` of two. Minimizing :math:`D_{KL}(p \| q)` matches mean and
variance and spreads :math:`q` over both bumps; minimizing :math:`D_{KL}(q \| p)` punishes mass where :math:`p` has
none and settles on one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.foundations.information import NormalParameters, fit_normal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUMPS = (NormalParameters(-2.0, 0.6), NormalParameters(2.5, 0.8))
WEIGHTS = (0.4, 0.6)
STARTS = {"reverse, started left": NormalParameters(-1.5, 1.0), "reverse, started right": NormalParameters(1.5, 1.0)}


def run(seed: int, fast: bool) -> dict[str, Any]:
    x = np.linspace(-12, 12, 2401)
    fits = {"forward": fit_normal(x, _log_mixture, "forward", NormalParameters(0.0, 1.0))}
    fits |= {name: fit_normal(x, _log_mixture, "reverse", start) for name, start in STARTS.items()}
    return {"x": x, "p": np.exp(_log_mixture(x)), "fits": fits, "kl": {name: _both(x, q) for name, q in fits.items()}}


def check(data: dict[str, Any]) -> Verdict:
    forward, left, right = data["fits"].values()
    mean = float(np.dot(WEIGHTS, [bump.mean for bump in BUMPS]))
    second = float(np.dot(WEIGHTS, [bump.std**2 + bump.mean**2 for bump in BUMPS]))
    forward_of = {name: pair[0] for name, pair in data["kl"].items()}
    reverse_of = {name: pair[1] for name, pair in data["kl"].items()}
    return every(
        forward_moments=near([forward.mean, forward.std**2], [mean, second - mean**2], tolerance=1e-6),
        left_mode=near([left.mean, left.std], BUMPS[0], tolerance=0.1),
        right_mode=near([right.mean, right.std], BUMPS[1], tolerance=0.1),
        forward_wins_forward=below(forward_of["forward"], min(forward_of[name] for name in STARTS)),
        reverse_wins_reverse=above(reverse_of["forward"], max(reverse_of[name] for name in STARTS)),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    x = data["x"]
    axis.fill_between(x, data["p"], color="#bbbbbb", alpha=0.6, label="p, two bumps")
    for (name, q), color in zip(data["fits"].items(), ("C0", "C1", "C4")):
        forward, reverse = data["kl"][name]
        label = f"{name}:  KL(p‖q) = {forward:.2f},  KL(q‖p) = {reverse:.2f}"
        axis.plot(x, np.exp(q.log_density(x)), color=color, lw=2, label=label)
    axis.set(xlim=(-6, 7), ylim=(0, 0.95), xlabel="x", ylabel="density")
    axis.set_title("Forward KL covers both modes, reverse KL seeks one")
    axis.legend(frameon=False, loc="upper left")


def _log_mixture(x: np.ndarray) -> np.ndarray:
    left, right = (np.log(weight) + bump.log_density(x) for weight, bump in zip(WEIGHTS, BUMPS))
    return np.logaddexp(left, right)


def _both(x: np.ndarray, q: NormalParameters) -> tuple[float, float]:
    """KL(p || q) and KL(q || p) by summing over the grid."""
    log_p, log_q, step = _log_mixture(x), q.log_density(x), x[1] - x[0]
    return float(np.exp(log_p) @ (log_p - log_q) * step), float(np.exp(log_q) @ (log_q - log_p) * step)
