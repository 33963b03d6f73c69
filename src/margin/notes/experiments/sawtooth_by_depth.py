r"""Depth repeats: it fits a composed sawtooth, and gains nothing on unrelated pieces

A network of three layers of three units has 34 parameters and can fold 64 pieces into a sawtooth; a shallow one with
34 parameters has 11 units and 12 pieces. On a random function of 64 pieces the same deep network, started from its
fold, is no better: its pieces are copies and cannot be chosen one by one. From random weights, too, depth is ahead on a
sawtooth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS, DEPTH, PIECES = 3, 3, 64
ZOOM = (0.0, 0.25)  # what is drawn of the unit interval: all pieces side by side are a hatching


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.nets.ensemble import MLPEnsemble
    from margin.neural.nets.mlp import MLP
    from margin.neural.theory import interpolation_network, max_region_network
    from margin.neural.weights import build, count_parameters, load_weights

    rng, steps = np.random.default_rng(seed), 100 if fast else 2000
    x = np.linspace(0, 1, 513)
    fold = max_region_network(UNITS, DEPTH)
    budget = fold.n_parameters
    width = (budget - 1) // 3
    knots = np.linspace(0, 1, PIECES + 1)
    targets = {"sawtooth": fold(x)[:, 0], "unrelated": np.interp(x, knots, rng.permutation(np.arange(PIECES + 1) % 2))}
    fits: dict[str, dict[str, np.ndarray]] = {}
    sizes = {}
    for target, y in targets.items():
        fits[target] = {}
        nets = {
            "deep": fold,
            "shallow": interpolation_network(_through(x, y), 0, 1, width),
        }
        for name, start in nets.items():
            module = build(partial(MLP, start.sizes), seed, torch.float64)
            # A little noise, so that the sawtooth is not handed over.
            arrays = {
                f"linears.{k}.weight": w * (1 + 1e-3 * rng.normal(size=w.shape)) for k, w in enumerate(start.weights)
            }
            arrays |= {f"linears.{k}.bias": b for k, b in enumerate(start.biases)}
            load_weights(module, arrays)
            X, T = torch.from_numpy(x)[:, None], torch.from_numpy(y)[:, None]
            objective = lambda module=module, X=X, T=T: (module(X) - T).square().mean()  # noqa: E731
            descend(module.parameters(), objective, steps=steps, rate=1e-3, rule=torch.optim.Adam)
            sizes[name] = count_parameters(module)
            with torch.no_grad():
                fits[target][name] = module(X)[:, 0].numpy()
    errors = {
        target: {
            name: float(np.mean((fit - targets[target]) ** 2) / np.var(targets[target]))
            for name, fit in fits_of_target.items()
        }
        for target, fits_of_target in fits.items()
    }
    t = np.linspace(-1, 1, 96)
    saw = max_region_network(UNITS, 2)((t + 1) / 2)[:, 0]
    drawn = {}
    for name, layers in (("deep", [1, 10, 10, 10, 10, 1]), ("shallow", [1, 120, 1])):
        net = build(partial(MLPEnsemble, 3, layers), seed, torch.float64)
        X, T = torch.from_numpy(t)[:, None], torch.from_numpy((saw - saw.mean()) / saw.std())[None, :, None]
        objective = lambda net=net, X=X, T=T: (net(X) - T).square().mean()  # noqa: E731
        drawn[name] = np.array(descend(net.parameters(), objective, steps=3 * steps, rate=0.01, rule=torch.optim.Adam))
    return {"x": x, "targets": targets, "fits": fits, "errors": errors, "sizes": sizes, "from_random": drawn}


def _through(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda t: np.asarray(np.interp(t, x, y))


def check(data: dict[str, Any]) -> Verdict:
    errors = data["errors"]
    advantage = {
        target: errors_of_target["shallow"] / errors_of_target["deep"] for target, errors_of_target in errors.items()
    }
    return every(
        equal_budgets=equal(data["sizes"]["deep"], data["sizes"]["shallow"]),
        deep_fits_the_sawtooth=below(errors["sawtooth"]["deep"], 0.05),
        shallow_does_not=above(errors["sawtooth"]["shallow"], 0.5),
        no_gain_on_unrelated_pieces=below(advantage["unrelated"], 1.2),
        nor_a_fit=above(errors["unrelated"]["deep"], 0.5),
        from_random_weights=below(data["from_random"]["deep"][-1], data["from_random"]["shallow"][-1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 7.5)
    axes = figure.subplots(2, 2)
    for axis, (target, y) in zip(axes[0], data["targets"].items()):
        axis.plot(data["x"], y, color="0.75", lw=4, label="target")
        for name, color in (("deep", "C0"), ("shallow", "C1")):
            axis.plot(data["x"], data["fits"][target][name], color=color, lw=1.4, label=name)
        axis.set(xlim=ZOOM, xlabel=f"x, the first {PIECES // 4} of {PIECES} pieces", ylim=(-0.8, 1.75))
        axis.set_title(f"{target}, {data['sizes']['deep']} parameters each")
        axis.legend(loc="upper right", ncols=3)
    names = [(target, name) for target in data["errors"] for name in ("deep", "shallow")]
    heights = [data["errors"][target][name] for target, name in names]
    bars = axes[1, 0].bar([f"{target}\n{name}" for target, name in names], heights, color=["C0", "C1"] * 2)
    axes[1, 0].bar_label(bars, fmt="%.3f", padding=2)
    axes[1, 0].margins(y=0.12)
    axes[1, 0].set(title="error: a deep one repeats, and cannot choose", ylabel="mean squared error / variance")
    for name, curve in data["from_random"].items():
        axes[1, 1].semilogy(curve, label=name)
    axes[1, 1].set(title="a sawtooth from random weights, 361 parameters", xlabel="step of Adam", ylabel="loss")
    axes[1, 1].legend()
