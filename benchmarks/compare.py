"""``python -m benchmarks.compare``: what ``margin.compare`` picks against what one would run instead, on unseen rows.

Twelve tables; test rows are set aside before anyone sees anything. Contenders with a budget get the same one. Quality
is roc_auc (mean over classes, greater is better) or rmse on the test rows; beside it stand the mean rank over the
tables and every table that margin loses. Contenders that are not installed are named as absent.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import conditions
from margin.data import load, random_split, stratified_split
from margin.metrics import metric

BUNDLED = ("breast-cancer", "wine", "digits", "diabetes")
FILES = (
    "abalone", "adult", "california-housing", "german-credit", "mammography", "pima", "titanic", "wine-quality-red"
)  # fmt: skip
DECIDES = {"classification": "roc_auc", "regression": "rmse"}
# A name per row, which contenders without a reading of columns could only stumble over; margin finds that out itself.
NAMES = {"titanic": ("Name", "Ticket", "Cabin")}


@dataclass(frozen=True)
class Split:
    """One table, divided; ``X`` are data frames as read."""

    name: str
    task: str
    X: Any
    y: np.ndarray
    test_X: Any
    test_y: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """What a contender reached on a table, and in how many seconds; ``note`` says what it chose or why it failed."""

    table: str
    seed: int
    contender: str
    metric: str
    score: float
    seconds: float
    note: str = ""


def split(name: str, seed: int) -> Split:
    """The table's own test rows, or a quarter drawn by ``seed``."""
    dataset = load(name)
    whole = dataset.table()
    X, y = whole.split_target(dataset.target)
    if dataset.split is not None:
        train, test = dataset.split
    else:
        divided = (
            stratified_split(y, 0.25, seed) if dataset.task == "classification" else random_split(len(y), 0.25, seed)
        )
        train, test = divided
    frame = X.to_pandas()
    return Split(name, dataset.task, frame.iloc[train], y[train], frame.iloc[test], y[test])


def with_margin(data: Split, budget: float, seed: int) -> tuple[Any, str]:
    import margin

    found = margin.compare(data.X, data.y, task=data.task, metric=DECIDES[data.task], budget=budget, seed=seed)
    return found.best_, found.winner


def with_scikit_learn(name: str, data: Split, seed: int) -> tuple[Any, str]:
    """Defaults, behind what they need: codes for labels, and for the forest something in place of missing values."""
    from sklearn import ensemble
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    kind = "Classifier" if data.task == "classification" else "Regressor"
    model = getattr(ensemble, f"{name}{kind}")(random_state=seed)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    labels = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer(
        ("drop", [c for c in NAMES.get(data.name, ()) if c in data.X.columns]), (codes, labels), remainder="passthrough"
    )
    steps = [columns, *([SimpleImputer(strategy="median")] if name == "RandomForest" else []), model]
    return make_pipeline(*steps).fit(data.X, data.y), ""


def with_flaml(data: Split, budget: float, seed: int) -> tuple[Any, str]:
    from flaml import AutoML

    model = AutoML()
    names = {"roc_auc": "roc_auc" if len(np.unique(data.y)) == 2 else "roc_auc_ovr", "rmse": "rmse"}
    model.fit(
        data.X, data.y, task=data.task, metric=names[DECIDES[data.task]], time_budget=budget, seed=seed, verbose=0
    )
    return model, str(model.best_estimator)


def with_lazy_predict(data: Split, seed: int) -> tuple[Any, str]:
    """Its best row by a quarter of the training rows, fitted again to all of them."""
    from lazypredict.Supervised import LazyClassifier, LazyRegressor

    cls = LazyClassifier if data.task == "classification" else LazyRegressor
    lazy = cls(verbose=0, ignore_warnings=True, random_state=seed)
    train, held = random_split(len(data.y), 0.25, seed)
    board, _ = lazy.fit(data.X.iloc[train], data.X.iloc[held], data.y[train], data.y[held])
    best = str(board.index[0])
    again = (
        cls(verbose=0, ignore_warnings=True, random_state=seed, classifiers=[best])
        if data.task == "classification"
        else cls(verbose=0, ignore_warnings=True, random_state=seed, regressors=[best])
    )
    again.fit(data.X, data.X.iloc[held], data.y, data.y[held])
    return again.models[best], best


Contender = tuple[str, str, Callable[[Split, float, int], tuple[Any, str]]]

CONTENDERS: tuple[Contender, ...] = (
    ("margin compare", "margin", with_margin),
    ("HistGradientBoosting", "sklearn", lambda data, _, seed: with_scikit_learn("HistGradientBoosting", data, seed)),
    ("RandomForest", "sklearn", lambda data, _, seed: with_scikit_learn("RandomForest", data, seed)),
    ("FLAML", "flaml", with_flaml),
    ("LazyPredict", "lazypredict", lambda data, _, seed: with_lazy_predict(data, seed)),
)


def run(name: str, seed: int, budget: float, contenders: Sequence[Contender]) -> list[Outcome]:
    """Every contender on one table; one that fails gets a row with the reason and the last rank."""
    data = split(name, seed)
    entry = metric(DECIDES[data.task])
    outcomes = []
    for who, _, fit in contenders:
        started = time.perf_counter()
        try:
            model, note = fit(data, budget, seed)
            seconds = time.perf_counter() - started
            score = entry.measure(model, data.test_X, data.test_y)
        except Exception as error:
            score, seconds, note = float("nan"), time.perf_counter() - started, f"{type(error).__name__}: {error}"[:80]
        outcomes.append(Outcome(name, seed, who, entry.name, score, seconds, note))
        print(f"{name:<20} {who:<22} {entry.name} {score:.4f}  {seconds:6.1f} s  {note}", flush=True)
    return outcomes


def ranks(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Rank of every contender on every table and seed, 1 the best; equal scores share the mean of their ranks.

    >>> rows = [Outcome("t", 0, who, "rmse", score, 1.0) for who, score in (("a", 1.0), ("b", 1.0), ("c", 3.0))]
    >>> ranks(rows)
    {'a': [1.5], 'b': [1.5], 'c': [3.0]}
    """
    found: dict[str, list[float]] = {}
    for key in dict.fromkeys((o.table, o.seed) for o in outcomes):
        rows = [o for o in outcomes if (o.table, o.seed) == key]
        sign = -1 if metric(rows[0].metric).greater_is_better else 1
        values = np.array([sign * o.score if o.score == o.score else np.inf for o in rows])
        for o, value in zip(rows, values):
            found.setdefault(o.contender, []).append(float((values < value).sum() + ((values == value).sum() + 1) / 2))
    return found


def summary(outcomes: Sequence[Outcome]) -> str:
    """Mean ranks, and where margin loses, to whom and by how much."""
    lines = ["", "mean rank over tables (1 is best)"]
    by_rank = sorted(ranks(outcomes).items(), key=lambda pair: float(np.mean(pair[1])))
    lines += [f"  {who:<22} {np.mean(found):.2f}" for who, found in by_rank]
    lost = []
    for key in dict.fromkeys((o.table, o.seed) for o in outcomes):
        rows = {o.contender: o for o in outcomes if (o.table, o.seed) == key}
        ours = rows["margin compare"]
        entry = metric(ours.metric)
        lost += [
            f"  {ours.table}: {entry.name} {ours.score:.4f} against {o.score:.4f} of {o.contender}"
            for o in rows.values()
            if o.score == o.score and (ours.score != ours.score or entry.better(o.score, ours.score))
        ]
    return "\n".join([*lines, f"losses: {len(lost)}", *lost])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--tables", default="", help=f"separated by commas; default: {', '.join(BUNDLED + FILES)}")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds per table for whoever takes a budget")
    parser.add_argument("--seeds", type=int, default=1, help="how many divisions into training and test rows")
    options = parser.parse_args()
    tables = options.tables.split(",") if options.tables else list(BUNDLED)
    if not options.tables and os.environ.get("MARGIN_DATA"):
        tables += FILES
    elif not options.tables:
        print(f"MARGIN_DATA is not set: without {', '.join(FILES)}")
    present = [c for c in CONTENDERS if importlib.util.find_spec(c[1])]
    for who in [c[0] for c in CONTENDERS if c not in present]:
        print(f"{who} is not installed and does not take part")
    outcomes = [o for name in tables for seed in range(options.seeds) for o in run(name, seed, options.budget, present)]
    print(summary(outcomes))
    if not options.tables:
        path = Path(__file__).parent / "results" / "compare" / "outcomes.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        facts = {"conditions": conditions(os.cpu_count() or 1), "budget": options.budget}
        path.write_text(json.dumps({**facts, "outcomes": [asdict(o) for o in outcomes]}, indent=2))
        print(f"written to {path}")


if __name__ == "__main__":
    main()
