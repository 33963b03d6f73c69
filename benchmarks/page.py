"""``python -m benchmarks.page > docs/benchmarks.md``: the stored results as one page, losses included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.measuring.evidence import section
from benchmarks.measuring.report import RESULTS

__all__ = ["render"]

HEAD = """# Measured against peers

Written from `benchmarks/results/` by `python -m benchmarks.page > docs/benchmarks.md`; `make bench FAMILY=...` measures
anew. Ours and every peer alternate in one process with the same number of threads, and the least of several rounds
counts (a peer that takes more than ten seconds is timed once). **Ratio = the peer's time divided by ours**: above 1
ours is faster. With one thread times are processor time, with more they are wall time. Quality stands beside time,
because a faster fit that is worse proves nothing.
"""


def render(folder: Path) -> str:
    """The page for all result files in ``folder``."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return HEAD + "".join(_section(result) for result in results) + section(folder / "full_scale")


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
