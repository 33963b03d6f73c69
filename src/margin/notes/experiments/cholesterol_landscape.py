r"""Cholesterol landscape: the squared error of the patient data over two slopes.

With the intercept held at 25.68 the sum
:math:`S(\theta_1, \theta_2) = \sum_i (y_i - 25.68 - \theta_1 x_{i,1} - \theta_2 x_{i,2})^2` is a long bowl with its
minimum at (0.94, 5.79). With the first patient's features in every term, as printed, a line of minima lies elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, corrected, every, near
from margin.optimize import gradient_descent, minimize
from margin.optimize.problems import least_squares
from margin.optimize.steps import follow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Age in years, BMI in kg/m^2, cholesterol in mg/dL: the five training patients.
PATIENTS = np.array([[25, 22.5, 180], [35, 26.5, 210], [45, 29.5, 240], [55, 31.5, 260], [65, 33.5, 280]])
INTERCEPT = 25.68
WINDOW = (-1.0, 3.0, 3.5, 8.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    X, y = PATIENTS[:, :2], PATIENTS[:, 2] - INTERCEPT
    size = 60 if fast else 200
    a, b = np.meshgrid(np.linspace(*WINDOW[:2], size), np.linspace(*WINDOW[2:], size))
    grid = np.stack([a.ravel(), b.ravel()])
    as_meant = np.sum((X @ grid - y[:, None]) ** 2, axis=0)
    first_only = np.tile(X[0], (5, 1))  # x_{1,1} and x_{1,2} in every term
    as_printed = np.sum((first_only @ grid - y[:, None]) ** 2, axis=0)
    problem, printed = least_squares(X, y), least_squares(first_only, y)
    best = minimize(problem.value, [0.0, 4.0], method="bfgs", grad=problem.gradient, tol=1e-8)
    curvature = float(np.linalg.eigvalsh(2 * X.T @ X / 5)[-1])
    steps = gradient_descent(problem.value, problem.gradient, [-0.6, 7.6], learning_rate=1.8 / curvature, max_iter=400)
    return {
        "a": a,
        "b": b,
        "surface": as_meant.reshape(a.shape),
        "printed": as_printed.reshape(a.shape),
        "minimum": best.x,
        "path": follow(steps).path,
        "slope_as_printed": float(np.linalg.norm(printed.gradient(best.x))),
        "all_three": np.linalg.lstsq(np.column_stack([np.ones(5), X]), PATIENTS[:, 2])[0],
    }


def check(data: dict[str, Any]) -> Verdict:
    lowest = np.unravel_index(np.argmin(data["surface"]), data["surface"].shape)
    return corrected(
        every(
            minimum=near(data["minimum"], [0.94, 5.79], tolerance=0.005),
            on_the_grid=near([data["a"][lowest], data["b"][lowest]], [0.94, 5.79], tolerance=0.2),
            least_squares=near(data["all_three"], [25.684211, 0.936842, 5.789474], tolerance=1e-6),
        ),
        printed=near(data["slope_as_printed"], 0.0, tolerance=1.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.8)
    surface = figure.add_subplot(1, 3, 1, projection="3d")
    surface.plot_surface(data["a"], data["b"], np.log10(data["surface"]), cmap="viridis", alpha=0.9, lw=0)
    surface.set(title=r"$\log_{10} S$", xlabel=r"$\theta_1$ (age)", ylabel=r"$\theta_2$ (BMI)")
    for i, (key, title) in enumerate(
        (("surface", "sum over all patients"), ("printed", "first patient in every term"))
    ):
        axis = figure.add_subplot(1, 3, 2 + i)
        filled = axis.contourf(data["a"], data["b"], np.log10(data[key]), levels=20, cmap="viridis")
        figure.colorbar(filled, ax=axis, label=r"$\log_{10}$ squared error")
        axis.plot(*data["minimum"], "*", color="C3", mec="white", ms=14, label="(0.94, 5.79)")
        axis.set(title=title, xlabel=r"$\theta_1$ (age)", xlim=WINDOW[:2], ylim=WINDOW[2:])
        if key == "surface":
            axis.plot(*data["path"].T, "w.-", ms=3, lw=0.8, label="gradient descent")
            axis.set_ylabel(r"$\theta_2$ (BMI)")
        axis.legend(loc="upper right")
    figure.suptitle("Squared error of cholesterol with the intercept fixed at 25.68")
