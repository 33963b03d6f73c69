"""``python -m benchmarks FAMILY[,FAMILY]``: time, print the ratio table, write ``benchmarks/results/FAMILY.json``.

The name of a study (``python -m benchmarks vision``) makes all of its runs one after another, each with the arguments
that the module's ``RUNS`` or the names of its ``STUDIES`` say; they store findings.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.measuring.avx2 import is_narrow, restart_narrow
from benchmarks.measuring.harness import Case, first_call, measure, same_threads, time_first_calls
from benchmarks.measuring.report import RESULTS, conditions, row, save, show

HERE = Path(__file__).parent


def names(folder: str) -> list[str]:
    """The modules in ``families`` or ``studies``."""
    return sorted(path.stem for path in (HERE / folder).glob("*.py") if path.stem != "__init__")


def module_of(name: str) -> Any:
    for folder in ("families", "studies"):
        if name in names(folder):
            return importlib.import_module(f"benchmarks.{folder}.{name}")
    families, studies = ", ".join(names("families")), ", ".join(names("studies"))
    raise SystemExit(f"There is no family {name!r}; there are {families}; studies are {studies}.")


def own_runs(module: Any) -> list[tuple[str, ...]]:
    """Arguments of every run of a study; none for a family, which has cases."""
    if hasattr(module, "cases"):
        return []
    return list(getattr(module, "RUNS", None) or [(name,) for name in getattr(module, "STUDIES", ())])


def run_study(name: str, module: Any, *, quick: bool, only: str) -> None:
    """All runs of a study, one after another."""
    if quick:
        raise SystemExit(f"{name} is measured at full scale only; leave out --quick.")
    given = sys.argv
    for arguments in own_runs(module):
        if only not in " ".join(arguments):
            continue
        print(f"{name}: {' '.join(arguments)}", file=sys.stderr, flush=True)
        sys.argv = [f"benchmarks.studies.{name}", *arguments]
        try:
            module.main()
        finally:
            sys.argv = given


def cases_of(family: str, quick: bool) -> list[Case]:
    module = module_of(family)
    if not hasattr(module, "cases"):
        raise SystemExit(f"{family} has no cases: run python -m benchmarks.studies.{family}.")
    return list(module.cases(quick))


def run(family: str, *, quick: bool, threads: int, rounds: int | None, only: str, merge: bool = False) -> None:
    module = module_of(family)
    if own_runs(module):
        run_study(family, module, quick=quick, only=only)
        return
    environment = conditions(threads)
    rows = []
    for index, case in enumerate(cases_of(family, quick)):
        if only not in f"{case.name} {case.size}":
            continue
        print(f"{family}: {case.name}, {case.size}", file=sys.stderr, flush=True)
        measured = measure(case, rounds)
        if case.first_call and not measured[0].note:
            measured[0].first = first_call(family, index, quick, threads)
        rows.append(row(case, measured))
        if not quick and (merge or not only):  # at once: what a run that is ended has measured is not lost
            save(stored_as(family), [*_others(family, rows), *rows] if merge else rows, environment)
    show(stored_as(family), rows, environment)


def stored_as(family: str) -> str:
    """The name of the results: those of a narrower processor stand beside the others."""
    return f"{family}-avx2" if is_narrow() else family


def _others(family: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is stored of the cases of ``family`` that ``rows`` do not measure anew."""
    path = RESULTS / f"{stored_as(family)}.json"
    stored = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
    anew = {(entry["case"], entry["size"]) for entry in rows}
    return [entry for entry in stored if (entry["case"], entry["size"]) not in anew]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = f"{', '.join(names('families'))}; or studies: {', '.join(names('studies'))}"
    parser.add_argument("families", help=f"one or several, separated by commas: {known}")
    parser.add_argument("--quick", action="store_true", help="small sizes; prints, writes nothing")
    parser.add_argument("--only", default="", help="only cases whose name or size contains this; writes nothing")
    parser.add_argument("--merge", action="store_true", help="with --only: writes these cases beside the stored ones")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of every pool, for everyone")
    parser.add_argument("--rounds", type=int, default=None, help="timed rounds; the minimum counts")
    parser.add_argument("--avx2", action="store_true", help="as on a processor with AVX2 only; stored as FAMILY-avx2")
    parser.add_argument("--first-call", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.avx2 and not is_narrow():
        restart_narrow()
    with same_threads(options.threads):
        if options.first_call is not None:
            print(*time_first_calls(cases_of(options.families, options.quick)[options.first_call]))
            return
        for family in options.families.split(","):
            chosen = {"only": options.only, "merge": options.merge}
            run(family, quick=options.quick, threads=options.threads, rounds=options.rounds, **chosen)


if __name__ == "__main__":
    main()
