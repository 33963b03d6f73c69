r"""A network solves Burgers' equation

:math:`u_t + u u_x = \nu u_{xx}` from :math:`u(0, x) = -\sin \pi x` with fixed ends. The network sees values only at the
start and at the ends; inside there is nothing but the equation. A quick run takes ten times the viscosity of the notes,
which leaves the front wide enough for few points.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLICES = (0.25, 0.5, 0.75)
ERROR = 0.05  # relative to the exact solution


def run(seed: int, fast: bool) -> dict[str, Any]:
    from scipy.stats.qmc import LatinHypercube

    from margin.physics.burgers import VISCOSITY, burgers_exact, burgers_residual
    from margin.physics.pinn import PINN, Condition

    viscosity = 10 * VISCOSITY if fast else VISCOSITY
    rng = np.random.default_rng(seed)
    n_conditions, n_inside = (40, 250) if fast else (100, 5000)
    x = rng.uniform(-1, 1, n_conditions)
    t, end = rng.random(n_conditions), rng.choice([-1.0, 1.0], n_conditions)
    known = np.concatenate([np.stack([0 * x, x], axis=1), np.stack([t, end], axis=1)])
    values = np.concatenate([-np.sin(math.pi * x), 0 * t])
    inside = LatinHypercube(2, rng=rng).random(n_inside) * [1, 2] - [0, 1]  # as even as few points can be
    model = PINN(
        lambda u, p: burgers_residual(u, p, viscosity),
        Condition(known, values),
        hidden_layer_sizes=(16, 16) if fast else (20,) * 8,
        condition_weight=10.0,
        max_iter=60 if fast else 10_000,
        solver="levenberg-marquardt" if fast else "lbfgs",  # few weights: its steps cost more and are worth far more
        random_state=seed,
    ).fit(inside)
    times, positions = np.linspace(0.02, 1, 50), np.linspace(-1, 1, 101)
    T, X = np.meshgrid(times, positions, indexing="ij")
    predicted = model.predict(np.stack([T.ravel(), X.ravel()], axis=1)).reshape(T.shape)
    exact = burgers_exact(T, X, viscosity)
    return {
        "t": times, "x": positions, "u": predicted, "exact": exact, "known": known,
        "error": float(np.linalg.norm(predicted - exact) / np.linalg.norm(exact)),
        "condition_loss": model.condition_loss_, "residual_loss": model.residual_loss_,
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    return every(
        error=below(data["error"], ERROR),
        conditions=below(data["condition_loss"], 1e-2),
        residual=below(data["residual_loss"], 1e-1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    halves: Any = figure.subfigures(2, 1)
    top, bottom = halves
    ax = top.subplots()
    mesh = ax.pcolormesh(data["t"], data["x"], data["u"].T, cmap="RdBu", shading="auto")
    ax.plot(*data["known"].T, "kx", markersize=3, label="start and ends")
    ax.set(xlabel="t", ylabel="x", title=f"u(t, x), error {data['error']:.1e}")
    ax.legend(loc="upper right")
    top.colorbar(mesh, ax=ax)
    for ax, t in zip(bottom.subplots(1, len(SLICES), sharey=True), SLICES):
        row = int(np.abs(data["t"] - t).argmin())
        ax.plot(data["x"], data["exact"][row], label="exact")
        ax.plot(data["x"], data["u"][row], "--", label="network")
        ax.set(title=f"t = {t}", xlabel="x")
    ax.legend()
