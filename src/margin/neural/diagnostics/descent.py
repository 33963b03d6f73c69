"""Gradient descent on all rows at once: the whole loop that a demonstration on a few rows needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

__all__ = ["descend"]


def descend(
    parameters: Iterable[nn.Parameter],
    objective: Callable[[], Tensor],
    *,
    steps: int,
    rate: float,
    rule: type[torch.optim.Optimizer] = torch.optim.SGD,
) -> list[float]:
    """The objective before every step, and after the last. Ends early when it is no longer finite.

    >>> w = nn.Parameter(torch.tensor(3.0))
    >>> descend([w], lambda: w.square(), steps=2, rate=0.25)
    [9.0, 2.25, 0.5625]
    """
    optimizer = rule(list(parameters), lr=rate)  # type: ignore[call-arg]
    values: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = objective()
        values.append(float(value.detach()))
        if not math.isfinite(values[-1]):
            return values
        value.backward()
        optimizer.step()
    with torch.no_grad():
        return [*values, float(objective())]
