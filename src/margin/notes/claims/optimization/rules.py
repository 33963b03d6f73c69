"""First-order update rules step by step: paths of ours and of torch, and every rule held against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, every, near
from margin.notes.claims import claim
from margin.notes.claims.optimization.networks import network_path
from margin.optimize import descend, follow
from margin.optimize.landscapes import BEALE
from margin.optimize.rules import (
    AdaDelta,
    AdaGrad,
    Adam,
    AdaMax,
    AdamW,
    AMSGrad,
    Descent,
    Lion,
    Momentum,
    NAdam,
    Nesterov,
    RMSProp,
    Rule,
)
from margin.optimize.steps import Array, Steps


def feed(rule: Rule, gradients: Any, rate: float = 1.0) -> Array:
    """The steps a rule makes when it is handed these gradients one after the other: (t, d)."""
    x = np.zeros(np.shape(gradients)[1])
    state, steps = rule.start(x), []
    for gradient in np.asarray(gradients, dtype=float):
        state, step = rule.update(state, gradient, x, rate)
        x = x + step
        steps.append(step)
    return np.array(steps)


def torch_path(optimizer: str, rate: float, steps: int, **options: Any) -> Array:
    """Iterates of a torch optimizer on the Beale function, which has no symmetry to hide behind."""
    import torch

    x = torch.tensor([1.0, 1.2], dtype=torch.float64, requires_grad=True)
    run = getattr(torch.optim, optimizer)([x], lr=rate, **options)
    path = [x.detach().numpy().copy()]
    for _ in range(steps):
        x.grad = torch.tensor(BEALE.grad(x.detach().numpy()))
        run.step()
        path.append(x.detach().numpy().copy())
    return np.array(path)


def our_path(rule: Rule, rate: float, steps: int) -> Array:
    return follow(descend(BEALE.f, BEALE.grad, [1.0, 1.2], rule, learning_rate=rate, max_iter=steps, tol=0.0)).path


def named_path(method: Callable[..., Steps], rate: float, steps: int, **options: Any) -> Array:
    """The same path by the function that goes by the name of the rule."""
    run = method(BEALE.f, BEALE.grad, [1.0, 1.2], learning_rate=rate, max_iter=steps, tol=0.0, **options)
    return follow(run).path


@claim("gradient-descent-optimisers")
def every_rule_equals_torch_step_by_step() -> Verdict:
    peers: dict[str, tuple[Rule, float, str, dict[str, Any]]] = {
        "sgd": (Descent(), 0.01, "SGD", {}),
        "momentum": (Momentum(0.9), 0.003, "SGD", {"momentum": 0.9}),
        "nesterov": (Nesterov(0.9, shifted=True), 0.003, "SGD", {"momentum": 0.9, "nesterov": True}),
        "adagrad": (AdaGrad(epsilon=1e-10), 0.1, "Adagrad", {"eps": 1e-10}),
        "rmsprop": (RMSProp(0.99), 0.01, "RMSprop", {"alpha": 0.99}),
        "adadelta": (AdaDelta(0.9, 1e-6), 1.0, "Adadelta", {"rho": 0.9, "eps": 1e-6}),
        "adam": (Adam(), 0.02, "Adam", {}),
        "adamw": (AdamW(weight_decay=0.1), 0.02, "AdamW", {"weight_decay": 0.1}),
    }
    relatives: dict[str, Rule] = {"nadam": NAdam(), "adamax": AdaMax(), "amsgrad": AMSGrad(), "lion": Lion()}
    moved = {name: (_remove_decay(rule), rate) for name, (rule, rate, *_) in peers.items()}
    moved |= {name: (_remove_decay(rule), 0.02) for name, rule in relatives.items()}
    return every(
        **{
            name: near(our_path(rule, rate, 100), torch_path(peer, rate, 100, **options), tolerance=1e-10)
            for name, (rule, rate, peer, options) in peers.items()
        },
        as_run=every(
            **{
                name: near(network_path(rule, rate, 40), our_path(rule, rate, 40), tolerance=1e-9)
                for name, (rule, rate) in moved.items()
            }
        ),
    )


def _remove_decay(rule: Rule) -> Rule:
    """Networks shrink matrices only, and the point that is moved here is a vector."""
    return rule.replace(weight_decay=0.0) if rule.decouples else rule
