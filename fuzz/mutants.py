"""``python -m fuzz.mutants``: plant small mistakes in the code behind the rows of the atlas and see who notices.

Each row's check runs once as it is, to learn which expressions it evaluates, and then with one mistake at a time, in a
process of its own with a time limit. A mistake is noticed when the check fails, breaks, or does not end. The program
prints the fraction noticed and names the rows that never notice. Rows that the file of ``--out`` already holds are not
tried again, so that a long run can be done in pieces: ``--minutes`` ends a piece.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import oracles

from fuzz.mistakes import Mutant, apply, functions_of, mutants_of, watch
from margin.notes import atlas, claims, experiments
from margin.notes.claims.citations import resolve

CHECKS = ("margin.notes.experiments.", "margin.notes.claims.")  # cited, but the check itself, or data made for it
NOTICED, MISSED = "noticed", "missed"
# Processor seconds for a check with a mistake: times as long as without. A busy machine must not count as a notice.
LEAST_LIMIT, SLOWER, MOST_LIMIT = 5.0, 10.0, 120.0
WAITING = 20.0  # times as long by the clock, for a check that waits for something


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="areas or ids of rows; none means all")
    parser.add_argument("--sample", type=int, default=0, help="mistakes drawn at random in all; 0: every one")
    parser.add_argument("--per-row", type=int, default=0, help="at most so many mistakes of each row; 0: every one")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--verbose", action="store_true", help="print the mistakes that nobody notices")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further row after so long")
    parser.add_argument("--seconds", type=float, default=600.0, help="leave out rows whose check takes longer (600)")
    parser.add_argument("--out", type=Path, help="write every result to this JSON file, and go on from what it holds")
    options = parser.parse_args(arguments)
    rows = [r for r in atlas.rows().values() if not options.names or {r.area, r.id} & set(options.names)]
    random.Random(options.seed).shuffle(rows)
    results: list[dict[str, Any]] = json.loads(options.out.read_text()) if options.out and options.out.exists() else []
    known, started = {result["row"] for result in results}, time.monotonic()
    for row in rows:
        if (options.sample and len(results) >= options.sample) or time.monotonic() - started > 60 * options.minutes:
            break
        if row.id in known:
            continue
        draw = random.Random(f"{options.seed} {row.id}")  # of its own: a run in pieces draws as one in one go
        most = options.per_row or (3 if options.sample else 0)
        results += _try_row(row, most, draw, options.seconds, options.verbose)
        if options.out:  # after every row: the program may be stopped at any time
            options.out.write_text(json.dumps(results, indent=1))
    _report(results)
    return 0


def _try_row(row: atlas.Row, most: int, rng: random.Random, limit: float, verbose: bool) -> list[dict[str, Any]]:
    cited = [path for path in row.code if not path.startswith(CHECKS)]
    functions = [f for path in cited for f in functions_of(resolve(path))]
    possible = [m for f in functions for m in mutants_of(f)]
    if not possible:
        return []
    run = _runner(row)
    reached, seconds = _reached(run, possible, limit)
    found = [possible[i] for i in reached]
    if most:
        found = rng.sample(found, min(most, len(found)))
    results = []
    for mutant in found:
        outcome = _outcome(mutant, run, min(max(LEAST_LIMIT, SLOWER * seconds), MOST_LIMIT))
        results.append(
            {"row": row.id, "area": row.area, "kind": mutant.kind, "mutant": str(mutant), "outcome": outcome}
        )
        if verbose and outcome == MISSED:
            print(f"{row.id}: {mutant}", flush=True)
    if verbose:
        print(f"{row.id}: {_noticed(results)} of {len(results)} noticed, {seconds:.2f} s a check", flush=True)
    return results


def _noticed(results: list[dict[str, Any]]) -> int:
    return sum(result["outcome"] == NOTICED for result in results)


def _runner(row: atlas.Row) -> Any:
    """The row's check as a function without arguments; its modules are imported here, before any fork."""
    check = claims.of_area(row.area).get(row.id)
    experiment = experiments.load(row.experiment) if row.experiment else None
    compared = [path for path in row.code if oracles.has_oracle(path)]

    def run() -> bool:
        ok = check is None or check(0).ok
        ok = ok and all(oracles.agrees(path, 0).ok for path in compared)
        return ok and (experiment is None or experiment.check(experiment.run(0, fast=True)).ok)

    return run


def _reached(run: Any, possible: list[Mutant], limit: float) -> tuple[list[int], float]:
    """Numbers of the mistakes whose expression the check evaluates, and its seconds; in a child, to keep this clean."""

    def measure() -> str:
        seen: set[int] = set()
        watch(possible, seen.add)
        started = time.process_time()
        ok = run()
        return json.dumps([ok, time.process_time() - started, sorted(seen)])

    answer = _in_child(measure, limit)
    ok, seconds, reached = json.loads(answer) if answer else (False, 0.0, [])
    if not ok:  # compiled code cannot be watched: then every mistake counts as reached
        ok, reached = _in_child(run, limit) == "True", list(range(len(possible)))
    if not ok:
        print(f"the check fails or takes too long without any mistake in {possible[0].function}", file=sys.stderr)
    return (reached if ok else []), seconds


def _outcome(mutant: Mutant, run: Any, limit: float) -> str:
    def attempt() -> str:
        apply(mutant)
        return MISSED if run() else NOTICED

    return _in_child(attempt, limit) or NOTICED  # an error, a crash or an endless loop is a mistake noticed


def _in_child(call: Any, limit: float) -> str:
    """What ``call`` returns in a fork of this process; nothing if it breaks or takes more than ``limit`` seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for number in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, limit)
            signal.setitimer(signal.ITIMER_REAL, WAITING * limit)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1), os.dup2(silent, 2)
            os.write(writing, str(call()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer.decode()


def _report(results: list[dict[str, Any]]) -> None:
    by_row: dict[str, Counter[str]] = defaultdict(Counter)
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        by_row[result["row"]][result["outcome"]] += 1
        by_kind[result["kind"]][result["outcome"]] += 1
    for kind, counts in sorted(by_kind.items()):
        print(f"{kind:>8}: {counts[NOTICED]} of {counts.total()} noticed")
    never = sorted(row for row, counts in by_row.items() if not counts[NOTICED])
    noticed = sum(counts[NOTICED] for counts in by_row.values())
    if results:
        print(f"{noticed} of {len(results)} mistakes noticed ({noticed / len(results):.0%}) behind {len(by_row)} rows")
    print(f"{len(never)} rows never notice: {', '.join(never)}")


if __name__ == "__main__":
    raise SystemExit(main())
