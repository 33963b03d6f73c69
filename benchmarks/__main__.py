"""``python -m benchmarks FAMILY[,FAMILY]``: time, print the ratio table, write ``benchmarks/results/FAMILY.json``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from benchmarks.harness import Case, first_call, measure, same_threads, time_first_calls
from benchmarks.report import conditions, row, save, show

MACHINERY = {"__init__", "__main__", "evidence", "harness", "nano_gpt", "page", "report", "text_sequences"}


def families() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in MACHINERY)


def cases_of(family: str, quick: bool) -> list[Case]:
    if family not in families():
        raise SystemExit(f"There is no family {family!r}; there are {', '.join(families())}.")
    module = importlib.import_module(f"benchmarks.{family}")
    if getattr(module, "Case", None) is not Case:
        raise SystemExit(f"{family} brings a harness of its own: run python -m benchmarks.{family}.")
    return list(module.cases(quick))


def run(family: str, *, quick: bool, threads: int, rounds: int | None, only: str) -> None:
    found = conditions(threads)
    rows = []
    for index, case in enumerate(cases_of(family, quick)):
        if only not in f"{case.name} {case.size}":
            continue
        print(f"{family}: {case.name}, {case.size}", file=sys.stderr, flush=True)
        measured = measure(case, rounds)
        if case.first_call and not measured[0].note:
            measured[0].first = first_call(family, index, quick, threads)
        rows.append(row(case, measured))
    show(family, rows, found)
    if not quick and not only:
        print(f"written to {save(family, rows, found)}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("families", help=f"one or several, separated by commas: {', '.join(families())}")
    parser.add_argument("--quick", action="store_true", help="small sizes; prints, writes nothing")
    parser.add_argument("--only", default="", help="only cases whose name or size contains this; writes nothing")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of every pool, for everyone")
    parser.add_argument("--rounds", type=int, default=None, help="timed rounds; the minimum counts")
    parser.add_argument("--first-call", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with same_threads(options.threads):
        if options.first_call is not None:
            print(*time_first_calls(cases_of(options.families, options.quick)[options.first_call]))
            return
        for family in options.families.split(","):
            run(family, quick=options.quick, threads=options.threads, rounds=options.rounds, only=options.only)


if __name__ == "__main__":
    main()
