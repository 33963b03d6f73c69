"""Solutions and gradients of neural differential equations against torchdiffeq, same network, method and steps.

64 states of a spiral pass 40 times with one step of Runge and Kutta's method between two of them, or more; the gradient
of the mean square at all times goes back through every step, or by the adjoint equation. The quality is the largest
difference of the gradient from that at eight times as many steps, relative to its largest entry.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    steps = (1,) if quick else (1, 4)
    return [gradient(way, n) for way in ("backprop", "adjoint") for n in steps]


def spiral() -> dict[str, Any]:
    import torch

    from margin.neural.weights import build
    from margin.physics.neural_ode import SlopeNetwork

    module = build(lambda: SlopeNetwork([2, 50, 2], "tanh"), seed=0, dtype=torch.float64)
    with torch.no_grad():
        module.mlp.linears[-1].weight.mul_(10.0)  # a field that moves the states around
    start = torch.from_numpy(np.random.default_rng(0).normal(size=(64, 2)))
    return {"module": module, "start": start, "times": torch.linspace(0, 4, 40, dtype=torch.float64)}


def gradient(way: str, steps: int) -> Case:
    return Case(
        f"neural ODE, gradient by {way}",
        f"40 times, {steps} steps of RK4 between two",
        spiral,
        partial(ours, way=way, steps=steps),
        (Peer("torchdiffeq", "torchdiffeq", partial(torchdiffeq, way=way, steps=steps)),),
        distance,
        "distance from the exact gradient",
        memory=False,
        rounds=5,
    )


def ours(data: dict[str, Any], *, way: str, steps: int) -> Any:
    from margin.physics.neural_ode import integrate, integrate_adjoint

    solve = integrate_adjoint if way == "adjoint" else integrate
    return slopes(data, solve(data["module"], data["start"], data["times"].tolist(), steps, "rk4"))


def torchdiffeq(data: dict[str, Any], *, way: str, steps: int) -> Any:
    import torchdiffeq as peer

    solve = peer.odeint_adjoint if way == "adjoint" else peer.odeint
    size = float(data["times"][1]) / steps
    return slopes(data, solve(data["module"], data["start"], data["times"], method="rk4", options={"step_size": size}))


def slopes(data: dict[str, Any], states: Any) -> Any:
    import torch

    gradients = torch.autograd.grad(states.square().mean(), list(data["module"].parameters()))
    return torch.cat([part.reshape(-1) for part in gradients])


def distance(data: dict[str, Any], slopes: Any) -> float:
    if "exact" not in data:
        data["exact"] = ours(data, way="backprop", steps=8)
    exact = data["exact"]
    return float((slopes - exact).abs().max() / exact.abs().max())
