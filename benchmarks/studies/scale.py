"""Tables larger than memory: time and peak memory by rows and columns: ``python -m benchmarks.studies.scale``.

Every case is a process of its own with one thread, which reads a folder of eight Parquet files and fits one model: ours
on a stream, ours on the table in memory, or what others offer for such tables (:mod:`benchmarks.peers.scale_fits`).
Reading counts. Time is processor time. Memory is the most that the process held at a time (pages of mapped files do not
count: the system takes them back) above what it held after a small fit had loaded what the library loads. The tables
are written to a temporary folder, which is removed at the end, or to one that ``--tables`` names, which stays.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.harness import same_threads
from benchmarks.measuring.memory import give_back, kilobytes
from benchmarks.measuring.study import Row, Study, run
from benchmarks.peers.scale_fits import FITS, NAMES, TASKS, UNMATCHED, WAYS, quality, write_table

GROWTH, SLOWER = 1.2, 1.3  # goals: memory of four times the rows, time of a stream beside that in memory
LOOK_SECONDS = 0.02
SMALL_ROWS = 40_000


class PeakMemory:
    """Kilobytes of anonymous memory, looked at again and again while the block runs."""

    def __enter__(self) -> PeakMemory:
        self.most, self.ended = kilobytes("RssAnon"), threading.Event()
        self.looking = threading.Thread(target=self._look)
        self.looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.looking.join()

    def _look(self) -> None:
        while not self.ended.wait(LOOK_SECONDS):
            self.most = max(self.most, kilobytes("RssAnon"))


def cost(task: str, way: str, folder: Path, small: Path) -> Row:
    """Seconds, megabytes and quality of one fit, in this process."""
    fit = FITS[way]
    fit(task, small)  # loads what the library loads
    give_back()
    before = kilobytes("RssAnon")
    with PeakMemory() as memory:
        cpu = time.process_time()
        model = fit(task, folder)
        seconds = time.process_time() - cpu
    return {
        "seconds": round(seconds, 2),
        "megabytes": round((memory.most - before) / 1e3, 1),
        "quality": round(quality(task, model, small), 6),
    }


def conclude(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for task in dict.fromkeys(row["task"] for row in rows):
        for columns in sorted({row["columns"] for row in rows if row["task"] == task}):
            some = [row for row in rows if (row["task"], row["columns"]) == (task, columns)]
            findings += _measured(f"{task}, {columns} columns", some)
            findings += _goals(f"{task}, {columns} columns", {(row["way"], row["millions"]): row for row in some})
    return findings


def _measured(what: str, rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for way in WAYS:
        some = sorted((row["millions"], row) for row in rows if row["way"] == way)
        text = "; ".join(
            f"{m} million rows: {row['seconds']:.1f} s, {row['megabytes']:.0f} MB, {row['quality']:.4f}"
            for m, row in some
        )
        if text:
            findings.append(Finding(f"{what}, {NAMES[way]}", text))
    return findings


def _goals(what: str, found: dict[tuple[str, int], Row]) -> list[Finding]:
    findings = []
    sizes = sorted(m for way, m in found if way == "stream")
    for few, many in pairwise(sizes):
        growth = found["stream", many]["megabytes"] / found["stream", few]["megabytes"]
        reached = growth <= GROWTH
        findings.append(
            Finding(f"{what}: memory of {many} million rows by that of {few}", f"{growth:.2f}", f"{GROWTH}", reached)
        )
    for millions in sizes:
        if ("memory", millions) in found:
            slower = found["stream", millions]["seconds"] / found["memory", millions]["seconds"]
            text = f"{what}: time on a stream by that in memory, {millions} million rows"
            findings.append(Finding(text, f"{slower:.2f}", f"{SLOWER}", slower <= SLOWER))
    return findings


STUDY = Study(
    name="scale",
    title="Tables larger than memory",
    protocol="Eight Parquet files, one thread, a process for each fit; reading counts. Seconds of processor time on "
    "two cores that others kept busy; megabytes above the loaded library, without pages of mapped files; R2, accuracy "
    "or variance explained on new rows.",
    command="make bench FAMILY=scale",
    conclude=conclude,
)
RUNS = [("--millions", "1", "4"), ("--columns", "200", "--millions", "1"), ("--millions", "16", "--ways", "stream")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.scale", description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 4], help="rows in millions")
    parser.add_argument("--columns", type=int, nargs="+", default=[20])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--tables", help="folder in which the tables stay")
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument("--case", nargs=4, metavar=("TASK", "WAY", "FOLDER", "SMALL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        task, way, folder, small = options.case
        with same_threads(1):
            print(json.dumps(cost(task, way, Path(folder), Path(small))))
        return
    with ExitStack() as stack:
        place = options.tables or stack.enter_context(tempfile.TemporaryDirectory(prefix="margin-scale-"))
        run(STUDY, _cases(options), lambda **case: _measure(Path(place), **case), again=options.again)


def _cases(options: argparse.Namespace) -> list[Row]:
    ways = [way for way in WAYS if way in options.ways]
    without = {"boosting"} if importlib.util.find_spec("xgboost") is None else set()
    return [
        {"task": task, "way": way, "millions": millions, "columns": columns}
        for columns in options.columns
        for millions in options.millions
        for task in options.tasks
        for way in ways
        if way != "others" or task not in {*UNMATCHED, *without}
    ]


def _measure(place: Path, task: str, way: str, millions: int, columns: int) -> Row:
    folders = []
    for name, rows, seed in ((f"{millions}-{columns}", millions * 1_000_000, 0), (f"small-{columns}", SMALL_ROWS, 1)):
        folders.append(place / name)
        if not folders[-1].exists():
            write_table(folders[-1], rows, columns, seed)
    command = [sys.executable, "-m", "benchmarks.studies.scale", "--case", task, way, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{task}, {way}: {done.stderr.strip()}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


if __name__ == "__main__":
    main()
