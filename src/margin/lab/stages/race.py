"""Optimizers racing down one landscape: the landscape stage, played like a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.core.domains import Choice, Integer, Number, Sequence
from margin.core.parameters import parameter
from margin.core.parts import Part
from margin.core.records import Record
from margin.lab.stages.panels import Panel, bars, chart, grid, pack, round_values
from margin.optimize.methods import METHODS

__all__ = ["OptimizerRace", "race"]

#: Learning rates at which each method neither stands still nor leaves the landscapes; tempo multiplies them.
RATES = {
    **{"gradient_descent": 1e-3, "momentum": 1e-3, "nesterov": 1e-3, "adagrad": 0.3, "rmsprop": 0.02, "adam": 0.05},
    **{"adamax": 0.05, "nadam": 0.05, "amsgrad": 0.05, "lion": 0.02},
}
UNRATED = ("newton", "damped_newton", "trust_region", "bfgs", "lbfgs", "nonlinear_cg")
SIDE, LEVELS = 64, 14


class OptimizerRace(Part):
    """Every method from the same start; one record per step, with the height at which each of them is."""

    methods: tuple[str, ...] = parameter(
        ("gradient_descent", "momentum", "adam", "lbfgs"),
        Sequence(Choice(*RATES, *UNRATED), min_length=1),
        "Who takes part.",
    )
    _: KW_ONLY
    tempo: float = parameter(1.0, Number(above=0, high=100), "Factor of the learning rates.")
    max_iter: int = parameter(300, Integer(low=1, high=5000), "Steps of the race.")

    def _check_parameters(self) -> None:
        self.check()

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Race on the landscape ``X``; ``state`` goes on where it was taken, as steps without chance can."""
        runs = {name: self._run(name, X) for name in self.methods}
        self.paths_: dict[str, list[list[float]]] = {name: [] for name in runs}
        for step in range(1, self.max_iter + 1):
            heights = {name: self._advance(name, run) for name, run in runs.items()}
            self._step = step
            if state is None or step > state["step"]:
                yield Record(step, {name: h for name, h in heights.items() if np.isfinite(h)}, total=self.max_iter)

    def get_state(self) -> dict[str, Any]:
        return {"step": self._step}

    def _run(self, name: str, landscape: Any) -> Iterator[Any]:
        rated = {"learning_rate": self.tempo * RATES[name]} if name in RATES else {}
        curved = {"hess": landscape.hess} if name in ("newton", "damped_newton", "trust_region") else {}
        return METHODS[name](
            landscape.f, landscape.grad, np.array(landscape.start), max_iter=self.max_iter, **rated, **curved
        )

    def _advance(self, name: str, run: Iterator[Any]) -> float:
        """One step of one method; one that has arrived, or was thrown off, stays where it is."""
        try:
            record = next(run)
        except (StopIteration, ArithmeticError, ValueError, RuntimeError):
            self.paths_[name].append(self.paths_[name][-1])
            return self._height.get(name, np.nan) if hasattr(self, "_height") else np.nan
        self.paths_[name].append([float(v) for v in np.clip(record.x, -1e3, 1e3)])
        self.__dict__.setdefault("_height", {})[name] = float(record.value)
        return float(record.value)


def race(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:  # noqa: ARG001 (every view is called alike)
    """The landscape with lines of equal height on a logarithmic scale, and the path of everyone on it."""
    window = list(X.window)
    heights = np.asarray(X.f(grid(window, SIDE).T), dtype=float).reshape(SIDE, SIDE)
    scaled = np.log1p(heights - heights.min())
    depth = 1 - scaled / scaled.max()
    lines = [{"xy": round_values(path), "color": k, "head": True} for k, path in enumerate(model.paths_.values())]
    surface = {"heat": pack(np.round(255 * depth).astype(np.uint8)), "tone": "gray"}
    levels = {"values": pack(depth), "levels": round_values(np.arange(1, LEVELS) / LEVELS), "thin": True}
    above = {n: float(X.f(np.array(path[-1]))) - float(X.f(np.array(X.minima[0]))) for n, path in model.paths_.items()}
    left = [(name.replace("_", " "), max(height, 0.0)) for name, height in above.items()]
    goal = [[*round_values(minimum), "minimum", -1] for minimum in X.minima]
    return [
        chart(
            window,
            axes=["x1", "x2"],
            square=True,
            surface=surface,
            contour=levels,
            lines=lines,
            labels=goal,
            classes=[n for n, _ in left],
        ),
        bars(left, "height above the minimum", colors=list(range(len(left)))),
    ]
