r"""Which learning rate belongs to which batch size

Least squares by stochastic gradients, followed by many runs at once. With the rate in proportion to the batch,
:math:`\eta \propto B`, a run gets as far with every example seen and ends at the same noise, since the excess loss that
remains is proportional to :math:`\eta / B`. A constant rate leaves it to fall like :math:`1 / B` and progress to slow
down; a rate that grows like the root of B lies between. Adam divides by the size of the gradients, which are mostly
noise of size :math:`1 / \sqrt B`, so for it the root is the rule that keeps the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (4, 16, 64)
EXPONENTS = {"constant": 0.0, "root of the batch": 0.5, "in proportion": 1.0}
RATES = {"descent": 0.01, "adam": 0.003}  # at the smallest batch
FEATURES, NOISE, EPOCH = 4, 1.0, 6400  # examples between two looks


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.optimize.rules import Adam, Descent

    rng = np.random.default_rng(seed)
    runs, epochs = (60, 6) if fast else (200, 20)
    excess: dict[str, dict[str, np.ndarray]] = {}
    for name, rule in (("descent", Descent()), ("adam", Adam())):
        excess[name] = {
            way: np.array([_excess(rule, RATES[name] * (B / SIZES[0]) ** power, B, runs, epochs, rng) for B in SIZES])
            for way, power in EXPONENTS.items()
        }
    return {"excess": excess, "looks": EPOCH * np.arange(1, epochs + 1)}


def _excess(rule: Any, rate: float, B: int, runs: int, epochs: int, rng: np.random.Generator) -> np.ndarray:
    """Mean loss above that of the true weights over the second half of every epoch, for unit normal inputs."""
    gap = np.full((runs, FEATURES), 0.5)  # weights minus the true ones
    state, steps, found = rule.start(gap), EPOCH // B, []
    for _ in range(epochs):
        total = 0.0
        for step in range(steps):
            # The gradient of a batch has the mean of the true one and, for unit normal inputs, this covariance.
            gradient = gap + _noise_of_a_batch(gap, B, rng)
            state, move = rule.update(state, gradient, gap, rate)
            gap = gap + move
            if 2 * step >= steps:
                total += float((gap**2).sum(axis=1).mean()) / 2
        found.append(total / (steps - (steps + 1) // 2))
    return np.array(found)


def _noise_of_a_batch(gap: np.ndarray, B: int, rng: np.random.Generator) -> np.ndarray:
    """Deviation of a batch's mean gradient x (x . gap - noise): its covariance is ((gap² + s²) I + gap gap') / B."""
    size = np.sqrt((gap**2).sum(axis=1, keepdims=True) + NOISE**2)
    along = gap * rng.normal(size=(len(gap), 1))
    return (size * rng.normal(size=gap.shape) + along) / np.sqrt(B)


def check(data: dict[str, Any]) -> Verdict:
    descent, adam = ({way: values[:, -1] for way, values in data["excess"][name].items()} for name in RATES)
    ratio = {way: values / values[0] for way, values in descent.items()}
    batches = np.array(SIZES) / SIZES[0]
    # The exact excess of a small rate: d s^2 eta / (4 B), since the variance v solves 2 v = eta (v + s^2 / B).
    theory = FEATURES * NOISE**2 * RATES["descent"] / (4 * SIZES[0])
    early = data["excess"]["descent"]["in proportion"][:, 0]
    return every(
        theory=near(descent["in proportion"][0] / theory, 1.0, tolerance=0.25),
        in_proportion_keeps_the_noise=near(ratio["in proportion"], np.ones(3), tolerance=0.35),
        constant_lets_it_fall=near(ratio["constant"] * batches, np.ones(3), tolerance=0.45),
        the_root_lies_between=near(ratio["root of the batch"] * np.sqrt(batches), np.ones(3), tolerance=0.4),
        in_proportion_is_as_fast_per_example=near(early / early[0], np.ones(3), tolerance=0.35),
        adam_keeps_it_by_the_root=near(np.log(adam["root of the batch"] / adam["root of the batch"][0]), np.zeros(3),
                                       tolerance=0.5),
    )  # fmt: skip


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 4.8)
    for ax, (name, title) in zip(figure.subplots(1, 2), (("descent", "Stochastic gradient descent"), ("adam", "Adam"))):
        for way, values in data["excess"][name].items():
            ax.loglog(SIZES, values[:, -1], "o-", label=f"rate: {way}")
        ax.set(xlabel="batch size", ylabel="excess loss that remains", title=title, xticks=SIZES)
        ax.set_xticklabels([str(size) for size in SIZES])
        ax.minorticks_off()
        ax.legend(loc="lower left")
