"""A full-scale study: many runs that take minutes each, stored one by one, so that a study that was ended goes on.

Every finished run is a row in ``benchmarks/results/full_scale/<name>.json``, and the findings are drawn from the rows
that are there. A second call measures what is missing; ``again=True`` forgets what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import FULL_SCALE, Finding, save_findings

__all__ = ["Row", "Study", "interval", "percent", "run"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """What is asked, how it is measured, and what the rows say: ``conclude(rows)`` must take any number of rows."""

    name: str
    title: str
    protocol: str
    command: str
    conclude: Callable[[Sequence[Row]], list[Finding]]


def run(study: Study, cases: Iterable[Row], measure: Callable[..., Row], *, again: bool = False) -> list[Row]:
    """Measure every case that has no row yet; a row is the case and what ``measure(**case)`` found."""
    rows = [] if again else _stored(study.name)
    for case in cases:
        if any(case.items() <= row.items() for row in rows):
            continue
        rows.append(case | measure(**case))
        print(json.dumps(rows[-1]), flush=True)
        _save(study, rows)
    _save(study, rows)  # the conclusions may have changed since the rows were measured
    for finding in study.conclude(rows):
        print(f"{finding.what}: {finding.measured} (goal: {finding.goal or 'none'}, reached: {finding.reached})")
    return rows


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval by Student's t; infinite for a single value."""
    from scipy.stats import t

    n = len(values)
    half = t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.inf
    return float(np.mean(values)), float(half)


def percent(values: Sequence[float]) -> str:
    """Mean of fractions in percent, its interval and the number of seeds."""
    mean, half = interval(values)
    return f"{100 * mean:.2f} ± {100 * half:.2f} % ({len(values)} seeds)" if len(values) > 1 else f"{100 * mean:.2f} %"


def _stored(name: str) -> list[Row]:
    path = FULL_SCALE / f"{name}.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["raw"]) if path.exists() else []


def _save(study: Study, rows: list[Row]) -> None:
    save_findings(
        study.name,
        study.title,
        protocol=study.protocol,
        command=study.command,
        findings=study.conclude(rows),
        raw=rows,
    )
