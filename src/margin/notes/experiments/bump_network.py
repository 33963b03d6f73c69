r"""Two steep sigmoids make a bump, many bumps make a function

.. math:: f(x) \approx \sum_k f(c_k)\,[\sigma(s(x - a_k)) - \sigma(s(x - b_k))]

The middle of every part gives the height of its bump; the error away from the edges falls as the parts get shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUMPS = (5, 20, 80)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.theory import step_network

    phase = np.random.default_rng(seed).uniform(0, 6)

    def f(x: np.ndarray) -> np.ndarray:
        return 0.2 + 0.4 * x**2 + 0.3 * x * np.sin(15 * x) + 0.05 * np.cos(30 * x + phase)

    x = np.linspace(0, 1, 2001 if fast else 20_001)
    fits, errors, units = {}, {}, {}
    for n in BUMPS:
        net = step_network(f, 0, 1, n)
        fits[n], units[n] = net(x)[:, 0], net.n_hidden
        away = np.abs(x * n % 1 - 0.5) < 0.4
        errors[n] = float(np.abs(fits[n] - f(x))[away].max())
    first = step_network(f, 0, 1, BUMPS[0])
    sigmoid = 0.5 * (1 + np.tanh(0.5 * (x[:, None] @ first.weights[0].T + first.biases[0])))
    pairs = (sigmoid * first.weights[1][0]).reshape(len(x), -1, 2).sum(axis=2)
    return {"x": x, "y": f(x), "fits": fits, "errors": errors, "units": units, "bumps": pairs}


def check(data: dict[str, Any]) -> Verdict:
    errors = data["errors"]
    return every(
        falls=equal(errors[5] > errors[20] > errors[80], True),
        small=below(errors[80], 0.25 * errors[5]),
        two_units_each=equal(data["units"], {n: 2 * n for n in BUMPS}),
        bumps_add_up=below(float(np.abs(data["bumps"].sum(axis=1) - data["fits"][5]).max()), 1e-9),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 6.6)
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    axes[0].plot(data["x"], data["bumps"], lw=1.4)
    axes[0].plot(data["x"], data["y"], color="silver", lw=3, zorder=0)
    axes[0].set_title("Five bumps, two sigmoids each")
    for axis, n in zip(axes[1:], BUMPS):
        axis.plot(data["x"], data["y"], color="silver", lw=3.5, label="truth")
        axis.plot(data["x"], data["fits"][n], color="C0", lw=1.3, label="sum of bumps")
        axis.set_title(f"{n} bumps, {data['units'][n]} units: largest error {data['errors'][n]:.3f}")
    axes[1].legend()
    for axis in axes[2:]:
        axis.set_xlabel("x")
