"""``python -m benchmarks.studies.fresh_rows``: is the winner of ``margin.compare`` as good on rows nobody has seen?

More than thirty public tables, most of them regressions, and a generated one of near-dependent, heavy-tailed columns. A
quarter of the rows is set aside; ``margin.compare`` gets the others and a budget in seconds of the clock, default
boosting gets the same rows. The error on the rows set aside is rmse, or one minus roc_auc. Printed and stored is our
error over the lesser one of the boosters, per table and seed, its worst and its median, and the prediction that is
farthest outside the training targets. A ratio above the goal on few rows may be chance: rows set aside are drawn again
with replacement, and the lower end of the ratio's interval says whether it is.

On a machine that others use the clock on the wall says how busy they are. ``--clock processor`` counts instead what the
comparison and its workers compute (:mod:`benchmarks.measuring.processor_clock`): what as many quiet cores as it has
processes would take. ``--beside-load`` runs everything beside a process that burns a core and says where another model
won than without. What is done is kept, and the same command goes on after a kill; ``--from-kept`` only stores what is
there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
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
from benchmarks.measuring import processor_clock
from benchmarks.measuring.evidence import Finding, save_findings
from benchmarks.peers.compare_contenders import DECIDES, Split, with_scikit_learn
from margin.metrics import Metric, UndefinedMetricError, metric

OURS, BOOSTERS = "margin compare", {"HistGradientBoosting": "sklearn", "LightGBM": "lightgbm"}
#: No fit may take longer than the budget and this many seconds of the clock on the wall.
BEYOND = 600
#: What a budget counts; a busy machine may need so many times as long on the wall.
WALL, PROCESSOR, BUSY = "wall", "processor", 20
#: A fraction of roc_auc that a few rows decide: errors below it count as this.
LEAST_ERROR = 1e-3
#: Goals: the median of the ratios, the worst of them, and lengths of the range that a prediction may lie outside it.
MEDIAN, WORST, OUTSIDE = 1.0, 1.2, 1.0
#: Draws of the rows set aside, and the tail of the interval that they give a ratio.
DRAWS, TAIL = 200, 0.025


@dataclass(frozen=True)
class Outcome:
    """``error`` on the rows set aside (NaN where it failed; ``note`` says why, or what was chosen), and how far the
    farthest prediction is outside the range of the training targets, in lengths of that range.

    ``sentence`` is what the comparison says of models that time left out; ``load`` is how many processes wanted to run
    in the last minute, this one included. ``draws`` are errors on rows drawn again from
    those set aside: the same rows for every contender."""

    table: str
    seed: int
    contender: str
    metric: str
    error: float
    outside: float
    seconds: float
    note: str = ""
    sentence: str = ""
    draws: tuple[float, ...] = ()
    load: float = 0.0


def run_here(name: str, seed: int, budget: float, who: str, jobs: int = 2, clock: str = WALL) -> Outcome:
    """One contender on one table, in this process."""
    data = divided(name, seed)
    entry = metric(DECIDES[data.task])
    if clock == PROCESSOR:
        processor_clock.install(jobs)
    started = time.monotonic()
    model, note = _fitted(who, data, budget, seed, jobs)
    seconds = time.monotonic() - started
    method = next(method for method in entry.methods if hasattr(model, method))
    output, classes = getattr(model, method)(data.test_X), getattr(model, "classes_", None)
    all_rows, *drawn = [
        _error(entry, output[rows], data.test_y[rows], classes) for rows in _rows(len(data.test_y), seed)
    ]
    return Outcome(
        name, seed, who, entry.name, all_rows, _outside(model, data), seconds, *note, tuple(drawn), os.getloadavg()[0]
    )


def _rows(n: int, seed: int) -> Iterator[np.ndarray]:
    """All rows, then draws of as many with replacement."""
    rng = np.random.default_rng(seed)
    yield np.arange(n)
    for _ in range(DRAWS):
        yield rng.integers(n, size=n)


def _error(entry: Metric, output: np.ndarray, y: np.ndarray, classes: Any) -> float:
    try:
        score = float(entry.of_output(output, None, y, classes))
    except UndefinedMetricError:  # a draw without rows of some class
        return float("nan")
    return max(1 - score, LEAST_ERROR) if entry.greater_is_better else score


def _fitted(who: str, data: Split, budget: float, seed: int, jobs: int) -> tuple[Any, tuple[str, str]]:
    if who == "HistGradientBoosting":
        return with_scikit_learn(who, data, seed)[0], ("", "")
    if who == "LightGBM":
        return _light_gbm(data, seed), ("", "")
    import margin
    from margin.service.comparison.caveats import cut_short
    from margin.service.comparison.other_libraries import installed_libraries

    options = {"metric": DECIDES[data.task], "budget": budget, "seed": seed, "n_jobs": jobs}
    # A row of another library cannot win; it would only take time.
    comparison = margin.compare(data.X, data.y, task=data.task, exclude=installed_libraries(), **options)
    return comparison.best_, (comparison.winner, cut_short(comparison))


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


def run(name: str, seed: int, budget: float, who: str, jobs: int = 2, clock: str = WALL) -> Outcome:
    """The same; ours in a process of its own, as a user starts it, and which may fail."""
    if who != OURS:
        return run_here(name, seed, budget, who)
    call = [sys.executable, "-m", "benchmarks.studies.fresh_rows", "--one", name, str(seed), str(budget), who]
    call += ["--jobs", str(jobs), "--clock", clock]
    patience = (budget + BEYOND) * (BUSY if clock == PROCESSOR else 1)
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=patience, check=False)
        line = (done.stdout.strip().splitlines() or [""])[-1]
        if line.startswith("{"):
            return Outcome(**json.loads(line))
        note = (done.stderr.strip().splitlines() or ["the process ended"])[-1][:160]
    except subprocess.TimeoutExpired:
        note = f"not done after {patience:g} s"
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
    for key, ours, others in _by_table(outcomes):
        errors = [o.error for o in others if o.error == o.error]
        if errors:
            found[key] = ours.error / min(errors) if ours.error == ours.error else float("inf")
    return found


def least_ratios(outcomes: Sequence[Outcome]) -> dict[tuple[str, int], float]:
    """The lower end of the interval of each ratio over the same draws of rows, to the booster that is better on all."""
    found = {}
    for key, ours, others in _by_table(outcomes):
        better = min((o for o in others if o.error == o.error), key=lambda o: o.error, default=None)
        if better is not None and ours.draws and len(ours.draws) == len(better.draws):
            found[key] = float(np.nanquantile(np.divide(ours.draws, better.draws), TAIL))
    return found


def _by_table(outcomes: Sequence[Outcome]) -> Iterator[tuple[tuple[str, int], Outcome, list[Outcome]]]:
    for key in dict.fromkeys((o.table, o.seed) for o in outcomes):
        ours = [o for o in outcomes if (o.table, o.seed) == key and o.contender == OURS]
        if ours:
            yield key, ours[0], [o for o in outcomes if (o.table, o.seed) == key and o.contender != OURS]


def other_winners(outcomes: Sequence[Outcome], without_load: Sequence[Outcome]) -> dict[tuple[str, int], Outcome]:
    """Where another model won than without load, what won; its sentence, if any, says that time decided."""
    quiet = {key: ours.note for key, ours, _ in _by_table(without_load)}
    return {key: ours for key, ours, _ in _by_table(outcomes) if quiet.get(key, ours.note) != ours.note}


def summary(outcomes: Sequence[Outcome]) -> str:
    """The ratio per table, the worst and the median, and the farthest prediction of ours."""
    found, least = ratios(outcomes), least_ratios(outcomes)
    if not found:
        return "nothing was compared"
    lines = [f"{table:<20} seed {seed}  {found[table, seed]:.3f}" for table, seed in found]
    worst = max(found, key=lambda key: found[key])
    beyond = [f"{table}, seed {seed}" for (table, seed), low in least.items() if low > WORST]
    far = max((o for o in outcomes if o.contender == OURS), key=lambda o: o.outside)
    lines.append(
        f"worst {found[worst]:.3f} ({worst[0]}, seed {worst[1]}), median {np.median(list(found.values())):.3f}"
    )
    lines.append(f"above {WORST:g} beyond chance: {'; '.join(beyond) or 'none'}")
    lines.append(f"farthest prediction: {far.outside:.3g} ranges of the training targets outside ({far.table})")
    return "\n".join(["", "our error over that of the better booster", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.fresh_rows", description=__doc__)
    parser.add_argument("--tables", default="", help=f"separated by commas; default: {', '.join(PUBLIC + GENERATED)}")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for margin compare, per table")
    parser.add_argument("--seeds", default="0,1,2", help="divisions into rows given and set aside, separated by commas")
    parser.add_argument("--jobs", type=int, default=2, help="processes of margin compare")
    parser.add_argument("--clock", choices=(WALL, PROCESSOR), default=WALL, help="what the budget counts")
    parser.add_argument("--max-rows", type=int, help="leave out tables that give more rows than these")
    parser.add_argument("--beside-load", action="store_true", help="beside a process that burns a core")
    parser.add_argument("--kept", type=Path, default=Path("build") / "fresh-rows.jsonl", help="what is done")
    parser.add_argument("--from-kept", action="store_true", help="run nothing")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, seed, budget, who = options.one
        print(json.dumps(asdict(run_here(name, int(seed), float(budget), who, options.jobs, options.clock))))
        return
    tables = options.tables.split(",") if options.tables else [t for t in PUBLIC + GENERATED if present(t)]
    tables = [name for name in tables if not options.max_rows or len(divided(name, 0).y) <= options.max_rows]
    keys = [(name, int(seed), who) for seed in options.seeds.split(",") for name in tables for who in contenders()]
    kept = Kept(options.kept, _circumstances(options, options.beside_load))
    if not options.from_kept:
        with load_beside(options.beside_load):
            for key in keys:
                if key not in kept.outcomes:
                    kept.add(run(*key[:2], options.budget, key[2], options.jobs, options.clock))
                    print(_line(kept.outcomes[key]), flush=True)
    outcomes = [kept.outcomes[key] for key in keys if key in kept.outcomes]
    print(summary(outcomes))
    if not options.tables:
        print(f"written to {_save(outcomes, options)}")


def _circumstances(options: argparse.Namespace, beside_load: bool) -> dict[str, Any]:
    return {"budget": options.budget, "clock": options.clock, "jobs": options.jobs, "beside_load": beside_load}


def contenders() -> list[str]:
    """Ours, and the boosters that are installed."""
    return [OURS, *(who for who, package in BOOSTERS.items() if importlib.util.find_spec(package))]


def _line(o: Outcome) -> str:
    return f"{o.table:<20} {o.seed} {o.contender:<21} {o.error:10.4g} {o.seconds:6.1f} s  {o.note}"


class Kept:
    """What is done under the same circumstances, line by line in a file."""

    def __init__(self, path: Path, circumstances: dict[str, Any]):
        self.path, self.circumstances = path, circumstances
        self.outcomes: dict[tuple[str, int, str], Outcome] = {}
        for row in map(json.loads, path.read_text().splitlines() if path.exists() else []):
            outcome = Outcome(**{**row["outcome"], "draws": tuple(row["outcome"]["draws"])})
            # Boosters do not look at the clock.
            if outcome.contender != OURS or row["circumstances"] == circumstances:
                self.outcomes[outcome.table, outcome.seed, outcome.contender] = outcome

    def add(self, outcome: Outcome) -> None:
        """Keep one more; a kill loses nothing that was done."""
        self.outcomes[outcome.table, outcome.seed, outcome.contender] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as file:
            file.write(json.dumps({"circumstances": self.circumstances, "outcome": asdict(outcome)}) + "\n")


def _save(outcomes: Sequence[Outcome], options: argparse.Namespace) -> Path:
    found, least = ratios(outcomes), least_ratios(outcomes)
    beside = " beside a process that burns a core" if options.beside_load else ""
    counted = "seconds of processor time" if options.clock == PROCESSOR else "seconds"
    name = "fresh-rows-beside-load" if options.beside_load else "fresh-rows"
    return save_findings(
        name,
        f"The winner of margin compare on rows it never saw{beside}",
        protocol=f"A quarter of the rows (or the table's own test rows) set aside; margin compare with a budget of"
        f" {options.budget:g} {counted} and n_jobs={options.jobs}{beside}, {' and '.join(contenders()[1:])} at"
        f" defaults; seeds {options.seeds}."
        " Error is rmse or 1 - roc_auc on the rows set aside; ratios to the better booster, with the lower end of their"
        " 95 % interval over draws of those rows.",
        command=f"python -m benchmarks.studies.fresh_rows --budget {options.budget:g} --seeds {options.seeds}"
        f" --clock {options.clock} --jobs {options.jobs}" + (" --beside-load" if options.beside_load else ""),
        findings=[
            *_findings(outcomes),
            *(_same_winners(outcomes, options) if options.beside_load else ()),
            *(
                Finding(f"{table}, seed {seed}", f"{ratio:.3f} (at least {least.get((table, seed), ratio):.3f})")
                for (table, seed), ratio in found.items()
            ),
        ],
        raw=[_row(o) for o in outcomes],
        threads=options.jobs,
    )


def _findings(outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    found, least = ratios(outcomes), least_ratios(outcomes)
    tables = len({table for table, _ in found})
    regressions = len({o.table for o in outcomes if o.metric == "rmse" and (o.table, o.seed) in found})
    loads = [o.load for o in outcomes if o.contender == OURS]
    yield Finding("processes that wanted to run, median", f"{np.median(loads):.1f} on {os.cpu_count()} cores")
    yield Finding("tables", f"{tables}, {regressions} of them regressions", "at least 20", regressions >= 20)
    median, worst = float(np.median(list(found.values()))), max(found.values())
    yield Finding("median ratio of errors", f"{median:.3f}", f"below {MEDIAN:g}", median < MEDIAN)
    yield Finding("worst ratio of errors", f"{worst:.3f}", f"at most {WORST:g}", worst <= WORST)
    beyond = [f"{table}, seed {seed}" for (table, seed), low in least.items() if low > WORST]
    yield Finding(f"ratios above {WORST:g} beyond chance", "; ".join(beyond) or "none", "none", not beyond)
    outside = max(o.outside for o in outcomes if o.contender == OURS)
    yield Finding(
        "farthest prediction outside the targets", f"{outside:.3g} ranges", f"{OUTSIDE:g}", outside <= OUTSIDE
    )


def _same_winners(outcomes: Sequence[Outcome], options: argparse.Namespace) -> Iterator[Finding]:
    quiet = Kept(options.kept, _circumstances(options, beside_load=False)).outcomes
    changed = other_winners(outcomes, list(quiet.values()))
    silent = [f"{table}, seed {seed}" for (table, seed), ours in changed.items() if not ours.sentence]
    both = ratios(outcomes).keys() & ratios(list(quiet.values())).keys()
    yield Finding("other winners than without load", f"{len(changed)} of {len(both)} that ran in both")
    yield Finding("of these without a sentence on time", "; ".join(silent) or "none", "none", not silent)


def _row(o: Outcome) -> dict[str, Any]:
    row = {**asdict(o), "error": None if o.error != o.error else o.error}
    del row["draws"]
    return row


if __name__ == "__main__":
    main()
