"""Results of full-scale runs: what was asked, what was measured, by which protocol and command, reached or missed.

A run that is no race between libraries (a published number, an ordering, a quality over seeds) is stored as one file in
``benchmarks/results/full_scale/`` and printed on the page of the benchmarks, misses included.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring.report import RESULTS, conditions

__all__ = ["FULL_SCALE", "Finding", "missed_goals", "save_findings", "section", "stored_runs"]

FULL_SCALE = RESULTS / "full_scale"


@dataclass(frozen=True)
class Finding:
    """One quantity: ``measured`` and ``goal`` in words with numbers; ``reached`` is None where no goal was set."""

    what: str
    measured: str
    goal: str = ""
    reached: bool | None = None


def save_findings(
    name: str,
    title: str,
    *,
    protocol: str,
    command: str,
    findings: Sequence[Finding],
    raw: Any = None,
    threads: int = 1,
    folder: Path = FULL_SCALE,
) -> Path:
    """Write ``<name>.json``; ``raw`` keeps the numbers behind the findings (every seed, every fold)."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    content = {
        "name": name,
        "title": title,
        "protocol": protocol,
        "command": command,
        "findings": [asdict(finding) for finding in findings],
        "raw": raw,
        "conditions": conditions(threads),
    }
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path


def stored_runs(folder: Path) -> list[dict[str, Any]]:
    """What is stored in ``folder``, by file name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def missed_goals(runs: Sequence[dict[str, Any]]) -> list[tuple[str, Finding]]:
    """The findings that missed their goal, each with the title of its run."""
    findings = ((run["title"], Finding(**finding)) for run in runs for finding in run["findings"])
    return [(title, finding) for title, finding in findings if finding.reached is False]


def section(folder: Path) -> str:
    """The part of the page for all files in ``folder``; empty where there is none."""
    results = stored_runs(folder)
    if not results:
        return ""
    return "\n# Full-scale runs\n" + "".join(_part(result) for result in results)


def _part(result: dict[str, Any]) -> str:
    words = {True: "reached", False: "**missed**", None: ""}
    state = result["conditions"]
    lines = [
        f"\n## {result['title']}\n",
        f"{result['protocol']} `{result['command']}`; {state['threads']} thread(s), {state['processor']}.\n",
        "| what | measured | goal | |",
        "| --- | --- | --- | --- |",
    ]
    for finding in result["findings"]:
        cells = (finding["what"], finding["measured"], finding["goal"], words[finding["reached"]])
        lines.append("| " + " | ".join(cell.replace("|", "&#124;") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
