"""``python -m fuzz.beside_sklearn --tables 200``: solvers on random tables, beside scikit-learn's.

Both are given the same table and judged by the objective they claim to minimize, or by answers that have one truth. A
table on which ours ends behind scikit-learn's, or raises an error where scikit-learn's does not, is printed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from typing import Any

from fuzz.comparisons import COMPARISONS
from fuzz.random_tables import KINDS, random_table

__all__ = ["compare_on", "main"]

NAME = "beside-sklearn"


def compare_on(seed: int) -> tuple[int, list[dict[str, Any]]]:
    """How many comparisons table ``seed`` gave, and those in which ours is behind."""
    table, count, behind = random_table(seed), 0, []
    shape = {"seed": seed, "kind": table.kind, "rows": len(table.X), "columns": table.X.shape[1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both say when they have not converged; objectives tell it as well
        for compare in COMPARISONS:
            try:
                for what, distance in compare(table):
                    count += 1
                    if not distance <= 1.0:
                        behind.append({**shape, "what": what, "behind": distance})
            except Exception as error:  # whichever side raised it, it is to be looked at
                behind.append({**shape, "what": compare.__name__, "error": f"{type(error).__name__}: {error}"})
    return count, behind


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.beside_sklearn", description=__doc__)
    parser.add_argument("--tables", type=int, default=100, help="how many (100)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first (0)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further table after so long")
    parser.add_argument("--store", action="store_true", help="keep the result among those of the benchmarks")
    options = parser.parse_args()
    end, count, tables, behind = time.monotonic() + 60 * options.minutes, 0, 0, []
    for seed in range(options.seed, options.seed + options.tables):
        if time.monotonic() > end:
            break
        compared, worse = compare_on(seed)
        count, tables, behind = count + compared, tables + 1, behind + worse
        for finding in worse:
            print(finding, flush=True)
    print(f"{count} comparisons on {tables} tables, {len(behind)} of them behind.")
    if options.store:
        _store(options.seed, tables, count, behind)
    return 1 if behind else 0


def _store(seed: int, tables: int, count: int, behind: list[dict[str, Any]]) -> None:
    from benchmarks.measuring.evidence import Finding, save_findings

    kinds = Counter(finding["what"] for finding in behind)
    behind_by_kind = ", ".join(f"{name} {times}" for name, times in kinds.most_common()) or "none"
    save_findings(
        NAME,
        "Random tables beside scikit-learn",
        protocol=(
            f"Tables {seed} to {seed + tables - 1} of {len(KINDS)} kinds ({', '.join(KINDS)}), 12 to 300 rows, 1 to 40 "
            "columns, half of them with weights: objectives at the end of a fit, and answers that have one truth."
        ),
        command=f"python -m fuzz.beside_sklearn --tables {tables} --seed {seed} --store",
        findings=[
            Finding("comparisons", f"{count} on {tables} tables"),
            Finding("ours behind", behind_by_kind, "none", not behind),
        ],
        raw=behind,
    )


if __name__ == "__main__":
    raise SystemExit(main())
