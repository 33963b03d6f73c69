"""``python -m benchmarks.studies.fresh_rows``: is the winner of ``margin.compare`` as good on rows nobody has seen?

More than twenty public tables and a generated one of near-dependent, heavy-tailed columns. A quarter of the rows is set
aside; ``margin.compare`` gets the others and a budget in seconds of the clock, default boosting gets the same rows. The
error on the rows set aside is rmse, or one minus roc_auc. Printed and stored is our error over the lesser one of the
boosters, per table, its worst and its median, and the prediction that is farthest outside the training targets. What is
done is kept, and the same command goes on after a kill.

``--beside-load`` runs everything beside a process that burns a core.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data.public_tables import GENERATED, PUBLIC, divided, present
from benchmarks.measuring.evidence import Finding, save_findings
from benchmarks.peers.compare_contenders import DECIDES, Split, with_scikit_learn
from margin.metrics import metric

OURS, BOOSTERS = "margin compare", {"HistGradientBoosting": "sklearn", "LightGBM": "lightgbm"}
#: No fit may take longer than the budget and this many seconds of the clock on the wall.
BEYOND = 600
#: A fraction of roc_auc that a few rows decide: errors below it count as this.
LEAST_ERROR = 1e-3
#: Goals: the median of the ratios, the worst of them, and lengths of the range that a prediction may lie outside it.
MEDIAN, WORST, OUTSIDE = 1.05, 1.5, 1.0


@dataclass(frozen=True)
class Outcome:
    """``error`` on the rows set aside (NaN where it failed; ``note`` says why, or what was chosen), and how far the
    farthest prediction is outside the range of the training targets, in lengths of that range."""

    table: str
    seed: int
    contender: str
    metric: str
    error: float
    outside: float
    seconds: float
    note: str = ""


def run_here(name: str, seed: int, budget: float, who: str) -> Outcome:
    """One contender on one table, in this process."""
    data = divided(name, seed)
    entry, started = metric(DECIDES[data.task]), time.monotonic()
    model, note = _fitted(who, data, budget, seed)
    seconds = time.monotonic() - started
    score = entry.measure(model, data.test_X, data.test_y)
    error = max(1 - score, LEAST_ERROR) if entry.greater_is_better else score
    return Outcome(name, seed, who, entry.name, float(error), _outside(model, data), seconds, note)


def _fitted(who: str, data: Split, budget: float, seed: int) -> tuple[Any, str]:
    if who == "HistGradientBoosting":
        return with_scikit_learn(who, data, seed)
    if who == "LightGBM":
        return _light_gbm(data, seed), ""
    import margin

    comparison = margin.compare(
        data.X, data.y, task=data.task, metric=DECIDES[data.task], budget=budget, seed=seed, n_jobs=2
    )
    return comparison.best_, comparison.winner


def _light_gbm(data: Split, seed: int) -> Any:
    """Defaults, with labels as its categories."""
    import lightgbm
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    names = [name for name in data.X if data.X[name].dtype.kind not in "biuf"]
    known = {name: sorted(data.X[name].dropna().astype(str).unique()) for name in names}

    def coded(frame: Any) -> Any:
        import pandas as pd

        columns = {name: pd.Categorical(frame[name].astype(str), categories=known[name]) for name in known}
        return frame.assign(**columns)

    kind = lightgbm.LGBMClassifier if data.task == "classification" else lightgbm.LGBMRegressor
    model = make_pipeline(FunctionTransformer(coded), kind(random_state=seed, verbose=-1))
    return model.fit(data.X, data.y)


def _outside(model: Any, data: Split) -> float:
    if data.task == "classification":
        return 0.0
    predicted = np.asarray(model.predict(data.test_X), dtype=float)
    low, high = float(data.y.min()), float(data.y.max())
    return float(np.maximum(low - predicted, predicted - high).max(initial=0.0) / (high - low))


def run(name: str, seed: int, budget: float, who: str) -> Outcome:
    """The same in a process of its own, which may fail."""
    call = [sys.executable, "-m", "benchmarks.studies.fresh_rows", "--one", name, str(seed), str(budget), who]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=budget + BEYOND, check=False)
        line = (done.stdout.strip().splitlines() or [""])[-1]
        if line.startswith("{"):
            return Outcome(**json.loads(line))
        note = (done.stderr.strip().splitlines() or ["the process ended"])[-1][:160]
    except subprocess.TimeoutExpired:
        note = f"not done after {budget + BEYOND:g} s"
    return Outcome(name, seed, who, "", float("nan"), 0.0, 0.0, note)


@contextmanager
def load_beside(wanted: bool) -> Iterator[None]:
    """A process that burns a core meanwhile."""
    burning = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if burning is not None:
            burning.kill()
            burning.wait()


def ratios(outcomes: Sequence[Outcome]) -> dict[tuple[str, int], float]:
    """Our error over the least one of the boosters, per table and seed; infinite where only we failed.

    >>> rows = [("margin compare", 1.0), ("HistGradientBoosting", 2.0), ("LightGBM", 4.0)]
    >>> ratios([Outcome("t", 0, who, "rmse", error, 0.0, 1.0) for who, error in rows])
    {('t', 0): 0.5}
    """
    found = {}
    for key in dict.fromkeys((o.table, o.seed) for o in outcomes):
        errors = {o.contender: o.error for o in outcomes if (o.table, o.seed) == key}
        others = [error for who, error in errors.items() if who != OURS and error == error]
        if OURS in errors and others:
            found[key] = errors[OURS] / min(others) if errors[OURS] == errors[OURS] else float("inf")
    return found


def summary(outcomes: Sequence[Outcome]) -> str:
    """The ratio per table, the worst and the median, and the farthest prediction of ours."""
    found = ratios(outcomes)
    lines = [f"{table:<20} seed {seed}  {ratio:.3f}" for (table, seed), ratio in found.items()]
    if not found:
        return "nothing was compared"
    worst = max(found, key=lambda key: found[key])
    far = max((o for o in outcomes if o.contender == OURS), key=lambda o: o.outside)
    lines.append(
        f"worst {found[worst]:.3f} ({worst[0]}, seed {worst[1]}), median {np.median(list(found.values())):.3f}"
    )
    lines.append(f"farthest prediction: {far.outside:.3g} ranges of the training targets outside ({far.table})")
    return "\n".join(["", "our error over that of the better booster", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.fresh_rows", description=__doc__)
    parser.add_argument("--tables", default="", help=f"separated by commas; default: {', '.join(PUBLIC + GENERATED)}")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for margin compare, per table")
    parser.add_argument("--seeds", default="0", help="divisions into rows given and set aside, separated by commas")
    parser.add_argument("--beside-load", action="store_true", help="beside a process that burns a core")
    parser.add_argument("--kept", type=Path, default=Path("build") / "fresh-rows.jsonl", help="what is done")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, seed, budget, who = options.one
        print(json.dumps(asdict(run_here(name, int(seed), float(budget), who))))
        return
    tables = options.tables.split(",") if options.tables else [t for t in PUBLIC + GENERATED if present(t)]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    contenders = [OURS, *(who for who, package in BOOSTERS.items() if importlib.util.find_spec(package))]
    circumstances = {"budget": options.budget, "beside_load": options.beside_load}
    kept = _kept(options.kept, circumstances)
    outcomes = []
    with load_beside(options.beside_load):
        for key in [(name, seed, who) for name in tables for seed in seeds for who in contenders]:
            if key not in kept:
                kept[key] = run(key[0], key[1], options.budget, key[2])
                _keep(options.kept, circumstances, kept[key])
            o = kept[key]
            outcomes.append(o)
            print(f"{o.table:<20} {o.seed} {o.contender:<21} {o.error:10.4g} {o.seconds:6.1f} s  {o.note}", flush=True)
    print(summary(outcomes))
    if not options.tables:
        print(f"written to {_save(outcomes, contenders, options)}")


def _save(outcomes: Sequence[Outcome], contenders: Sequence[str], options: argparse.Namespace) -> Path:
    found = ratios(outcomes)
    worst, median = max(found.values()), float(np.median(list(found.values())))
    outside = max(o.outside for o in outcomes if o.contender == OURS)
    beside = " beside a process that burns a core" if options.beside_load else ""
    name = "fresh-rows-beside-load" if options.beside_load else "fresh-rows"
    return save_findings(
        name,
        "The winner of margin compare on rows it never saw",
        protocol=f"A quarter of the rows (or the table's own test rows) set aside; margin compare with a budget of"
        f" {options.budget:g} seconds{beside}, {' and '.join(contenders[1:])} at defaults; seeds {options.seeds}."
        " Error is rmse or 1 - roc_auc on the rows set aside; ratios to the better booster.",
        command=f"python -m benchmarks.studies.fresh_rows --budget {options.budget:g} --seeds {options.seeds}"
        + (" --beside-load" if options.beside_load else ""),
        findings=[
            Finding("tables", str(len({table for table, _ in found})), "at least 20", len(found) >= 20),
            Finding("median ratio of errors", f"{median:.3f}", f"at most {MEDIAN}", median <= MEDIAN),
            Finding("worst ratio of errors", f"{worst:.3f}", f"at most {WORST}", worst <= WORST),
            Finding(
                "farthest prediction outside the targets", f"{outside:.3g} ranges", f"{OUTSIDE:g}", outside <= OUTSIDE
            ),
            *(Finding(f"{table}, seed {seed}", f"{ratio:.3f}") for (table, seed), ratio in found.items()),
        ],
        raw=[{**asdict(o), "error": None if o.error != o.error else o.error} for o in outcomes],
        threads=2,
    )


def _kept(path: Path, circumstances: dict[str, Any]) -> dict[tuple[str, int, str], Outcome]:
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    outcomes = [Outcome(**row["outcome"]) for row in rows if row["circumstances"] == circumstances]
    return {(o.table, o.seed, o.contender): o for o in outcomes}


def _keep(path: Path, circumstances: dict[str, Any], outcome: Outcome) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(json.dumps({"circumstances": circumstances, "outcome": asdict(outcome)}) + "\n")


if __name__ == "__main__":
    main()
