"""Adam and AdamW whose step calls torch's fused update at once.

Torch's own way there sorts tensors by device, looks for hooks and options that are not used here, and opens a range for
its profiler: several times as long as the update of a small network takes. The numbers and what is remembered are the
same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.optim import Adam, AdamW

__all__ = ["LightAdam", "LightAdamW"]


def _update(optimizer: Adam, fused: Any) -> None:
    """One fused update of every group of parameters, all of which lie on one device and have gradients."""
    for group in optimizer.param_groups:
        parameters = [p for p in group["params"] if p.grad is not None]
        if not parameters:
            continue
        memories = [optimizer.state[p] for p in parameters]
        steps = [memory["step"] for memory in memories]
        first, second = group["betas"]
        torch._foreach_add_(steps, 1)
        fused(
            parameters,
            [p.grad for p in parameters],
            [memory["exp_avg"] for memory in memories],
            [memory["exp_avg_sq"] for memory in memories],
            [],
            steps,
            amsgrad=False,
            lr=group["lr"],
            beta1=first,
            beta2=second,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )


def _is_remembered(optimizer: Adam) -> bool:
    """Whether every parameter with a gradient was moved before: the first step makes what is remembered."""
    return all(
        optimizer.state.get(p) and p.device.type == "cpu"
        for group in optimizer.param_groups
        for p in group["params"]
        if p.grad is not None
    )


class LightAdam(Adam):
    """Adam without options, as :func:`~margin.neural.training.optimizers.make_optimizers` makes it."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        if closure is not None or not _is_remembered(self):
            return super().step(closure)
        _update(self, torch._fused_adam_)
        return None

    step.hooked = True  # type: ignore[attr-defined]  # torch would wrap it in a range of its profiler


class LightAdamW(AdamW):
    """AdamW without options."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        if closure is not None or not _is_remembered(self):
            return super().step(closure)
        _update(self, torch._fused_adamw_)
        return None

    step.hooked = True  # type: ignore[attr-defined]
