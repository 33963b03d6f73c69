"""The rows of the board of generative models: those with a density by their density, the others by their samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from margin.service.comparison.generative.measuring import Measured

__all__ = ["GeneratorStanding", "standings"]

NAN = float("nan")
WIDTH = 1.96  # standard errors to both sides of a mean, 95 % of a normal distribution


@dataclass(frozen=True)
class GeneratorStanding:
    """One model. ``status`` is "ranked", "reference", "failed", "cut" or "left out"; a number it lacks is NaN.

    ``log_density_kind`` says whether ``log_density`` is "exact", a lower "bound", or "none". ``low`` and ``high`` are
    its 95 % interval over held-out rows, ``tied`` is whether the best model is not better beyond that of the
    difference, row by row, and ``impossible`` the fraction of held-out rows that have density 0. ``ended`` says how
    far a fit came that was ended when its time was up.
    """

    model: str
    status: str
    log_density_kind: str = "none"
    log_density: float = NAN
    low: float = NAN
    high: float = NAN
    tied: bool = False
    impossible: float = 0.0
    measures: Mapping[str, float] = field(default_factory=dict)
    is_memorizing: bool = False
    fit_seconds: float = NAN
    sample_seconds: float = NAN
    error: str = ""
    settings: str = ""
    ended: str = ""


def standings(
    measured: Sequence[Measured], left_out: Mapping[str, str], cut: Mapping[str, str], reference: str
) -> list[GeneratorStanding]:
    """Best first: by held-out log-density, then those without one by the two-sample test, then what failed."""
    made = [m for m in measured if not m.error]
    dense = sorted((m for m in made if m.log_densities), key=lambda m: (-np.mean(m.log_densities), m.model))
    samplers = [m for m in made if not m.log_densities and m.model != reference]
    samplers.sort(key=lambda m: (abs((m.measures or {})["neighbor_accuracy"] - 0.5), m.model))
    best = dense[0] if dense else None
    return [
        *(_standing(m, "ranked", best) for m in [*dense, *samplers]),
        *(_standing(m, "reference", best) for m in made if m.model == reference),
        *(GeneratorStanding(m.model, "failed", error=m.error, settings=m.settings) for m in measured if m.error),
        *(GeneratorStanding(model, "cut", error=reason) for model, reason in cut.items()),
        *(GeneratorStanding(model, "left out", error=reason) for model, reason in left_out.items()),
    ]


def _standing(m: Measured, status: str, best: Measured | None) -> GeneratorStanding:
    logs = np.array(m.log_densities)
    mean, low, high = _interval(logs)
    return GeneratorStanding(
        m.model,
        status,
        m.log_density_kind,
        mean,
        low,
        high,
        best is not None and m is not best and len(logs) > 0 and _interval(np.array(best.log_densities) - logs)[1] <= 0,
        float(np.isneginf(logs).mean()) if len(logs) else 0.0,
        dict(m.measures or {}),
        m.is_memorizing,
        m.fit_seconds,
        m.sample_seconds,
        "",
        m.settings,
        m.ended,
    )


def _interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean and its 95 % interval; a row of density 0 makes the mean minus infinity, which has none."""
    if not len(values):
        return NAN, NAN, NAN
    if not np.isfinite(values).all():
        return float(values.mean()), NAN, NAN
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, mean - WIDTH * error, mean + WIDTH * error
