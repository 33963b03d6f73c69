"""Measured: the stored benchmark results as one page of charts, losses first.

A case is compared with its fastest peer (``benchmarks/measuring/cases.py``).
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

from benchmarks.measuring.cases import FAMILIES, Case, cases_of, median_ratio, stored_families
from benchmarks.measuring.evidence import Finding, missed_goals, stored_runs
from docs.generators.growth import growth_charts
from docs.generators.rst import bullets, details, escape, heading, toctree, write

__all__ = ["write_measured"]

LONGEST = 100  # letters of what was measured where a goal was missed; the whole stands below, with its run
WIDEST = 100.0  # ratio at which a bar ends; what is beyond says so by its number


def write_measured(folder: Path, results: Path) -> int:
    """Write the page of charts; the number of cases on it."""
    families = stored_families(results)
    cases = {name: cases_of(result) for name, result in families.items()}
    whole = results / "full_scale"
    write(folder / "index.rst", page(families, cases, growth_charts(whole), stored_runs(whole)))
    return sum(map(len, cases.values()))


def page(
    families: dict[str, dict[str, Any]], cases: dict[str, list[Case]], growth: str, runs: Sequence[dict[str, Any]]
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
    text += _missed(runs)
    for name in cases:
        state = families[name]["conditions"]
        text += heading(FAMILIES.get(name, name), "-")
        text += f"{state['threads']} thread(s), {state['processor']}. Median ratio {median_ratio(cases[name]):.1f}.\n\n"
        text += chart(cases[name])
    if growth:
        text += heading("Tables larger than memory", "-") + growth
    return text + _runs(runs) + toctree(["/benchmarks"])


def chart(cases: Iterable[Case]) -> str:
    rows = "".join(f"   {_row(case)}\n" for case in cases)
    return f'.. raw:: html\n\n   <table class="ratios">\n{rows}   </table>\n\n'


def _row(case: Case) -> str:
    length = 50 * min(abs(math.log(case.ratio)) / math.log(WIDEST), 1.0)
    kind = "win" if case.ratio >= 1 else "loss"
    task, quality, size, peer = (html.escape(text) for text in (case.task, case.quality, case.size, case.peer))
    beside = f"<small>{quality}</small>" if quality else ""
    return (
        f'<tr><td>{task}{beside}</td><td class="size">{size}</td><td class="peer">{peer}</td>'
        + f'<td class="bar"><span class="track {kind}"><span style="width:{length:.1f}%"></span></span></td>'
        + f'<td class="number">{case.ratio:.2f}×</td></tr>'
    )


def _missed(runs: Sequence[dict[str, Any]]) -> str:
    """Goals that were set for full-scale runs and not reached."""
    lines = [
        f"**{escape(title)}**: {escape(item.what)}. "
        f"Measured {escape(shorten(item.measured, LONGEST))}; goal {escape(item.goal)}."
        for title, item in missed_goals(runs)
    ]
    return heading("Missed goals", "-") + bullets(lines) if lines else ""


def _runs(runs: Sequence[dict[str, Any]]) -> str:
    """Every full-scale run with its findings; those that missed a goal are counted."""
    text = heading("Full-scale runs", "-")
    text += "Whole trainings and studies on public data, with what was expected and what came out.\n\n"
    for run in runs:
        findings = [Finding(**finding) for finding in run["findings"]]
        rows = "".join(_finding(finding) for finding in findings)
        missed = sum(finding.reached is False for finding in findings)
        goals = sum(finding.reached is not None for finding in findings)
        tally = f"{goals - missed} of {goals} goals reached" if goals else f"{len(findings)} findings"
        table = f'.. raw:: html\n\n   <table class="findings">{rows}</table>'
        body = f"{escape(run['protocol'])} ``{run['command']}``\n\n{table}"
        text += details(f"{html.escape(run['title'])} <small>{tally}</small>", body, "run")
    return text


def _finding(finding: Finding) -> str:
    word = {True: "reached", False: "missed", None: ""}[finding.reached]
    goal = f"<small>goal: {html.escape(finding.goal)}</small>" if finding.goal else ""
    return (
        f"<tr><td>{html.escape(finding.what)}{goal}</td><td>{html.escape(finding.measured)}</td>"
        f'<td class="{word}">{word}</td></tr>'
    )
