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


def _update(optimizer: Adam, fused: Any) -> bool:
    """One fused update of every group of parameters with gradients; False, and nothing done, before the first one.

    The first step is torch's own, which makes what is remembered; so is one on another device.
    """
    moved = []
    for group in optimizer.param_groups:
        parameters = [p for p in group["params"] if p.grad is not None]
        memories: list[Any] = [optimizer.state.get(p) for p in parameters]
        if not all(memories) or (parameters and parameters[0].device.type != "cpu"):  # all lie on one device
            return False
        moved.append((group, parameters, memories))
    for group, parameters, memories in moved:
        if not parameters:
            continue
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
    return True


class LightAdam(Adam):
    """Adam without options, as :func:`~margin.neural.training.optimizers.make_optimizers` makes it."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        done = closure is None and _update(self, torch._fused_adam_)
        return None if done else super().step(closure)

    step.hooked = True  # type: ignore[attr-defined]  # torch would wrap it in a range of its profiler


class LightAdamW(AdamW):
    """AdamW without options."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        done = closure is None and _update(self, torch._fused_adamw_)
        return None if done else super().step(closure)

    step.hooked = True  # type: ignore[attr-defined]
