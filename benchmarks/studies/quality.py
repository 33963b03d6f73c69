"""``python -m benchmarks.studies.quality``: how well our models predict at defaults, against their namesakes.

Every class that scikit-learn has under the same name is fitted at its defaults on the same rows and judged on the same
test rows of twelve tables, over several splits. A difference is told with its interval, corrected for splits that share
rows (Nadeau and Bengio); what is worse beyond it is printed as a loss. Networks for tables stand beside pytabkit's
RealMLP where that is installed. Needs ``MARGIN_DATA`` for eight of the tables.

Every run is stored as soon as its split of a table is done, and the same command goes on where it was ended;
``--again RandomForest`` measures the models whose name contains this anew.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data.tables import NAMES, has_real
from benchmarks.measuring.evidence import FULL_SCALE, Finding, save_findings
from margin import catalog
from margin.data import load

BUNDLED = ("breast-cancer", "digits", "diabetes", "wine")
REAL = ("abalone", "banknote", "california-housing", "german-credit", "mammography", "pima", "sonar", "titanic")
MOST_ROWS = 1500
HOMES = (
    "linear_model", "ensemble", "tree", "svm", "neighbors", "naive_bayes", "discriminant_analysis", "neural_network",
    "gaussian_process",
)  # fmt: skip
# Counts, categories and single bits are other tables than these; bags of one weak model say little.
LEFT_OUT = {"MultinomialNB", "BernoulliNB", "CategoricalNB", "ComplementNB", "BaggingClassifier", "BaggingRegressor"}
MOST_FOR_CUBIC = 400  # rows that models of cubic cost are given
CUBIC = {"GaussianProcessClassifier", "GaussianProcessRegressor"}
NAME = "quality"
LEAST_DIFFERENCE = 1e-4  # of the loss: solvers of one convex problem with a tolerance end so far apart
Run = dict[str, Any]  # table, model, split, and loss and seconds of ours and theirs


def table(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Numbers only: categories as indicators, missing numbers as the median, at most ``MOST_ROWS`` rows."""
    import pandas as pd

    dataset = load(name)
    X = dataset.X.to_pandas() if hasattr(dataset.X, "to_pandas") else pd.DataFrame(np.asarray(dataset.X))
    X = X.drop(columns=[column for column in NAMES.get(name, ()) if column in X])
    numbers = X.select_dtypes("number").astype(float)
    parts = [numbers.fillna(numbers.median())]
    named = X.select_dtypes(exclude="number")
    if named.shape[1]:
        parts.append(pd.get_dummies(named.astype(str)).astype(float))
    y = np.asarray(dataset.y)
    y = np.unique(y.astype(str), return_inverse=True)[1] if dataset.task == "classification" else y.astype(float)
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return pd.concat(parts, axis=1).to_numpy()[rows], y[rows], dataset.task


def contenders(task: str, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Name, ours and the peer, both at defaults."""
    for entry in catalog.ENTRIES:
        if entry.task != task:
            continue
        ours = catalog.class_of(entry.name)
        theirs = next((found for home in HOMES if (found := _class(f"sklearn.{home}", ours.__name__))), None)
        if theirs is not None and ours.__name__ not in LEFT_OUT:
            yield ours.__name__, _seeded(ours, seed), _seeded(theirs, seed)
    if importlib.util.find_spec("pytabkit"):
        kind = "Classifier" if task == "classification" else "Regressor"
        theirs = getattr(importlib.import_module("pytabkit"), f"RealMLP_TD_S_{kind}")
        ours = getattr(importlib.import_module("margin.neural"), f"TabularNet{kind}")
        yield f"TabularNet{kind} / RealMLP", ours(random_state=seed), theirs(random_state=seed, n_threads=1)


def _class(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name, None)


def _seeded(cls: Any, seed: int) -> Any:
    model = cls()
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def judged(model: Any, data: tuple[np.ndarray, ...], task: str) -> dict[str, float]:
    """Log-loss (or the error rate without probabilities), or the error in deviations of y; smaller is better."""
    from sklearn.metrics import log_loss

    X, y, test_X, test_y = data
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - began
    if task == "regression":
        loss = float(np.sqrt(np.mean((model.predict(test_X).reshape(-1) - test_y) ** 2)) / test_y.std())
    elif hasattr(model, "predict_proba"):
        loss = float(log_loss(test_y, model.predict_proba(test_X), labels=np.unique(y)))
    else:
        loss = float(np.mean(model.predict(test_X) != test_y))
    return {"loss": loss, "seconds": seconds}


def runs_of(name: str, split: int, wanted: Any) -> Iterator[Run]:
    """The contenders for which ``wanted(table, model, split)`` on one split of one table."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y, task = table(name)
    labels = y if task == "classification" else None
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=split, stratify=labels)
    scaler = StandardScaler().fit(X[train])
    data = scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    for k, (model, ours, theirs) in enumerate(contenders(task, split)):
        if not wanted(name, model, split):
            continue
        rows = slice(MOST_FOR_CUBIC if model in CUBIC else None)
        given = data[0][rows], data[1][rows], data[2], data[3]
        order = (("ours", ours), ("theirs", theirs)) if (split + k) % 2 else (("theirs", theirs), ("ours", ours))
        run: Run = {"table": name, "model": model, "split": split}
        for who, each in order:
            try:
                run[who] = judged(each, given, task)
            except Exception as error:  # a table that one of them refuses is a result, not the end
                run[f"{who}_failed"] = f"{type(error).__name__}: {error}".splitlines()[0]
        yield run


def summary(runs: list[Run]) -> list[dict[str, Any]]:
    """One row per table and model."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if "ours" in run and "theirs" in run:
            groups.setdefault((run["table"], run["model"]), []).append(run)
    return [{"table": name, "model": model, **difference(group)} for (name, model), group in groups.items()]


def difference(runs: list[Run]) -> dict[str, Any]:
    """Mean losses, their difference with a 95 % interval, and the ratio of times."""
    from scipy.stats import t

    losses = np.array([[run["ours"]["loss"], run["theirs"]["loss"]] for run in runs])
    seconds = np.array([[run["ours"]["seconds"], run["theirs"]["seconds"]] for run in runs])
    gap = losses[:, 0] - losses[:, 1]
    n = len(gap)
    # Splits share training rows, so their differences are not independent: the variance of the mean gets the
    # fraction of test to training rows besides.
    least = LEAST_DIFFERENCE * float(losses[:, 1].mean())
    half = float(t.ppf(0.975, n - 1) * np.sqrt((1 / n + 0.25 / 0.75) * gap.var(ddof=1))) if n > 1 else float("inf")
    return {
        "splits": n,
        "ours": float(losses[:, 0].mean()),
        "theirs": float(losses[:, 1].mean()),
        "difference": float(gap.mean()),
        "interval": half,
        "worse": bool(gap.mean() > half + least),
        "better": bool(gap.mean() < -half - least),
        "time_ratio": float(seconds[:, 1].min() / max(seconds[:, 0].min(), 1e-9)),
    }


def failures(runs: list[Run]) -> list[Finding]:
    """Tables that ours or theirs refused; what ours refuses and theirs takes is a miss."""
    errors: dict[tuple[str, str, str], str] = {}
    for run in runs:
        for who in ("ours", "theirs"):
            if f"{who}_failed" in run:
                errors[run["table"], run["model"], who] = run[f"{who}_failed"]
    both = {(name, model) for name, model, who in errors if who == "theirs"}
    return [
        Finding(f"{model} on {name}", f"{who} failed: {error}", "", (name, model) in both if who == "ours" else None)
        for (name, model, who), error in errors.items()
    ]


def findings(rows: list[dict[str, Any]]) -> list[Finding]:
    """One line per model: on how many tables better, even, worse, and by how much where worse."""
    listed = []
    for model in sorted({row["model"] for row in rows}):
        mine = [row for row in rows if row["model"] == model]
        worse = [row for row in mine if row["worse"]]
        better = sum(row["better"] for row in mine)
        summary = f"better {better}, even {len(mine) - better - len(worse)}, worse {len(worse)} of {len(mine)} tables"
        summary += "".join(
            f"; {row['table']} {row['ours']:.4f} against {row['theirs']:.4f} (difference {row['difference']:+.4f}"
            f" ± {row['interval']:.4f})"
            for row in worse
        )
        ratio = float(np.exp(np.mean([np.log(row["time_ratio"]) for row in mine])))
        summary += f"; their time / ours {ratio:.2f}"
        listed.append(Finding(model, summary, "on no table worse beyond the interval", not worse))
    return listed


def store(runs: list[Run]) -> None:
    rows = summary(runs)
    if not rows:
        return
    splits = sorted({row["splits"] for row in rows})
    spread = str(splits[0]) if len(splits) == 1 else f"{splits[0]} to {splits[-1]}"
    save_findings(
        NAME,
        "Predictions at defaults against scikit-learn's classes of the same names",
        protocol=(
            f"{len({row['table'] for row in rows})} tables of at most {MOST_ROWS} rows, columns standardized, "
            f"{spread} splits of 3 to 1; log-loss, error rate without probabilities, or RMSE in deviations of y; "
            "95 % intervals with Nadeau and Bengio's correction, differences below a ten-thousandth are none; Gaussian "
            f"processes on {MOST_FOR_CUBIC} rows."
        ),
        command="python -m benchmarks.studies.quality",
        findings=findings([row for row in rows if np.isfinite(row["interval"])]) + failures(runs),
        raw=runs,
    )


def stored() -> list[Run]:
    path = FULL_SCALE / f"{NAME}.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["raw"]) if path.exists() else []


def show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        mark = "  WORSE" if row["worse"] else ""
        print(
            f"{row['table']:20s} {row['model']:34s} ours {row['ours']:.4f}  theirs {row['theirs']:.4f}  "
            f"difference {row['difference']:+.4f} ± {row['interval']:.4f}  time x{row['time_ratio']:.2f}{mark}"
        )
    print(f"{len(rows)} comparisons, {sum(row['worse'] for row in rows)} worse beyond their interval")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.quality", description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tables", default=None, help="Names separated by commas.")
    parser.add_argument("--only", default="", help="Models whose name contains this.")
    parser.add_argument("--without", default=None, help="No models whose name contains this.")
    parser.add_argument("--again", default=None, help="Forget what is stored of models whose name contains this.")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="Ends after the split under way.")
    options = parser.parse_args()
    names = options.tables.split(",") if options.tables else [*BUNDLED, *(REAL if has_real() else ())]
    runs = [run for run in stored() if not options.again or options.again not in run["model"]]
    end = time.monotonic() + 60 * options.minutes
    done = {(run["table"], run["model"], run["split"]) for run in runs}

    def wanted(name: str, model: str, split: int) -> bool:
        left_out = options.without is not None and options.without in model
        return options.only in model and not left_out and (name, model, split) not in done

    for split in range(options.splits):  # every table once before any is repeated
        for name in names:
            if time.monotonic() < end:
                runs.extend(runs_of(name, split, wanted))
                store(runs)
    show(summary(runs))


if __name__ == "__main__":
    main()
