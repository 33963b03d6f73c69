"""Adam and AdamW (:mod:`margin.optimize.rules`) whose step calls torch's fused update at once.

Torch's own way there sorts tensors by device, looks for hooks and options that are not used here, and opens a range for
its profiler: several times as long as the update of a small network takes. The numbers and what is remembered are the
same.
"""

from __future__ import annotations

from operator import is_not
from typing import Any, NamedTuple

import torch
from torch.optim import Adam, AdamW

__all__ = ["LightAdam", "LightAdamW"]


class _Group(NamedTuple):
    """Parameters that are updated by one call, and what is remembered of them."""

    options: dict[str, Any]
    parameters: list[Any]
    memories: list[dict[str, Any]]
    averages: list[Any]
    squares: list[Any]
    steps: list[Any]
    count: Any  # what ``steps`` are views of: one addition counts for all

    @classmethod
    def of(cls, optimizer: Adam, options: dict[str, Any]) -> _Group | None:
        """None before the first step, which is torch's own and makes the memories; and on another device."""
        parameters = [p for p in options["params"] if p.grad is not None]
        memories: list[Any] = [optimizer.state.get(p) for p in parameters]
        if not all(memories) or (parameters and parameters[0].device.type != "cpu"):  # all lie on one device
            return None
        count = torch.stack([memory["step"] for memory in memories]) if memories else torch.zeros(0)
        steps = list(count)
        for memory, step in zip(memories, steps):
            memory["step"] = step
        averages, squares = ([memory[name] for memory in memories] for name in ("exp_avg", "exp_avg_sq"))
        return cls(options, parameters, memories, averages, squares, steps, count)

    def holds(self, state: Any) -> bool:
        """Whether these are still the parameters with gradients, and the memories: a state that was loaded brings its
        own, for all parameters."""
        parameters = [p for p in self.options["params"] if p.grad is not None]
        if len(parameters) != len(self.parameters) or any(map(is_not, parameters, self.parameters)):
            return False
        memory = state.get(parameters[0]) if parameters else None
        return memory is None or (memory is self.memories[0] and memory["step"] is self.steps[0])


def _update(optimizer: Adam, fused: Any) -> bool:
    """One fused update of every group of parameters with gradients; False, and nothing done, before the first one."""
    groups: Any = optimizer.__dict__.get("_groups")
    if groups is None or not all(group.holds(optimizer.state) for group in groups):
        groups = [_Group.of(optimizer, options) for options in optimizer.param_groups]
        if None in groups:
            return False
        optimizer.__dict__["_groups"] = groups
    for group in groups:
        if not group.parameters:
            continue
        group.count.add_(1)
        first, second = group.options["betas"]
        fused(
            group.parameters,
            [p.grad for p in group.parameters],
            group.averages,
            group.squares,
            [],
            group.steps,
            amsgrad=False,
            lr=group.options["lr"],
            beta1=first,
            beta2=second,
            weight_decay=group.options["weight_decay"],
            eps=group.options["eps"],
            maximize=False,
        )
    return True


class LightAdam(Adam):
    """Adam without options, as :func:`~margin.neural.training.optimizers.make_optimizers` makes it."""

    def step(self, closure: Any = None) -> Any:
        with torch.no_grad():
            done = closure is None and _update(self, torch._fused_adam_)
        return None if done else super().step(closure)

    step.hooked = True  # type: ignore[attr-defined]  # torch would wrap it in a range of its profiler


class LightAdamW(AdamW):
    """AdamW without options."""

    def step(self, closure: Any = None) -> Any:
        with torch.no_grad():
            done = closure is None and _update(self, torch._fused_adamw_)
        return None if done else super().step(closure)

    step.hooked = True  # type: ignore[attr-defined]
