"""Hand files to a worker, start another when one dies, and count what happened.

A write beyond the end of an array may end the process many files later. ``LD_PRELOAD=libc_malloc_debug.so.0
MALLOC_CHECK_=3`` (glibc) brings the end forward, ``MARGIN_KERNELS=debug`` takes kernels that check every index
(``MARGIN_KERNELS=debug python setup.py build_ext --inplace`` compiles them).
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["BAD", "Report", "run"]

BAD = ("crash", "hang", "process", "file", "untidy", "changed", "overwritten")
FILES_PER_WORKER = 10_000  # then a new one starts: what a process keeps for itself must not add up
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


def run(folder: Path, tasks: Iterable[tuple[str, int]], what: str = "models") -> Iterator[Report]:
    """Try every task (name, number of the mutation); yields the report so far after each."""
    report, worker = Report(), _Worker(folder, what)
    try:
        for name, number in tasks:
            if worker.answered >= FILES_PER_WORKER:
                worker.close()
                worker = _Worker(folder, what)
            answer = worker.ask(name, number)
            if answer["outcome"] in ("crash", "hang"):
                if answer["outcome"] == "crash":
                    alone = _Worker(folder, what)  # the same file by itself: is it to blame, or what came before?
                    answer["alone"] = alone.ask(name, number)["outcome"]
                    alone.close()
                worker = _Worker(folder, what)
            report.add(name, number, answer)
            yield report
    finally:
        worker.close()


class _Worker:
    """A process that tries files one after another."""

    def __init__(self, folder: Path, what: str = "models"):
        root = Path(__file__).parents[1]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
        self.answered = 0
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the worker)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        command = [sys.executable, "-m", "fuzz.worker", str(folder), what]
        self.process = subprocess.Popen(command, text=True, env=environment, cwd=root, **pipes)

    def ask(self, name: str, number: int) -> dict[str, Any]:
        """What the file did."""
        answer = self._answer(f"{name} {number}\n")
        self.answered += 1
        if answer is not None:
            return answer
        code = self.process.wait()
        self.errors.seek(0)
        stderr = self.errors.read()[-300:]
        if code >= 0 and self.answered == 1:  # it cannot even begin; later a library ended the process for this file
            raise RuntimeError(f"the worker itself failed on mutation {number} of {name}: {stderr}")
        killed = code in (-signal.SIGKILL, -signal.SIGXCPU)  # for its silence, or by the limit on processor time
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {"outcome": "hang" if killed else "crash", "sentence": f"{ended}: {stderr}"}

    def _answer(self, line: str) -> dict[str, Any] | None:
        pipe_in, pipe_out = self.process.stdin, self.process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        try:
            pipe_in.write(line)
            pipe_in.flush()
        except BrokenPipeError:
            return None
        while select.select([pipe_out], [], [], SILENCE)[0]:
            answer = pipe_out.readline()
            if not answer:
                return None
            if answer.startswith('{"outcome"'):  # anything else is a model that prints
                return json.loads(answer)
        self.process.kill()
        return None

    def close(self) -> None:
        self.process.communicate()
        self.errors.close()
