"""Tables larger than memory: time and peak memory by rows: ``python -m benchmarks.studies.scale [--millions 1 4 16]``.

Every case is a process of its own with one thread, which reads a folder of Parquet files of 20 columns and fits one
model: ours on a stream, ours on the table in memory, scikit-learn by ``partial_fit`` on batches of the same files.
Reading counts. Memory is the highest resident size of the process above the size after a small fit has loaded what the
library loads; time is processor time. The tables are written to a temporary folder, which is removed at the end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.harness import same_threads
from benchmarks.measuring.memory import FORGET, give_back, kilobytes
from benchmarks.measuring.study import Row, Study, run

COLUMNS, FILES, GROUP_ROWS, BATCH_ROWS = 20, 8, 100_000, 65_536
TASKS = {
    "least squares": "price",
    "naive Bayes": "label",
    "principal components": None,
    "median, scale, ridge": "price",
}
WAYS = ("stream", "memory", "partial_fit")
NAMES = {"stream": "ours on a stream", "memory": "ours in memory", "partial_fit": "scikit-learn, partial_fit"}
GROWTH, SLOWER = 1.2, 1.3  # goals: memory of four times the rows, time of a stream beside that in memory
FEATURES = [f"x{j}" for j in range(COLUMNS)]


def write_table(folder: Path, rows: int, seed: int) -> None:
    """Files of a table in which a price and three labels depend on correlated columns."""
    import pandas as pd

    folder.mkdir(parents=True)
    mix = np.random.default_rng(0).normal(size=(COLUMNS, COLUMNS)) / COLUMNS**0.5
    for i in range(FILES):
        rng = np.random.default_rng([seed, i])
        n = rows // FILES
        label = rng.integers(3, size=n)
        X = rng.normal(size=(n, COLUMNS)) @ mix + 0.5 * label[:, None] * mix[0] + 3.0
        frame = pd.DataFrame(X, columns=FEATURES)
        frame["price"], frame["label"] = X @ mix[1] + rng.normal(size=n), label
        frame.to_parquet(folder / f"{i}.parquet", row_group_size=GROUP_ROWS)


def fit_stream(task: str, folder: Path) -> Any:
    import margin

    target = TASKS[task]
    rows = margin.stream(folder, target, columns=FEATURES)
    if task != "median, scale, ridge":
        return _ours(task).fit(rows)
    from sklearn.pipeline import Pipeline

    from margin.data.streams import fit_preparation

    prepare = fit_preparation(_preparation(rows.head(1_000).X), rows)
    return Pipeline([("prepare", prepare), ("model", _ours(task).fit(rows.map(prepare.transform)))])


def fit_memory(task: str, folder: Path) -> Any:
    import pandas as pd
    from sklearn.pipeline import Pipeline

    target = TASKS[task]
    table = pd.read_parquet(folder, columns=FEATURES + ([target] if target else []))
    y = table.pop(target) if target else None
    if task != "median, scale, ridge":
        return _ours(task).fit(table, y)
    return Pipeline([("prepare", _preparation(table[:1_000])), ("model", _ours(task))]).fit(table, y)


def fit_partial(task: str, folder: Path) -> Any:
    """The estimator of scikit-learn that learns from batches; its gradient steps are no exact least squares."""
    from sklearn.decomposition import IncrementalPCA
    from sklearn.linear_model import SGDRegressor
    from sklearn.naive_bayes import GaussianNB

    target = TASKS[task]
    if task == "naive Bayes":
        model, options = GaussianNB(), {"classes": [0, 1, 2]}
    elif task == "principal components":
        model, options = IncrementalPCA(10), {}
    else:
        model, options = SGDRegressor(random_state=0), {}
    for X, y in _batches(folder, target):
        model.partial_fit(X, *(() if target is None else (y,)), **options)
    return model


def _batches(folder: Path, target: str | None) -> Iterator[tuple[np.ndarray, Any]]:
    from pyarrow import parquet

    columns = FEATURES + ([target] if target else [])
    for path in sorted(folder.glob("*.parquet")):
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
                frame = batch.to_pandas()
                yield frame[FEATURES].to_numpy(), frame[target].to_numpy() if target else None


def _ours(task: str) -> Any:
    import margin

    return {
        "least squares": margin.LinearRegression(),
        "naive Bayes": margin.GaussianNB(),
        "principal components": margin.PCA(10, svd_solver="covariance_eigh"),
        "median, scale, ridge": margin.Ridge(),
    }[task]


def _preparation(some: Any) -> Any:
    from margin.data import preprocessor

    return preprocessor(some)


FITS: dict[str, Callable[[str, Path], Any]] = {"stream": fit_stream, "memory": fit_memory, "partial_fit": fit_partial}


def quality(task: str, model: Any, folder: Path) -> float:
    """R2, accuracy or the fraction of the variance that ten components keep, on rows that no fit saw."""
    import pandas as pd

    table = pd.read_parquet(folder)
    X = table[FEATURES] if hasattr(model, "feature_names_in_") else table[FEATURES].to_numpy()
    if task == "principal components":
        centered = np.asarray(X) - model.mean_
        return float(np.square(centered @ model.components_.T).sum() / np.square(centered).sum())
    return float(model.score(X, table[TASKS[task]]))


def cost(task: str, way: str, folder: Path) -> Row:
    """Seconds, megabytes and quality of one fit, in this process."""
    fit = FITS[way]
    fit(task, folder.parent / "small")  # loads what the library loads
    give_back()
    FORGET.write_text("5")  # the highest size so far is forgotten
    before, cpu = kilobytes("VmRSS"), time.process_time()
    model = fit(task, folder)
    seconds, peak = time.process_time() - cpu, kilobytes("VmHWM")
    return {
        "seconds": round(seconds, 2),
        "megabytes": round((peak - before) / 1e3, 1),
        "quality": round(quality(task, model, folder.parent / "small"), 6),
    }


def conclude(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for task in dict.fromkeys(row["task"] for row in rows):
        for way in WAYS:
            some = sorted((row["millions"], row) for row in rows if (row["task"], row["way"]) == (task, way))
            if some:
                text = "; ".join(
                    f"{m} million rows: {row['seconds']:.1f} s, {row['megabytes']:.0f} MB, {row['quality']:.4f}"
                    for m, row in some
                )
                findings.append(Finding(f"{task}, {NAMES[way]}", text))
        findings += _goals(task, {(row["way"], row["millions"]): row for row in rows if row["task"] == task})
    return findings


def _goals(task: str, found: dict[tuple[str, int], Row]) -> list[Finding]:
    findings = []
    if ("stream", 1) in found and ("stream", 4) in found:
        growth = found["stream", 4]["megabytes"] / found["stream", 1]["megabytes"]
        findings.append(
            Finding(f"{task}: memory of 4 million rows by that of 1", f"{growth:.2f}", f"{GROWTH}", growth <= GROWTH)
        )
    for millions in sorted({m for _, m in found}):
        if ("stream", millions) in found and ("memory", millions) in found:
            slower = found["stream", millions]["seconds"] / found["memory", millions]["seconds"]
            what = f"{task}: time on a stream by that in memory, {millions} million rows"
            findings.append(Finding(what, f"{slower:.2f}", f"{SLOWER}", slower <= SLOWER))
    return findings


STUDY = Study(
    name="scale",
    title="Tables larger than memory",
    protocol="20 columns in 8 Parquet files, one thread, a process for each fit; reading counts; seconds of processor "
    "time, megabytes above the loaded library, and R2, accuracy or variance kept on new rows.",
    command="make bench FAMILY=scale",
    conclude=conclude,
)
RUNS = [()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.scale", description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 4], help="rows in millions")
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument("--case", nargs=3, metavar=("TASK", "WAY", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        task, way, folder = options.case
        with same_threads(1):
            print(json.dumps(cost(task, way, Path(folder))))
        return
    with tempfile.TemporaryDirectory(prefix="margin-scale-") as place:
        write_table(Path(place, "small"), 40_000, seed=1)

        def measure(task: str, way: str, millions: int) -> Row:
            folder = Path(place, str(millions))
            if not folder.exists():
                write_table(folder, millions * 1_000_000, seed=0)
            command = [sys.executable, "-m", "benchmarks.studies.scale", "--case", task, way, str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{task}, {way}: {done.stderr.strip()}")
            row: Row = json.loads(done.stdout.splitlines()[-1])
            return row

        cases = [
            {"task": task, "way": way, "millions": millions}
            for millions in options.millions
            for task in TASKS
            for way in WAYS
            if (task, way) != ("median, scale, ridge", "partial_fit")  # no imputer of scikit-learn learns from batches
        ]
        run(STUDY, cases, measure, again=options.again)


if __name__ == "__main__":
    main()
