"""Store what the programs about claims found: every check at several seeds, and mistakes planted behind rows.

``python -m benchmarks.studies.claim_runs seeds "LABEL=FILE" ...`` takes files of ``python -m margin.notes.claims
--out``, each under a label that says which seeds and which machine; ``python -m benchmarks.studies.claim_runs
mistakes FILE --seed S`` takes the file of ``python -m fuzz.mutants --out``; ``by-hand "LABEL=FILE" ...`` takes
lists of mistakes that somebody wrote: ``row``, ``what`` and ``noticed_by``, the parts of the check that noticed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.evidence import Finding, save_findings

LEAST = 150  # planted mistakes below which a fraction says little
GOAL = 0.9


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.claim_runs", description=__doc__)
    parser.add_argument("kind", choices=("seeds", "mistakes", "by-hand"))
    parser.add_argument("files", nargs="+", help="LABEL=FILE of results at several seeds, or the FILE of mistakes")
    parser.add_argument("--seed", type=int, default=0, help="with which the mistakes were drawn")
    parser.add_argument("--minutes", type=float, default=25, help="how long mistakes were planted")
    parser.add_argument("--remark", default="", help="what a reader of the protocol should know besides")
    options = parser.parse_args(arguments)
    if options.kind == "seeds":
        parts = dict(name.split("=", 1) for name in options.files)
        print(store_seeds({label: json.loads(Path(file).read_text()) for label, file in parts.items()}, options.remark))
    elif options.kind == "by-hand":
        parts = dict(name.split("=", 1) for name in options.files)
        print(
            store_by_hand({label: json.loads(Path(file).read_text()) for label, file in parts.items()}, options.remark)
        )
    else:
        results = [result for file in options.files for result in json.loads(Path(file).read_text())]
        print(store_mistakes(results, options.seed, options.minutes, options.remark))
    return 0


def store_seeds(parts: dict[str, dict[str, Any]], remark: str) -> Path:
    """Findings for every part: how many checks and runs, and which checks failed at how many seeds."""
    findings = []
    for label, checks in parts.items():
        failed = {name: found["failed"] for name, found in checks.items() if found["failed"]}
        runs = sum(found["seeds"] for found in checks.values())
        failing = ", ".join(f"{name} ({count} of {checks[name]['seeds']})" for name, count in failed.items())
        findings.append(Finding(f"{label}: checks run", f"{len(checks)} checks, {runs} runs"))
        findings.append(Finding(f"{label}: checks that fail at a seed", failing or "none", "none", not failed))
    return save_findings(
        "seeds",
        "Statements at several seeds",
        protocol="Every claim, experiment and comparison with an independent implementation, at seeds that nobody had "
        f"used before; what draws nothing runs once. {remark}".strip(),
        command="python -m margin.notes.claims --seeds N --first K --minutes 10 --out FILE",
        findings=findings,
        raw=parts,
    )


def store_mistakes(results: list[dict[str, Any]], seed: int, minutes: float, remark: str) -> Path:
    noticed = sum(result["outcome"] == "noticed" for result in results)
    rows, areas = {result["row"] for result in results}, {result["area"] for result in results}
    fraction = noticed / len(results)
    kinds: dict[str, Counter[str]] = {}
    for result in results:
        kinds.setdefault(result["kind"], Counter())[result["outcome"]] += 1
    never = sorted(row for row in rows if all(r["outcome"] != "noticed" for r in results if r["row"] == row))
    findings = [
        Finding(
            "planted mistakes noticed by the row's own check",
            f"{noticed} of {len(results)} ({fraction:.1%}) behind {len(rows)} rows in {len(areas)} areas",
            f"{GOAL:.0%} of at least {LEAST}",
            fraction >= GOAL and len(results) >= LEAST,
        ),
        *(Finding(f"kind {kind}", f"{c['noticed']} of {c.total()}") for kind, c in sorted(kinds.items())),
        Finding("rows that never notice", ", ".join(never) or "none"),
    ]
    return save_findings(
        "mutation",
        "Mistakes planted behind rows",
        protocol=f"Rows in a random order (seed {seed}, a draw that nobody had looked at) over all areas, at most "
        "three mistakes each, drawn at random from the expressions that the row's check and its oracles evaluate; rows "
        f"whose check takes at most ten seconds, for about {minutes:g} minutes of a busy machine. {remark}".strip(),
        command=f"python -m fuzz.mutants --per-row 3 --seed {seed} --seconds 10 --minutes {minutes:g} --out FILE",
        findings=findings,
        raw=results,
    )


def store_by_hand(parts: dict[str, list[dict[str, Any]]], remark: str) -> Path:
    """Findings for every list: how many a row's claim, oracles or experiment noticed, and which ones nothing did."""
    findings = []
    for label, results in parts.items():
        noticed = [result for result in results if result["noticed_by"]]
        missed = [f"{result['row']} ({result['what']})" for result in results if not result["noticed_by"]]
        by_oracle = sum(all(name.startswith("oracle") for name in result["noticed_by"]) for result in noticed)
        fraction = len(noticed) / len(results)
        findings += [
            Finding(
                f"{label}: noticed by the row",
                f"{len(noticed)} of {len(results)} ({fraction:.0%}), {by_oracle} of them by an oracle alone",
                f"{GOAL:.0%}",
                fraction >= GOAL,
            ),
            Finding(f"{label}: not noticed", ", ".join(missed) or "none"),
        ]
    return save_findings(
        "mistakes-by-hand",
        "Mistakes written by hand behind rows",
        protocol="Rows drawn at random; one mistake behind each, of the kind that a tired engineer makes and no type "
        "checker sees (an index, a sign, a factor, variance for deviation, a transposed matrix, a wrong axis), written "
        "from the code cited without a look at the check. Then the row's claim, the oracles of what it cites, and its "
        f"experiment in its fast mode run at seed 0. {remark}".strip(),
        command='python -m benchmarks.studies.claim_runs by-hand "LABEL=FILE"',
        findings=findings,
        raw=parts,
    )


if __name__ == "__main__":
    raise SystemExit(main())
