"""A stored result as cases: a task at one size, ours against the fastest peer, the worst first.

The site's charts and the head of the long tables are made from them; without a timed peer a case stands in the tables
only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FAMILIES", "Case", "cases_of", "median_ratio", "stored_families"]

FAMILIES = {
    "overview": "At a glance",
    "bayes": "Naive Bayes and discriminants",
    "gaussian_process": "Gaussian processes",
    "generative": "Generative models",
    "graphical": "Graphical models",
    "kernels": "Kernel methods",
    "linear": "Linear models",
    "neighbors": "Neighbors",
    "networks": "Networks on pictures",
    "neural": "Neural networks",
    "neural_ode": "Neural differential equations",
    "reduction": "Dimension reduction",
    "small": "Small tables",
    "text": "Text",
    "trees": "Trees, forests and boosting",
    "untuned": "Tables on which nothing was tuned",
}


@dataclass(frozen=True)
class Case:
    """One task at one size: the fastest peer, and its time divided by ours."""

    task: str
    size: str
    peer: str
    ratio: float
    ours: float
    quality: str


def stored_families(results: Path) -> dict[str, dict[str, Any]]:
    """Stored results by family, in the order of the titles; those of older processors are left out."""
    found = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(results.glob("*.json"))
        if not path.stem.endswith("-avx2")  # the same cases once more: in the long tables
    }
    order = list(FAMILIES)
    return dict(sorted(found.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def cases_of(result: dict[str, Any]) -> list[Case]:
    """The cases of a family against their fastest peer, the worst first."""
    clock = "cpu" if result["conditions"]["threads"] == 1 else "wall"
    found = []
    for case in result["cases"]:
        ours, *peers = case["ways"]
        # Other forms of our own ("margin, dual") are no peers.
        timed = [way for way in peers if way.get(f"ratio_{clock}") and not way["who"].startswith("margin")]
        if not timed or not ours[clock]:
            continue
        best = min(timed, key=lambda way: way[f"ratio_{clock}"])
        quality = "" if ours["quality"] is None or best["quality"] is None else _qualities(case, ours, best)
        found.append(Case(case["case"], case["size"], best["who"], best[f"ratio_{clock}"], ours[clock], quality))
    return sorted(found, key=lambda case: case.ratio)


def _qualities(case: dict[str, Any], ours: dict[str, Any], best: dict[str, Any]) -> str:
    return f"{case['quality_name']}: {ours['quality']:.4g}, {best['who']} {best['quality']:.4g}"


def median_ratio(cases: Sequence[Case]) -> float:
    ratios = sorted(case.ratio for case in cases)
    middle = len(ratios) // 2
    return ratios[middle] if len(ratios) % 2 else math.sqrt(ratios[middle - 1] * ratios[middle])
