r"""Cholesterol from age and body-mass index: the plane of least squares and its residuals.

Five patients train the plane :math:`f(x) = \theta_0 + \theta_1 x_1 + \theta_2 x_2`,
:math:`\hat\theta = (X^\top X)^{-1} X^\top y = (25.68, 0.94, 5.79)`, and five test it. The mean squared error is 1.26 on
the first and 12.24 on the second: a model is always kinder to the rows that made it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near
from margin.data import load
from margin.linear import LinearRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THETA = [25.684211, 0.936842, 5.789474]
TRAIN, TEST, RESIDUAL = "C0", "C1", "0.4"


def run(seed: int, fast: bool) -> dict[str, Any]:
    patients = load("cholesterol")
    assert patients.split is not None
    assert patients.y is not None
    X, y = np.asarray(patients.X), patients.y
    train, test = patients.split
    model = LinearRegression().fit(X[train], y[train])
    predicted = model.predict(X)
    age, bmi = np.meshgrid(np.linspace(20, 75, 12), np.linspace(21, 36, 12))
    plane = model.predict(np.column_stack([age.ravel(), bmi.ravel()])).reshape(age.shape)
    return {
        "X": X,
        "y": y,
        "train": train,
        "test": test,
        "predicted": predicted,
        "theta": np.array([model.intercept_, *model.coef_]),
        "errors": [float(np.mean((y[rows] - predicted[rows]) ** 2)) for rows in (train, test)],
        "plane": (age, bmi, plane),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        theta=near(data["theta"], THETA, tolerance=1e-6),
        errors=near(np.round(data["errors"], 2), [1.26, 12.24], tolerance=1e-9),
        ratio=above(data["errors"][1] / data["errors"][0], 5.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 7.5)
    grid = figure.add_gridspec(2, 3, width_ratios=[1.5, 1, 1])
    _draw_plane(data, figure.add_subplot(grid[:, 0], projection="3d"))
    for column, name in enumerate(("age in years", "body-mass index in kg/m²")):
        _draw_feature(data, figure.add_subplot(grid[0, 1 + column]), column, name)
    for column, name in enumerate(("train", "test")):
        _draw_prediction(data, figure.add_subplot(grid[1, 1 + column]), name, data["errors"][column])
    a, b, c = data["theta"]
    figure.suptitle(f"cholesterol = {a:.2f} + {b:.2f} · age + {c:.2f} · BMI")


def _draw_plane(data: dict[str, Any], axes: Any) -> None:
    axes.plot_surface(*data["plane"], alpha=0.25, color="C2", linewidth=0)
    for rows, color, name in ((data["train"], TRAIN, "train"), (data["test"], TEST, "test")):
        axes.scatter(data["X"][rows, 0], data["X"][rows, 1], data["y"][rows], color=color, label=name, depthshade=False)
        for i in rows:
            age, bmi = data["X"][i]
            axes.plot([age, age], [bmi, bmi], [data["y"][i], data["predicted"][i]], color=color, linewidth=1.5)
    axes.set(xlabel="age", ylabel="BMI", zlabel="mg/dL", title="The plane and the residuals")
    axes.view_init(18, -62)
    axes.legend(loc="upper left")


def _draw_feature(data: dict[str, Any], axes: Any, column: int, name: str) -> None:
    for rows, color, label in ((data["train"], TRAIN, "train"), (data["test"], TEST, "test")):
        axes.scatter(data["X"][rows, column], data["y"][rows], color=color, label=label)
    axes.set(xlabel=name, ylabel="cholesterol", title=f"Cholesterol against {name.split(' in ')[0]}")
    axes.legend()


def _draw_prediction(data: dict[str, Any], axes: Any, name: str, error: float) -> None:
    rows, color = data[name], TRAIN if name == "train" else TEST
    ends = [170, 300]
    axes.plot(ends, ends, color=RESIDUAL, linestyle="--", linewidth=1, label="perfect")
    axes.vlines(data["y"][rows], data["y"][rows], data["predicted"][rows], color=RESIDUAL, linewidth=1)
    axes.scatter(data["y"][rows], data["predicted"][rows], color=color, label=name, zorder=3)
    axes.set(xlabel="true", ylabel="predicted", title=f"{name}: mean squared error {error:.2f}")
    axes.legend()
