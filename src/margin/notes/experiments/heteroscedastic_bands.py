r"""Constant against input-dependent noise

Data with :math:`y = \sin x + (0.1 + 0.3 x)\,\varepsilon` and two shallow networks of rectified units. One learns the
mean, with one variance for all x, its mean squared residual; it is too wide on the left and too narrow on the right.
The other has two outputs, :math:`\mu = f_1(x)` and :math:`\sigma = |f_2(x)| + \sigma_0`, trained by the negative
log-likelihood :math:`\log\sigma + (y-\mu)^2/2\sigma^2`: its band follows the noise, is more likely on held-out rows,
and is piecewise linear with a kink at most for every hidden unit and for every zero of :math:`f_2`. The floor
:math:`\sigma_0` keeps the loss finite. A polynomial log-variance does the same smoothly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near, within
from margin.linear import HeteroscedasticRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS, FLOOR = 10, 1e-2
GRID = 1501  # fine enough that every kink lies between two neighbors of its own
BENT = 1e-9  # a second difference above this is a kink; below it is rounding of float64
NAMES = ("constant", "varying")


def train(outputs: int, objective: Any, x: np.ndarray, y: np.ndarray, seed: int, epochs: int) -> Any:
    """A shallow network of the given objective, with the joints of its units spread over the data."""
    import torch

    from margin.neural import MLP, Minimize, Plan, RowBatches, TensorRows, Training, train
    from margin.optimize.schedules import cosine

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net: Any = MLP([1, UNITS, outputs]).double()
    first = net.linears[0]
    with torch.no_grad():
        first.weight.copy_(first.weight.sign())
        first.bias.copy_(-first.weight[:, 0] * torch.linspace(x.min(), x.max(), UNITS, dtype=torch.float64))
        if outputs == 2:  # the spread starts constant and positive: at a zero of f_2 the loss has a barrier
            net.linears[1].weight[1] = 0.0
            net.linears[1].bias[1] = float(y.std())
    batches = RowBatches(TensorRows.of(x[:, None], y), len(x), seed)
    step = Minimize(net, objective, schedule=cosine(0.02, steps=epochs))
    for _ in train(Training(batches, step, Plan(epochs), threads=1)):
        pass
    return lambda rows: net(torch.from_numpy(rows[:, None])).detach().numpy()


def squared_error(module: Any, batch: Any, _noise: Any) -> dict[str, Any]:
    x, y = batch
    return {"loss": 0.5 * (module(x)[:, 0] - y).square()}


def normal_loss(module: Any, batch: Any, _noise: Any) -> dict[str, Any]:
    x, y = batch
    mean, sigma = module(x).unbind(dim=1)
    sigma = sigma.abs() + FLOOR
    return {"loss": sigma.log() + 0.5 * ((y - mean) / sigma).square()}


def hold_out(mean: np.ndarray, std: np.ndarray, y: np.ndarray) -> float:
    """The mean negative log-likelihood of the normal distribution, in nats."""
    return float(np.mean(0.5 * np.log(2 * np.pi) + np.log(std) + 0.5 * ((y - mean) / std) ** 2))


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Both networks, and a polynomial model beside them, with mean and standard deviation on a grid."""
    rng = np.random.default_rng(seed)
    # A learned spread is off by about sqrt(parameters / 2n) of itself, 0.03 here; the farthest of the grid by 0.1.
    n, epochs = (5000, 500) if fast else (6000, 1500)
    x = rng.uniform(0, 3, 2 * n)
    y = np.sin(x) + (0.1 + 0.3 * x) * rng.normal(size=2 * n)
    grid = np.linspace(0, 3, GRID)
    data: dict[str, Any] = {"x": x[:400], "y": y[:400], "grid": grid, "sigma": 0.1 + 0.3 * grid}
    plain = train(1, squared_error, x[:n], y[:n], seed, epochs)
    spread = float(np.sqrt(np.mean((plain(x[:n])[:, 0] - y[:n]) ** 2)))
    double = train(2, normal_loss, x[:n], y[:n], seed, epochs)
    smooth = HeteroscedasticRegression(degree=5, variance_degree=3).fit(x[:n, None], y[:n])
    models: dict[str, Any] = {
        "constant": lambda rows: (plain(rows)[:, 0], np.full(len(rows), spread)),
        "varying": lambda rows: (double(rows)[:, 0], np.abs(double(rows)[:, 1]) + FLOOR),
        "polynomial": lambda rows: smooth.predict(rows[:, None], return_std=True),
    }
    for name, model in models.items():
        data[f"{name}_mean"], data[f"{name}_std"] = model(grid)
        mean, std = model(x[n:])
        data[f"{name}_nll"] = hold_out(mean, std, y[n:])
    return data


def bends(values: np.ndarray) -> int:
    """Second differences on an even grid that are not zero: one or two for every kink between linear pieces."""
    return int(np.sum(np.abs(np.diff(values, 2)) > BENT))


def check(data: dict[str, Any]) -> Verdict:
    inside = slice(50, -50)
    ratio = data["varying_std"][inside] / data["sigma"][inside]
    return every(
        recovers_sigma=below(float(np.abs(ratio - 1).max()), 0.2),
        band_varies=above(float(data["varying_std"].max() / data["varying_std"].min()), 3.0),
        linear_pieces=within(bends(data["varying_std"]), 1, 2 * (UNITS + 1)),
        polynomial_is_curved=above(bends(data["polynomial_std"]), 0.9 * GRID),
        constant_band=near(data["constant_std"], np.full(GRID, data["constant_std"][0]), tolerance=1e-12),
        held_out=below(data["varying_nll"], data["constant_nll"] - 0.1),
        like_the_polynomial=near(data["varying_nll"], data["polynomial_nll"], tolerance=0.03),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(1, 3)
    for axes, name, title in zip(panels, NAMES, ("one variance for all x", r"$\sigma(x)$ learned")):
        mean, std = data[f"{name}_mean"], data[f"{name}_std"]
        axes.plot(data["x"], data["y"], ".", ms=3, color="0.6", label="data")
        axes.fill_between(data["grid"], mean - 2 * std, mean + 2 * std, alpha=0.25, label=r"mean $\pm 2\sigma$")
        axes.plot(data["grid"], mean, lw=2, label="mean of the network")
        axes.set(xlabel="x", ylim=(-3.2, 3.8), title=f"{title}\nheld-out loss {data[f'{name}_nll']:.3f} nats")
    panels[0].set_ylabel("y")
    panels[0].legend(fontsize=8, loc="lower left")
    axes = panels[2]
    axes.plot(data["grid"], data["sigma"], color="0.2", lw=1, label="truth")
    for name, label in (("varying", "network: linear pieces"), ("polynomial", "polynomial"), ("constant", "constant")):
        axes.plot(data["grid"], data[f"{name}_std"], lw=1.5, label=label)
    axes.set(xlabel="x", ylabel=r"$\sigma(x)$", title="the learned spread")
    axes.legend(fontsize=8)
