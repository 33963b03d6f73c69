"""Two source trees of Margin side by side: ``python -m benchmarks.studies.two_trees OTHER --families linear,trees``.

Whether a change made anything slower is asked of the cases of the benchmark families, those that both trees have by
the same name and size. Each tree is served by a process of its own, which imports its sources and its cases; the two
take turns, and the least processor time of the rounds counts (``--threads 2``: the least wall time). A case below
``--again`` is measured once more with three times the rounds. Ratio = the other tree's time divided by this one's:
above 1 this tree is faster. ``--avx2``: both as on a processor with AVX2 only. ``--path`` names folders that the other
tree needs besides (packages that are no requirement any more).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring.avx2 import narrow_environment
from benchmarks.measuring.evidence import FULL_SCALE, Finding, save_findings

__all__ = ["main"]

NAME = "two-trees"
HERE = Path(__file__).parents[2]
LEAST = 0.95  # a ratio below it counts as slower
ROUNDS = 5
LONG = 5.0  # seconds: a case that takes longer is timed in two rounds

# What serves a tree: it needs nothing but the cases, so that an older tree can be asked too.
SERVER = """
import importlib, json, os, sys, time, warnings
from contextlib import redirect_stdout
warnings.simplefilter("ignore")
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from benchmarks.measuring.harness import same_threads
cases, data = [], {}
with same_threads(int(sys.argv[1])):
    for line in sys.stdin:
        command, value = json.loads(line)
        try:
            if command == "family":
                cases, data = list(importlib.import_module(f"benchmarks.families.{value}").cases(False)), {}
                answer = [f"{case.name}, {case.size}" for case in cases]
            else:
                case = cases[value]
                if value not in data:
                    data = {value: case.data()}
                wall, cpu = time.perf_counter(), time.process_time()
                result = case.ours(data[value])
                answer = [time.perf_counter() - wall, time.process_time() - cpu]
                if command == "first":
                    answer.append(float(case.quality(data[value], result)))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".splitlines()[0]
        print(json.dumps(answer), file=answers, flush=True)
"""


class Tree:
    """A process that runs the cases of one tree."""

    def __init__(self, folder: Path, threads: int, more: list[str], *, narrow: bool = False):
        path = os.pathsep.join([str(folder / "src"), str(folder), *more])
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env={**os.environ, **(narrow_environment() if narrow else {}), "PYTHONPATH": path},
        )

    def ask(self, command: str, value: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([command, value]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"The process of {self.process.args} ended.")
        return json.loads(answer)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def compare(trees: list[Tree], indices: list[int], *, rounds: int, wall: bool) -> dict[str, Any]:
    """The least seconds and the quality of a case in each tree; the first call warms and is not counted."""
    firsts = [tree.ask("first", index) for tree, index in zip(trees, indices, strict=True)]
    failed = [first for first in firsts if isinstance(first, str)]
    if failed:
        return {"failed": failed[0]}
    least = [float("inf")] * len(trees)
    for _ in range(rounds if max(first[0] for first in firsts) < LONG else 2):
        for which, (tree, index) in enumerate(zip(trees, indices, strict=True)):
            least[which] = min(least[which], tree.ask("time", index)[0 if wall else 1])
    ratio = least[1] / least[0]
    return {"ours": least[0], "other": least[1], "ratio": ratio, "quality": [first[2] for first in firsts]}


def measure(family: str, trees: list[Tree], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    named = [tree.ask("family", family) for tree in trees]
    if any(isinstance(names, str) for names in named):
        return
    for case in named[0]:
        if case not in named[1] or options.only not in case:
            continue
        indices, wall = [names.index(case) for names in named], options.threads > 1
        row = compare(trees, indices, rounds=options.rounds, wall=wall)
        if row.get("ratio", 1.0) < options.again:
            more = compare(trees, indices, rounds=3 * options.rounds, wall=wall)
            row = max(row, more, key=lambda row: row["ratio"]) if "ratio" in more else row
        yield {"family": family, "case": case, "threads": options.threads, "avx2": options.avx2, **row}


def told(row: dict[str, Any]) -> tuple[str, ...]:
    if "failed" in row:
        return row["family"], row["case"], row["failed"]
    times = f"{1e3 * row['ours']:.1f} ms against {1e3 * row['other']:.1f}"
    return f"{row['ratio']:5.2f}", row["family"], row["case"], times


def store(rows: list[dict[str, Any]], other: str) -> None:
    """Keep what was measured before of other cases, or of these on other threads or another processor."""
    path = FULL_SCALE / f"{NAME}.json"
    old = json.loads(path.read_text(encoding="utf-8"))["raw"] if path.exists() else []
    anew = {(*_ground(row), row["case"]) for row in rows}
    rows = [row for row in old if (*_ground(row), row["case"]) not in anew] + rows
    findings = []
    for ground in sorted(set(map(_ground, rows))):
        timed = [row for row in rows if _ground(row) == ground and "ratio" in row]
        ratios = [row["ratio"] for row in timed]
        slower = [told(row) for row in timed if row["ratio"] < LEAST]
        if ratios:
            measured = f"{len(ratios)} cases, median {statistics.median(ratios):.2f}, least {min(ratios):.2f}"
            measured += "".join(f"; {ratio.strip()} {case}" for ratio, _, case, _ in slower)
            family, threads, narrow = ground
            what = f"{family}, {threads} thread(s){', AVX2 only' if narrow else ''}"
            findings.append(Finding(what, measured, f"no case below {LEAST}", not slower))
    save_findings(
        NAME,
        f"This tree beside {other}",
        protocol=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        command="python -m benchmarks.studies.two_trees OTHER",
        findings=findings,
        raw=rows,
    )


def _ground(row: dict[str, Any]) -> tuple[str, int, bool]:
    """The family of a case, its threads, and whether both trees had AVX2 only."""
    return row["family"], row["threads"], row.get("avx2", False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.two_trees", description=__doc__)
    parser.add_argument("other", type=Path, help="the root of the other tree, its kernels compiled if it has such")
    parser.add_argument("--families", required=True, help="one or several, separated by commas")
    parser.add_argument("--only", default="", help="cases whose name or size contains this")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--avx2", action="store_true", help="both as on a processor with AVX2 only")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--again", type=float, default=1.0, help="ratios below it are measured once more")
    parser.add_argument("--path", action="append", default=[], help="a folder of packages for the other tree")
    parser.add_argument(
        "--store", default="", metavar="WHAT", help="keep the numbers; in words, what the other tree is"
    )
    options = parser.parse_args()
    trees = [
        Tree(folder, options.threads, more, narrow=options.avx2)
        for folder, more in ((HERE, []), (options.other.resolve(), options.path))
    ]
    for family in options.families.split(","):
        for row in measure(family, trees, options):
            print(*told(row), sep="  ", flush=True)
            if options.store:
                store([row], options.store)
    for tree in trees:
        tree.close()


if __name__ == "__main__":
    main()
