"""``python -m benchmarks.page > docs/benchmarks.md``: the stored results as one page, losses included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.cases import FAMILIES, cases_of, median_ratio, stored_families
from benchmarks.measuring.evidence import missed_goals, section, stored_runs
from benchmarks.measuring.report import RESULTS

__all__ = ["render"]

HEAD = """# Measured against peers

Written from `benchmarks/results/` by `python -m benchmarks.page > docs/benchmarks.md`; `make bench FAMILY=...` measures
anew. Ours and every peer alternate in one process with the same number of threads, and the least of several rounds
counts (a peer that takes more than ten seconds is timed once). **Ratio = the peer's time divided by ours**: above 1
ours is faster. With one thread times are processor time, with more they are wall time. Quality stands beside time,
because a faster fit that is worse proves nothing. The site has the same as charts.
"""
TABLES = """
# The long tables

Every case with every peer, quality and condition.
"""


def render(folder: Path) -> str:
    """The page for all result files in ``folder``."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    tables = "".join(_section(result) for result in results)
    return HEAD + summary(folder) + TABLES + tables + section(folder / "full_scale")


def summary(folder: Path) -> str:
    """What a reader wants first: where we are slower, which goals were missed, the middle of every family."""
    cases = {name: cases_of(result) for name, result in stored_families(folder).items()}
    slower = sorted(
        (case for family in cases.values() for case in family if case.ratio < 1), key=lambda case: case.ratio
    )
    text = (
        f"\n## Losses\n\n{len(slower)} of {sum(map(len, cases.values()))} cases are slower than their fastest peer.\n"
    )
    text += _table(
        "task | size | fastest peer | ratio | quality",
        [(case.task, case.size, case.peer, f"{case.ratio:.2f}", case.quality) for case in slower],
    )
    missed = missed_goals(stored_runs(folder / "full_scale"))
    text += f"\n## Missed goals\n\n{len(missed)} findings of the full-scale runs missed their goal.\n"
    text += _table(
        "run | what | measured | goal", [(title, item.what, item.measured, item.goal) for title, item in missed]
    )
    text += "\n## By family\n\nAgainst the fastest peer of each case.\n"
    rows = [
        (FAMILIES.get(name, name), str(len(family)), f"{median_ratio(family):.2f}", f"{family[0].ratio:.2f}")
        for name, family in cases.items()
        if family
    ]
    return text + _table("family | cases | median ratio | least ratio", rows)


def _table(head: str, rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows]
    return (
        "\n".join(["", f"| {head} |", "| " + " | ".join("---" for _ in head.split(" | ")) + " |", *lines, ""])
        if lines
        else ""
    )


def _section(result: dict[str, Any]) -> str:
    state = result["conditions"]
    versions = ", ".join(f"{name} {version}" for name, version in state["versions"].items() if name != "margin")
    lines = [
        f"\n## {result['family']}\n",
        f"{state['threads']} thread(s), {state['processor']}, load {state['load'][0]} at the start; {versions}.\n",
        "| task | size | who | ms | ratio | quality |",
        "| --- | --- | --- | ---: | ---: | --- |",
    ]
    clock = "cpu" if state["threads"] == 1 else "wall"
    for case in result["cases"]:
        for i, way in enumerate(case["ways"]):
            task, size = (case["case"], case["size"]) if i == 0 else ("", "")
            lines.append(f"| {task} | {size} | {way['who']} | {_cells(way, case['quality_name'], clock)} |")
    return "\n".join(lines) + "\n"


def _cells(way: dict[str, Any], quality_name: str, clock: str) -> str:
    if way["note"] or way[clock] is None:
        return f"| | {way['note'].replace('|', ' ')}"
    ratio = way.get(f"ratio_{clock}")
    quality = f"{quality_name} {way['quality']:.6g}" if way["quality"] is not None else ""
    remark = f", {way['remark']}" if way["remark"] else ""
    words = (quality + remark).replace("|", "&#124;")
    milliseconds = 1e3 * way[clock]
    shown = f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"
    return f"{shown} | {'' if ratio is None else f'{ratio:.2f}'} | {words}"


if __name__ == "__main__":
    print(render(RESULTS), end="")
