r"""Nesterov's look-ahead: jump first, then correct.

Momentum takes the gradient where it stands, :math:`v' = \gamma v + \eta\nabla f(\theta)`; Nesterov takes it at
:math:`\theta - \gamma v`, which the velocity is about to reach. Drawn from a real run on a bowl: jump plus correction
is exactly the rule's step. On the right, the contraction per step on a quadratic for both, and for the wrong sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.optimize.landscapes import quadratic
from margin.optimize.quadratics import momentum_matrix, nesterov_matrix, rate_limit, spectral_radius
from margin.optimize.rules import Momentum, Nesterov

if TYPE_CHECKING:
    from matplotlib.figure import Figure

A, RATE, GAMMA, START = np.diag([1.0, 4.0]), 0.12, 0.8, np.array([-3.0, 1.6])


def run(seed: int, fast: bool) -> dict[str, Any]:
    _, grad, _ = quadratic(A)
    shared = Momentum(GAMMA)
    x, velocity = START, shared.start(START)
    for _ in range(3):  # gather some velocity
        velocity, step = shared.update(velocity, grad(x), x, RATE)
        x = x + step
    vectors = {}
    for rule in (Momentum(GAMMA), Nesterov(GAMMA)):
        point = rule.point(velocity, x)
        gradient = grad(point)
        vectors[type(rule).__name__] = {
            "point": point,
            "jump": -GAMMA * velocity.velocity,
            "correction": -RATE * gradient,
            "step": rule.update(velocity, gradient, x, RATE)[1],
        }
    pulls = np.linspace(0.01, 4.2, 60 if fast else 300)
    maps = {
        "momentum": momentum_matrix,
        "Nesterov": nesterov_matrix,
        "wrong sign": lambda p, c, g: nesterov_matrix(p, c, g, sign=1.0),
    }
    radii = {name: np.array([spectral_radius(make(p, 1.0, 0.9)) for p in pulls]) for name, make in maps.items()}
    return {"x": x, "vectors": vectors, "pulls": pulls, "radii": radii, "paths": {n: _path(n) for n in vectors}}


def _path(name: str, steps: int = 25) -> np.ndarray:
    _, grad, _ = quadratic(A)
    rule = Momentum(GAMMA) if name == "Momentum" else Nesterov(GAMMA)
    x, state, path = START, rule.start(START), [START]
    for _ in range(steps):
        state, step = rule.update(state, grad(rule.point(state, x)), x, RATE)
        x = x + step
        path.append(x)
    return np.array(path)


def check(data: dict[str, Any]) -> Verdict:
    gaps = [v["jump"] + v["correction"] - v["step"] for v in data["vectors"].values()]
    apart = np.linalg.norm(data["vectors"]["Nesterov"]["point"] - data["vectors"]["Momentum"]["point"])
    overshoot = {name: float(path[:, 0].max()) for name, path in data["paths"].items()}
    stable = data["pulls"][data["radii"]["Nesterov"] < 1].max()
    return every(
        vectors_add_up=near(gaps, np.zeros((2, 2)), tolerance=1e-12),
        gradients_at_different_points=above(float(apart), 0.1),
        overshoots_less=below(overshoot["Nesterov"], overshoot["Momentum"]),
        limit=near(stable, rate_limit("nesterov", 1.0, 0.9), tolerance=0.08),
        wrong_sign_diverges=above(float(data["radii"]["wrong sign"][data["pulls"] > 0.2].min()), 1.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 4.8)
    axes = figure.subplots(1, 3)
    a, b = np.meshgrid(np.linspace(-3.4, 1.8, 100), np.linspace(-2.6, 2.0, 100))
    z = 0.5 * (A[0, 0] * a**2 + A[1, 1] * b**2)
    for axis, (name, v) in zip(axes, data["vectors"].items()):
        axis.contour(a, b, z, levels=16, cmap="Greys", linewidths=0.7)
        axis.plot(*data["paths"][name].T, ".-", color="silver", lw=1)
        _arrow(axis, data["x"], v["jump"], "C0", r"jump $-\gamma v$")
        _arrow(axis, v["point"], v["correction"], "C3", r"correction $-\eta\nabla f$")
        if name == "Momentum":
            _arrow(axis, data["x"] + v["jump"], v["correction"], "mistyrose", "correction, moved")
        _arrow(axis, data["x"], v["step"], "C2", "actual step")
        axis.plot(*data["x"], "ko", ms=5)
        axis.set(title=f"{name}: gradient at the red arrow's foot", xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
        axis.set(xlim=(-3.2, 0.9), ylim=(-2.3, 1.8))
        axis.legend(loc="upper right", fontsize=8)
    for name, radius in data["radii"].items():
        axes[2].plot(data["pulls"], radius, lw=2, label=name)
    axes[2].axhline(1, color="gray", lw=0.8)
    axes[2].set(title=r"contraction per step, $\gamma = 0.9$", xlabel=r"$\eta\lambda$", ylabel="spectral radius")
    axes[2].set(ylim=(0, 1.8))
    axes[2].legend()


def _arrow(axis: Any, foot: np.ndarray, vector: np.ndarray, color: str, label: str) -> None:
    axis.quiver(*foot, *vector, color=color, angles="xy", scale_units="xy", scale=1, width=0.009, label=label, zorder=4)
