"""``python -m benchmarks.studies.compare``: what ``margin.compare`` picks, and what one would run instead.

Twelve tables; test rows are set aside before anyone sees anything. Contenders with a budget get the same one, in
seconds of processor time on one core (:mod:`benchmarks.measuring.processor_clock`), each in a process of its own.
Quality is roc_auc (mean over classes, greater is better) or rmse on the test rows; beside it stand the mean rank over
the tables and every table that margin loses. What is done is kept, and the same command goes on after a kill.
Contenders that are not installed are named as absent; one that fails on a table gets the last rank there and its
reason.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.measuring.evidence import Finding, save_findings
from benchmarks.peers.compare_contenders import CONTENDERS
from margin.metrics import metric

BUNDLED = ("breast-cancer", "wine", "digits", "diabetes")
FILES = (
    "abalone", "adult", "california-housing", "german-credit", "mammography", "pima", "titanic", "wine-quality-red"
)  # fmt: skip
#: Changes to what is compared are tried out on these, which are never reported.
TRIED_OUT_ON = ("banknote", "sonar", "wine-quality-white", "iris", "horse-colic")
OURS = "margin compare"
#: No contender may take longer than this many seconds of the clock on the wall.
MOST_SECONDS = 3600


@dataclass(frozen=True)
class Outcome:
    """What a contender reached on a table, and in how many processor seconds; ``note`` says what it chose or why it
    failed."""

    table: str
    seed: int
    contender: str
    metric: str
    score: float
    seconds: float
    note: str = ""


def run(name: str, seed: int, budget: float, who: str) -> Outcome:
    """One contender on one table, in a process of its own."""
    call = [sys.executable, "-m", "benchmarks.peers.compare_contenders", name, str(seed), str(budget), who]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        line = (done.stdout.strip().splitlines() or [""])[-1]
        outcome = json.loads(line) if line.startswith("{") else {"note": _last_line(done.stderr) or "the process ended"}
    except subprocess.TimeoutExpired:
        outcome = {"note": f"not done after {MOST_SECONDS} s"}
    facts = {"metric": "", "score": None, "seconds": 0.0, "note": "", **outcome}
    score = float("nan") if facts["score"] is None else float(facts["score"])
    return Outcome(name, seed, who, facts["metric"], score, facts["seconds"], facts["note"])


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:160]


def ranks(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Rank of every contender on every table and seed, 1 the best; equal scores share the mean of their ranks.

    >>> rows = [Outcome("t", 0, who, "rmse", score, 1.0) for who, score in (("a", 1.0), ("b", 1.0), ("c", 3.0))]
    >>> ranks(rows)
    {'a': [1.5], 'b': [1.5], 'c': [3.0]}
    """
    ranks_of: dict[str, list[float]] = {}
    for key in dict.fromkeys((o.table, o.seed) for o in outcomes):
        rows = [o for o in outcomes if (o.table, o.seed) == key]
        sign = -1 if metric(next(o.metric for o in rows if o.metric)).greater_is_better else 1
        values = np.array([sign * o.score if o.score == o.score else np.inf for o in rows])
        for o, value in zip(rows, values):
            ranks_of.setdefault(o.contender, []).append(
                float((values < value).sum() + ((values == value).sum() + 1) / 2)
            )
    return ranks_of


def summary(outcomes: Sequence[Outcome]) -> str:
    """Mean ranks, and where margin loses, to whom and by how much."""
    lines = ["", "mean rank over tables (1 is best)"]
    by_rank = sorted(ranks(outcomes).items(), key=lambda pair: float(np.mean(pair[1])))
    lines += [f"  {who:<22} {np.mean(own_ranks):.2f}" for who, own_ranks in by_rank]
    lost = []
    for key in dict.fromkeys((o.table, o.seed) for o in outcomes):
        rows = {o.contender: o for o in outcomes if (o.table, o.seed) == key}
        ours = rows[OURS]
        entry = metric(next(o.metric for o in rows.values() if o.metric))
        lost += [
            f"  {ours.table}: {entry.name} {ours.score:.4f} against {o.score:.4f} of {o.contender}"
            for o in rows.values()
            if o.score == o.score and (ours.score != ours.score or entry.better(o.score, ours.score))
        ]
    return "\n".join([*lines, f"losses: {len(lost)}", *lost])


def findings(outcomes: Sequence[Outcome], absent: Sequence[str]) -> list[Finding]:
    """A row for the mean rank of every contender, and a row for every table."""
    mean = {who: float(np.mean(listed)) for who, listed in ranks(outcomes).items()}
    others = {who: value for who, value in mean.items() if who != OURS}
    listed = []
    for who, value in others.items():
        measured = f"{mean[OURS]:.2f} against {value:.2f}"
        listed.append(Finding(f"mean rank, {OURS} against {who}", measured, "not above", mean[OURS] <= value))
    listed += [Finding(f"mean rank, {OURS} against {who}", "not installed", "not above", False) for who in absent]
    for table in dict.fromkeys(o.table for o in outcomes):
        rows = [o for o in outcomes if o.table == table]
        measured = ", ".join(
            f"{o.contender} {o.score:.4g}" if o.score == o.score else f"{o.contender}: {o.note}" for o in rows
        )
        listed.append(Finding(f"{table}, {next(o.metric for o in rows if o.metric)} on test rows", measured))
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.compare", description=__doc__)
    parser.add_argument("--tables", default="", help=f"separated by commas; default: {', '.join(BUNDLED + FILES)}")
    parser.add_argument("--contenders", default="", help="separated by commas; default: all that are installed")
    parser.add_argument("--budget", type=float, default=20.0, help="processor seconds per table")
    parser.add_argument("--seeds", type=int, default=1, help="how many divisions into training and test rows")
    parser.add_argument("--report", action="store_true", help="run nothing; write what is kept as findings")
    parser.add_argument("--kept", type=Path, default=Path("build") / "compare-outcomes.jsonl", help="what is done")
    options = parser.parse_args()
    tables = options.tables.split(",") if options.tables else list(BUNDLED)
    if not options.tables and os.environ.get("MARGIN_DATA"):
        tables += FILES
    elif not options.tables:
        print(f"MARGIN_DATA is not set: without {', '.join(FILES)}")
    if options.report:
        return _report(tables, _kept(options.kept, options.budget), options.budget)
    contenders = options.contenders.split(",") if options.contenders else list(CONTENDERS)
    absent = [who for who in contenders if not importlib.util.find_spec(CONTENDERS[who][0])]
    kept = _kept(options.kept, options.budget)
    outcomes = []
    for name in tables:
        for key in [(name, seed, who) for seed in range(options.seeds) for who in contenders if who not in absent]:
            if key not in kept:
                kept[key] = run(key[0], key[1], options.budget, key[2])
                _keep(options.kept, options.budget, kept[key])
            outcomes.append(kept[key])
            o = kept[key]
            print(f"{name:<20} {o.contender:<22} {o.metric} {o.score:.4f}  {o.seconds:6.1f} s  {o.note}", flush=True)
    print(summary(outcomes))
    if not options.tables and not options.contenders:
        path = _save(outcomes, absent, options.budget)
        print(f"written to {path}")


def _report(tables: Sequence[str], kept: dict[tuple[str, int, str], Outcome], budget: float) -> None:
    """Findings of the tables that margin and at least three others were run on, and which tables are missing."""
    ran = {t: {who for name, _, who in kept if name == t} for t in tables}
    complete = [t for t in tables if OURS in ran[t] and len(ran[t]) > 3]
    outcomes = [o for o in kept.values() if o.table in complete]
    print(summary(outcomes))
    print(f"written to {_save(outcomes, [], budget, [t for t in tables if t not in complete])}")


def _save(outcomes: Sequence[Outcome], absent: Sequence[str], budget: float, left: Sequence[str] = ()) -> Path:
    n = len({o.table for o in outcomes})
    measured = f"{n} of {n + len(left)}" + (f"; not run: {', '.join(left)}" if left else "")
    return save_findings(
        "compare-twelve-tables",
        "margin compare on twelve tables",
        protocol=f"A quarter of the rows (or the table's own test rows) set aside; {budget:g} seconds of processor time"
        " on one core for margin compare and FLAML, defaults for scikit-learn's models; LazyPredict's best row by a"
        " quarter of at most 2,000 training rows, fitted again to all of them. Ranks by the test rows.",
        command="python -m benchmarks.studies.compare",
        # A rank over a few of the tables is no evidence for the goal, whichever way it falls.
        findings=[
            Finding("tables", measured, "12", n == 12 and not left),
            *(replace(f, reached=None) if left else f for f in findings(outcomes, absent)),
        ],
        raw=[{**asdict(o), "score": None if o.score != o.score else o.score} for o in outcomes],
    )


def _kept(path: Path, budget: float) -> dict[tuple[str, int, str], Outcome]:
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    outcomes = [Outcome(**row["outcome"]) for row in rows if row["budget"] == budget]
    return {(o.table, o.seed, o.contender): o for o in outcomes}


def _keep(path: Path, budget: float, outcome: Outcome) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(json.dumps({"budget": budget, "outcome": asdict(outcome)}) + "\n")


if __name__ == "__main__":
    main()
