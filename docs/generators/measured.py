"""Measured: the stored benchmark results as one page of charts, losses first.

A case is compared with its fastest peer; cases without a timed peer stand in the long tables only.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.generators.growth import growth_charts
from docs.generators.rst import heading, toctree, write

__all__ = ["Case", "cases_of", "write_measured"]

WIDEST = 100.0  # ratio at which a bar ends; what is beyond says so by its number
FAMILIES = {
    "overview": "At a glance",
    "bayes": "Naive Bayes and discriminants",
    "gaussian_process": "Gaussian processes",
    "generative": "Generative models",
    "graphical": "Graphical models",
    "kernels": "Kernel methods",
    "linear": "Linear models",
    "neighbors": "Neighbors",
    "neural": "Neural networks",
    "neural_ode": "Neural differential equations",
    "reduction": "Dimension reduction",
    "small": "Small tables",
    "text": "Text",
    "trees": "Trees, forests and boosting",
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


def write_measured(folder: Path, results: Path) -> int:
    """Write the page of charts; the number of cases on it."""
    families = {}
    for path in sorted(results.glob("*.json")):
        if not path.stem.endswith("-avx2"):  # the same cases on an older processor: in the long tables
            families[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    cases = {name: cases_of(result) for name, result in families.items()}
    whole = results / "full_scale"
    write(folder / "index.rst", page(families, cases, growth_charts(whole), sorted(whole.glob("*.json"))))
    return sum(map(len, cases.values()))


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


def page(
    families: dict[str, dict[str, Any]], cases: dict[str, list[Case]], growth: str, full_scale: Iterable[Path]
) -> str:
    every = [case for family in cases.values() for case in family]
    slower = sorted((case for case in every if case.ratio < 1), key=lambda case: case.ratio)
    text = heading("Measured")
    text += (
        "Ours and its peers alternate in one process with the same number of threads; the least of several rounds "
        "counts. A bar to the right says how many times faster than the *fastest* peer of that task we are, a bar to "
        "the left how many times slower, on a logarithmic scale that ends at 100. Below a task stands the quality of "
        "both; the :doc:`long tables </benchmarks>` have every peer, version and condition. "
        "``make bench FAMILY=trees`` measures anew.\n\n"
    )
    text += f"{len(every)} cases, {len(slower)} of them slower than the fastest peer.\n\n"
    text += heading("Losses", "-") + (chart(slower) if slower else "None in the stored results.\n\n")
    for name in sorted(cases, key=lambda name: list(FAMILIES).index(name) if name in FAMILIES else len(FAMILIES)):
        state = families[name]["conditions"]
        text += heading(FAMILIES.get(name, name), "-")
        text += f"{state['threads']} thread(s), {state['processor']}. Median ratio {_median(cases[name]):.1f}.\n\n"
        text += chart(cases[name])
    if growth:
        text += heading("Tables larger than memory", "-") + growth
    text += heading("Full-scale runs", "-")
    text += "Whole trainings on public data, with what was expected and what came out: :doc:`/benchmarks`.\n\n"
    text += "".join(f"* {_title(path)}\n" for path in full_scale) + "\n"
    return text + toctree(["/benchmarks"])


def chart(cases: Iterable[Case]) -> str:
    rows = "".join(f"   {_row(case)}\n" for case in cases)
    return f'.. raw:: html\n\n   <table class="ratios">\n{rows}   </table>\n\n'


def _row(case: Case) -> str:
    length = 50 * min(abs(math.log(case.ratio)) / math.log(WIDEST), 1.0)
    kind = "win" if case.ratio >= 1 else "loss"
    task, quality, size, peer = (html.escape(text) for text in (case.task, case.quality, case.size, case.peer))
    beside = f"<small>{quality}</small>" if quality else ""
    return (
        f'<tr><td>{task}{beside}</td><td class="size">{size}</td><td>{peer}</td>'
        + f'<td class="bar"><span class="track {kind}"><span style="width:{length:.1f}%"></span></span></td>'
        + f'<td class="number">{case.ratio:.2f}×</td></tr>'
    )


def _median(cases: list[Case]) -> float:
    ratios = sorted(case.ratio for case in cases)
    middle = len(ratios) // 2
    return ratios[middle] if len(ratios) % 2 else math.sqrt(ratios[middle - 1] * ratios[middle])


def _title(path: Path) -> str:
    return str(json.loads(path.read_text(encoding="utf-8"))["title"])
