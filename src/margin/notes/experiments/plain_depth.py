r"""Plain networks get worse with depth on the training data themselves

Beyond some depth a plain network of rectifiers does worse on training and test data: what fails is training, not
generalization. Residual blocks :math:`h + W\,\mathrm{relu}(h)` of the same depth do not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS, WIDTH = (5, 20, 50), 16


def network(depth: int, residual: bool, count: int) -> Any:
    """``count`` independent networks side by side: inputs (1, B, 2), outputs (count, B, 1)."""
    import torch
    from torch import nn

    from margin.neural.layers.residual import Residual

    class Linears(nn.Module):
        """A linear layer of every network; together they are trained in little more than the time of one."""

        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            bound = inputs**-0.5
            self.weight = nn.Parameter(torch.empty(count, inputs, outputs).uniform_(-bound, bound))
            self.bias = nn.Parameter(torch.empty(count, 1, outputs).uniform_(-bound, bound))

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            return torch.baddbmm(self.bias, h.expand(count, -1, -1), self.weight)

    layers: list[nn.Module] = [Linears(2, WIDTH)]
    for _ in range(depth):
        linears = Linears(WIDTH, WIDTH)
        block = nn.Sequential(nn.ReLU(), linears)
        with torch.no_grad():
            linears.weight.normal_(0, (2 / WIDTH) ** 0.5)
            if residual:
                linears.weight.div_(depth**0.5)  # the sum of all changes is of the size of one
        layers.append(Residual(block) if residual else block)
    return nn.Sequential(*layers, nn.ReLU(), Linears(WIDTH, 1))


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(160, 2))
    y = np.sin(4 * X[:, :1]) * np.cos(3 * X[:, 1:])
    inputs, targets = torch.from_numpy(X).float(), torch.from_numpy(y / y.std()).float()
    train, test = slice(0, 64), slice(64, 160)
    count, steps = (8, 100) if fast else (20, 1000)  # single deep networks differ widely: some do train
    losses: dict[str, dict[str, np.ndarray]] = {}
    for kind in ("plain", "residual"):
        both_losses = np.empty((len(DEPTHS), count, 2))
        for i, depth in enumerate(DEPTHS):
            net = build(partial(network, depth, kind == "residual", count), seed)
            errors = lambda rows, net=net: (net(inputs[None, rows]) - targets[rows]).square().mean(dim=(1, 2))  # noqa: E731
            objective = lambda errors=errors: errors(train).sum()  # noqa: E731
            descend(net.parameters(), objective, steps=steps, rate=2e-3, rule=torch.optim.Adam)
            with torch.no_grad():
                both_losses[i] = torch.stack([errors(train), errors(test)], dim=1).numpy()
        losses[kind] = {"train": both_losses[..., 0], "test": both_losses[..., 1]}
    return {"losses": losses}


def check(data: dict[str, Any]) -> Verdict:
    mean = {kind: losses["train"].mean(axis=1) for kind, losses in data["losses"].items()}
    return every(
        deepest_trains_worse=above(mean["plain"][2] / mean["plain"][1], 1.3),
        and_tests_worse=above(data["losses"]["plain"]["test"][2].mean(), data["losses"]["plain"]["test"][0].mean()),
        residual_removes_the_gap=below(mean["residual"][2], 0.5 * mean["plain"][2]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 5)
    for axis, part in zip(figure.subplots(1, 2, sharey=True), ("train", "test")):
        for kind, losses in data["losses"].items():
            values = losses[part]
            axis.semilogy(DEPTHS, values.mean(axis=1), "o-", label=kind)
            axis.plot(np.repeat(DEPTHS, values.shape[1]), values.ravel(), ".", color="gray", ms=4)
        axis.set(title=f"{part} error after the same number of steps", xlabel="hidden layers")
        axis.legend()
