"""Hand files to a worker, start another when one dies, and count what happened."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["BAD", "Report", "run"]

BAD = ("crash", "hang", "process", "file", "untidy")
SILENCE = 300.0  # seconds of the clock after which a worker that waits for something is given up


@dataclass
class Report:
    """Counts by outcome, and everything that should not have happened."""

    counts: Counter[str] = field(default_factory=Counter)
    by_model: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, number: int, answer: dict[str, Any]) -> None:
        outcomes = [answer["outcome"]]
        outcomes += ["file"] if answer.get("files") else []
        outcomes += ["process"] if answer.get("processes") else []
        for outcome in outcomes:
            self.counts[outcome] += 1
            self.by_model.setdefault(name, Counter())[outcome] += 1
            if outcome in BAD:
                self.findings.append({"model": name, "number": number, "what": outcome, **answer})

    @property
    def total(self) -> int:
        return sum(count for outcome, count in self.counts.items() if outcome not in ("file", "process"))


def run(folder: Path, tasks: Iterable[tuple[str, int]]) -> Iterator[Report]:
    """Try every task (model, number of the mutation); yields the report so far after each."""
    report, worker = Report(), None
    for name, number in tasks:
        worker = _start(folder) if worker is None or worker.poll() is not None else worker
        answer = _ask(worker, name, number)
        if answer is None:
            code = worker.wait()
            if code >= 0:
                raise RuntimeError(f"the worker itself failed on mutation {number} of {name}")
            hung = code in (-9, -24)  # killed for its silence, or by the limit on processor time
            answer = {"outcome": "hang" if hung else "crash", "sentence": f"exit code {code}"}
            worker = None
        report.add(name, number, answer)
        yield report
    if worker is not None and worker.stdin is not None:
        worker.stdin.close()
        worker.wait()


def _start(folder: Path) -> subprocess.Popen[str]:
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    command = [sys.executable, "-m", "fuzz.worker", str(folder)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=root
    )


def _ask(worker: subprocess.Popen[str], name: str, number: int) -> dict[str, Any] | None:
    """The worker's answer, None if it died or had to be killed."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        worker.stdin.write(f"{name} {number}\n")
        worker.stdin.flush()
        while select.select([worker.stdout], [], [], SILENCE)[0]:
            line = worker.stdout.readline()
            if not line:
                return None
            if line.startswith('{"outcome"'):  # anything else is a model that prints
                return json.loads(line)
    except BrokenPipeError:
        return None
    worker.kill()
    return None
