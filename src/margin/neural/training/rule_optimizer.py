"""Any update rule as an optimizer of torch: the equation itself, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from margin.optimize.rules import Rule

__all__ = ["RuleOptimizer"]


class RuleOptimizer(Optimizer):
    """Moves parameters by ``rule.update``.

    The ``weight_decay`` of a group is that of a rule that decouples it, and a penalty added to the gradient otherwise.
    What the rule remembers of a parameter is kept as tensors by the names of its state, as torch's optimizers do.
    """

    def __init__(self, groups: Iterable[Mapping[str, Any]], lr: float, rule: Rule):
        super().__init__([dict(group) for group in groups], {"lr": lr, "weight_decay": 0.0})
        start = rule.start(probe := torch.zeros((1, 1)))
        if rule.point(start, probe) is not probe:
            raise ValueError(f"RuleOptimizer: {rule!r} takes gradients elsewhere than at the weights.")
        self.rule, self.memory = rule, type(start)
        self.numbers = {name for name, value in start._asdict().items() if not isinstance(value, Tensor)}
        for group in self.param_groups:
            group["rule"] = rule.replace(weight_decay=group["weight_decay"]) if rule.decouples else rule

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient; ``closure`` is not used."""
        for group in self.param_groups:
            rule, penalty = group["rule"], 0.0 if self.rule.decouples else group["weight_decay"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient = parameter.grad + penalty * parameter if penalty else parameter.grad
                state, step = rule.update(self._state(parameter, rule), gradient, parameter, group["lr"])
                self.state[parameter] = {name: torch.as_tensor(value) for name, value in state._asdict().items()}
                parameter.add_(step)

    def _state(self, parameter: Tensor, rule: Rule) -> Any:
        memory = self.state.get(parameter)
        if not memory:
            return rule.start(parameter)
        return self.memory(**{name: v.item() if name in self.numbers else v for name, v in memory.items()})
