"""Fields: the solution of an equation with what the equation leaves of it, and the flow of an ordinary one."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.lab.stages.panels import Panel, chart, grid, pack, round_values, window_of

__all__ = ["flow", "solution"]

SIDE = 40


def solution(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The field as the network has it, and the residual of the equation."""
    window = [0.0, 1.0, 0.0, 1.0]
    cells = grid(window, SIDE)
    field = np.asarray(model.predict(cells)).reshape(SIDE, SIDE)
    left = np.abs(np.asarray(model.evaluate_residual(cells)).reshape(SIDE, SIDE, -1)[..., 0])
    worst = float(left.max())
    heat = np.round(255 * np.clip(field, 0, 1)).astype(np.uint8)
    rest = np.round(255 * np.clip(left / max(worst, 1e-3), 0, 1)).astype(np.uint8)
    points = {"xy": round_values(X), "faded": True}
    sides: dict[str, Any] = {"axes": ["x", "y"], "square": True, "equal": True}
    known, missing = {"heat": pack(heat), "scale": [0.0, 1.0]}, {"heat": pack(rest), "scale": [0.0, worst]}
    return [
        chart(window, "temperature", surface=known, **sides),
        chart(window, f"what the equation leaves, at most {worst:.3g}", surface=missing, points=points, **sides),
    ]


def flow(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Measured trajectories, those that the learned flow goes along, and its arrows over the plane."""
    window = window_of(X.reshape(-1, 2), 0.15)
    interval = 0.2
    times = interval * np.arange(X.shape[1])
    paths = np.asarray(model.predict(X[:, 0], times))
    lines = [{"xy": round_values(one), "color": k} for k, one in enumerate(paths)]
    cells = grid(window, 13)
    moved = np.asarray(model.predict(cells, np.array([0.0, 0.1])))[:, 1]
    arrows = np.column_stack([cells, cells + 2.0 * (moved - cells)])
    points = {"xy": round_values(X.reshape(-1, 2)), "faded": True}
    return [
        chart(
            window,
            "the learned flow",
            equal=True,
            axes=["x1", "x2"],
            square=True,
            lines=lines,
            arrows=round_values(arrows),
            thin=True,
            points=points,
        )
    ]
