"""Networks as slopes: states, gradients and losses against SciPy's integrator on the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.integrate import solve_ivp
from sklearn.metrics import r2_score
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.weights import build
from margin.physics.neural_ode import NeuralODE, SlopeNetwork, integrate, integrate_adjoint

PATH = "margin.physics.neural_ode"


def flow(weights: Any, y0: np.ndarray, times: Any, growth: float = 0.0) -> np.ndarray:
    """States (times, d) of dy/dt = (1 + growth t) (W2 tanh(W1 y + b1) + b2) by SciPy."""
    w1, b1, w2, b2 = (np.asarray(part, dtype=np.float64) for part in weights)
    slope = lambda t, y: (1 + growth * t) * (w2 @ np.tanh(w1 @ y + b1) + b2)  # noqa: E731
    return solve_ivp(slope, (times[0], times[-1]), y0, t_eval=times, rtol=1e-9, atol=1e-11).y.T


class Seasonal(torch.nn.Module):
    """A slope that depends on the time too."""

    def __init__(self, slope: torch.nn.Module):
        super().__init__()
        self.slope = slope

    def forward(self, t: Any, y: torch.Tensor) -> torch.Tensor:
        return (1 + t) * self.slope(t, y)


@oracle(f"{PATH}.integrate", f"{PATH}.integrate_adjoint")
def networks_as_slopes(seed: int) -> Verdict:
    """Uneven times from 0.2 on; gradients of a sum of all states by differences of SciPy's solutions."""
    rng = np.random.default_rng(seed)
    net = build(lambda: SlopeNetwork([2, 3, 2], "tanh"), seed, torch.float64)
    drawn = [rng.normal(0, 0.7, size=tuple(part.shape)) for part in net.parameters()]
    for part, value in zip(net.parameters(), drawn):
        part.data.copy_(torch.from_numpy(value))
    y0, times, parts = rng.normal(size=(1, 2)), [0.2, 0.5, 1.3], rng.normal(size=(3, 2))
    start = torch.from_numpy(y0)
    begun = start.clone().requires_grad_()
    total = (integrate_adjoint(net, begun, times, 30)[:, 0] * torch.from_numpy(parts)).sum()
    adjoint = torch.cat([g.flatten() for g in torch.autograd.grad(total, [begun, *net.parameters()])])
    arrays, slopes = [y0[0], *drawn], []
    for array in arrays:
        for index in np.ndindex(array.shape):
            ends = []
            for change in (1e-4, -2e-4):
                array[index] += change
                ends.append((flow(drawn, y0[0], times) * parts).sum())
            array[index] += 1e-4
            slopes.append((ends[0] - ends[1]) / 2e-4)
    with torch.no_grad():
        together, seasons = integrate(net, start, times, 30), integrate(Seasonal(net), start, times, 30)
    return every(
        states=near(together[:, 0].numpy(), flow(drawn, y0[0], times), tolerance=1e-6),
        seasons=near(seasons[:, 0].numpy(), flow(drawn, y0[0], times, growth=1.0), tolerance=1e-5),
        adjoint=near(adjoint.numpy(), slopes, tolerance=1e-4),
    )


@oracle(f"{PATH}.NeuralODE")
def learned_motion(seed: int) -> Verdict:
    """The loss of all windows under weights that hardly move, and what they predict; Euler's steps one by one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2, 7, 2)).astype(np.float32)
    model = NeuralODE((3,), interval=0.4, window=3, steps=8, max_iter=1, warm_start=True, random_state=seed).fit(X)
    model.weights_ = {name: rng.normal(0, 0.7, size=part.shape).astype(np.float32)
                      for name, part in model.weights_.items()}  # fmt: skip
    model.set_params(learning_rate_init=1e-9).fit(X)
    weights, times = list(model.weights_.values()), 0.4 * np.arange(7)
    windows = [X[n, s : s + 4] for s in range(4) for n in range(2)]
    loss = np.mean([np.square(flow(weights, w[0], times[:4]) - w).mean() for w in windows])
    expected = np.stack([flow(weights, x[0], times) for x in X])
    score = r2_score(X.reshape(-1, 2), expected.reshape(-1, 2), multioutput="variance_weighted")
    w1, b1, w2, b2 = (np.asarray(part, dtype=np.float64) for part in weights)
    y = X[:, 0].astype(np.float64)
    walked = [y]
    for gap in (0.2, 0.9):  # 0.9 is 2.25 intervals of two steps each: five steps, as many in the shorter gap
        for _ in range(5):
            y = y + gap / 5 * (np.tanh(y @ w1.T + b1) @ w2.T + b2)
        walked.append(y)
    euler = model.set_params(method="euler", steps=2).predict(X, [0.3, 0.5, 1.4])
    model.set_params(method="rk4", steps=8)
    return every(
        loss=near(model.loss_curve_[-1], loss, tolerance=1e-4),
        rows=equal(model.t_, 2 * 8),
        predicted=near(model.predict(X), expected, tolerance=1e-4),
        asked=near(model.predict(X[:, 0], times[2:5]), expected[:, :3], tolerance=1e-4),
        euler=near(euler, np.stack(walked, axis=1), tolerance=1e-5),
        score=near(model.score(X), score, tolerance=1e-3),
    )
