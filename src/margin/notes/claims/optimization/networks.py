"""What networks run, on problems of the notes: the training loop's descent, its batches, rules and schedules."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.optimize.landscapes import BEALE
from margin.optimize.rules import Rule
from margin.optimize.steps import Array


def network_path(rule: Rule, rate: float, steps: int) -> Array:
    """Iterates on the Beale function of a network that is nothing but the point, moved as every network is."""
    import torch

    from margin.neural.training.batches import Batch
    from margin.neural.training.descent import GradientDescent
    from margin.neural.training.meter import Mean

    point: Any = torch.nn.Module()
    point.x = torch.nn.Parameter(torch.tensor([1.0, 1.2], dtype=torch.float64))
    descent, path = GradientDescent(point, rule, rate), [[1.0, 1.2]]

    def slope(_: Batch) -> dict[str, Mean]:
        point.x.grad = torch.tensor(BEALE.grad(point.x.detach().numpy()))
        return {"loss": Mean(torch.zeros(()), 1.0)}

    for t in range(steps):
        descent(lambda _: {}, Batch((point.x,)), t, written=slope)
        path.append(point.x.tolist())
    return np.array(path)


def trained_weights(
    X: Array, y: Array, *, rate: Any, batch_size: int, epochs: int, parts: int = 1, clip: float | None = None
) -> tuple[Array, list[int]]:
    """Weights of a linear network after descent on the mean of (x w - y)^2 by batches in the order of the rows, from
    zero, in the loop that all networks learn in; and the updates after each epoch.
    """
    import torch

    from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, train
    from margin.optimize.rules import Descent

    network = torch.nn.Linear(X.shape[1], 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(network.weight)

    def squares(module: Any, batch: Any, _noise: Any) -> Any:
        return {"loss": (module(batch[0])[:, 0] - batch[1]).square()}

    step = Minimize(network, squares, Descent(), schedule=rate, accumulate=parts, clip_norm=clip)
    rows = RowBatches(TensorRows.of(X, y), batch_size, 0, shuffle=False)
    records = list(train(Training(rows, step, Plan(epochs, None), threads=1)))
    return network.weight.detach().numpy()[0].copy(), [record.iteration for record in records]


def drawn_batches(n: int, size: int, seed: int, epochs: int = 1) -> list[list[list[int]]]:
    """The rows of every batch of every epoch, as networks draw them."""
    from margin.neural.training import RowBatches, TensorRows

    source = RowBatches(TensorRows.of(np.arange(n, dtype=np.float64)), size, seed)
    steps = source.steps_per_epoch
    return [[source.draw().tensors[0].long().tolist() for _ in range(steps)] for _ in range(epochs)]
