r"""Quadratic forms by definiteness, and the solvers that need it.

:math:`f(x) = \tfrac12 x^\top A x - b^\top x` is a bowl, a dome, a valley or a saddle by the signs of the eigenvalues of
A. Steepest descent and conjugate gradients reach the bottom of the bowl, the second in two steps, and report the
saddle. The last panel shows Newton's tangents for :math:`\sqrt 2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, corrected, equal, every, near
from margin.optimize import (
    OptimizationError,
    classify_quadratic,
    conjugate_gradient,
    follow,
    newton_root,
    steepest_descent,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = {
    "a": np.array([[3.0, 1.4], [1.4, 1.0]]),
    "b": -np.array([[3.0, 1.4], [1.4, 1.0]]),
    "c": np.array([[1.0, 1.0], [1.0, 1.0]]),
    "d": np.diag([2.0, -2.0]),
}
B = np.array([1.0, 1.0])
STARTS = {"a": np.array([1.5, -1.54]), "d": np.array([-2.5, -1.0])}


def run(seed: int, fast: bool) -> dict[str, Any]:
    size = 25 if fast else 60
    x, y = np.meshgrid(np.linspace(-3, 3, size), np.linspace(-3, 3, size))
    grid = np.stack([x, y])
    data: dict[str, Any] = {"x": x, "y": y, "forms": {}, "tangents": []}
    for name, A in FORMS.items():
        surface = 0.5 * np.einsum("iab,ij,jab->ab", grid, A, grid) - np.einsum("i,iab->ab", B, grid)
        outcomes = {
            s.__name__: _solve(s, A, STARTS.get(name, np.zeros(2))) for s in (steepest_descent, conjugate_gradient)
        }
        data["forms"][name] = {"surface": surface, "kind": classify_quadratic(A), "solvers": outcomes}
    data["tangents"] = [
        (r["x"], r["value"], r["slope"]) for r in newton_root(lambda t: t * t - 2, lambda t: 2 * t, 3.0)
    ]
    return data


def _solve(solver: Any, A: np.ndarray, start: np.ndarray) -> dict[str, Any]:
    try:
        result = follow(solver(A, B, start))
    except OptimizationError as error:
        return {"path": np.stack([start, error.x]), "message": str(error), "ok": False}
    return {"path": result.path, "message": result.message, "ok": result.converged}


def check(data: dict[str, Any]) -> Verdict:
    forms = data["forms"]
    bowl, saddle = forms["a"]["solvers"], forms["d"]["solvers"]
    solution = np.linalg.solve(FORMS["a"], B)
    valley = forms["c"]["kind"]
    return corrected(
        every(
            kinds=equal(
                [form["kind"] for form in forms.values()],
                ["positive definite", "negative definite", "positive semidefinite", "indefinite"],
            ),
            steepest=near(bowl["steepest_descent"]["path"][-1], solution, tolerance=1e-7),
            conjugate=near(bowl["conjugate_gradient"]["path"][2], solution, tolerance=1e-10),
            saddle_is_reported=equal(["not positive" in run["message"] for run in saddle.values()], [True, True]),
            root=near(data["tangents"][-1][0], np.sqrt(2), tolerance=1e-12),
            tangents=below(len(data["tangents"]) - 1, 7),
        ),
        printed=equal("indefinite" in valley.replace("semidefinite", ""), True),  # panel (c) as labelled
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 7.4)
    grid = figure.add_gridspec(2, 12)
    for i, (name, form) in enumerate(data["forms"].items()):
        axis = figure.add_subplot(grid[0, 3 * i : 3 * i + 3], projection="3d")
        axis.plot_surface(data["x"], data["y"], form["surface"], cmap="coolwarm", lw=0, alpha=0.95)
        axis.set(title=f"({name}) {form['kind']}", xlabel="$x_1$", ylabel="$x_2$")
    for i, name in enumerate("ad"):
        axis = figure.add_subplot(grid[1, 4 * i : 4 * i + 4])
        form = data["forms"][name]
        axis.contour(data["x"], data["y"], form["surface"], levels=24, cmap="coolwarm", linewidths=0.8)
        for (solver, run_), style in zip(form["solvers"].items(), ("o-", "s--")):
            label = solver.replace("_", " ") + ("" if run_["ok"] else ": stops, no minimum")
            axis.plot(*run_["path"].T, style, ms=4, lw=1.4, label=label)
        axis.set(title=f"solvers on ({name})", xlabel="$x_1$", ylabel="$x_2$", xlim=(-3, 3), ylim=(-3, 3))
        axis.legend(fontsize=8, loc="lower right")
    axis = figure.add_subplot(grid[1, 8:])
    t = np.linspace(1.0, 3.2, 100)
    axis.plot(t, t**2 - 2, color="black", label="$x^2 - 2$")
    for x, value, slope in data["tangents"][:4]:
        axis.plot([x, x - value / slope], [value, 0], "o-", ms=4, lw=1.2)
    axis.axhline(0, color="gray", lw=0.7)
    axis.set(title=r"Newton's tangents find $\sqrt{2}$", xlabel="$x$", ylabel="$f$")
    axis.legend()
