"""``python -m benchmarks.studies.first_calls``: the processor time of every model's first fit and prediction.

Each model is fitted and used in processes of its own: cold (empty JIT cache), cached (the cache that the cold one
filled), and warm (a second fit in the same process). Importing the class is not counted; what a first fit imports
besides is. Tables are iris and diabetes at the model's defaults, digits besides for quick models of several classes,
and a large one on two threads for boosting, whose loops that share a tree are kernels of their own; other data and
cheap parameters are those of the contract tests. What is stored is kept: the same command measures what is missing,
``--again kmeans`` models whose name contains this anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import FULL_SCALE, Finding, save_findings
from margin import catalog

NAME = "first-calls"
WORST, USUAL = 5.0, 2.0  # seconds of processor time: what the worst and the usual cold call may cost
DIGITS = {"trees", "cluster", "linear", "neighbors", "bayes"}
FIRST = ("trees", "cluster", "reduction", "kernels", "text", "linear", "neighbors", "mixture")
TABLES = {*DIGITS, "kernels", "mixture", "density", "graphical", "reduction"}
LARGE = {"gradient-boosting-classifier", "gradient-boosting-regressor", "hist-gradient-boosting-classifier"}
ROWS, COLUMNS = 40_000, 20  # of the large table
THREADS = {"large": 2}  # one for the others
SLOW_ON_DIGITS = {"id3", "c45"}  # minutes of work whatever is compiled


def problems() -> Iterator[tuple[str, str]]:
    """Model and data; families with many compiled kernels first."""
    for entry in sorted(catalog.ENTRIES, key=lambda entry: [*FIRST, entry.family].index(entry.family)):
        yield entry.name, "small"
        kind = entry.family in DIGITS and entry.task in ("classification", "clustering")
        if kind and entry.name not in SLOW_ON_DIGITS:
            yield entry.name, "digits"
        if entry.name in LARGE:
            yield entry.name, "large"


def large_table() -> tuple[np.ndarray, np.ndarray]:
    """Rows of noise and a class that four of the columns tell, one row in five by chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) > 1
    return X, np.where(rng.random(ROWS) < 0.2, rng.random(ROWS) < 0.5, y).astype(int)


def problem(entry: catalog.Entry, data: str) -> tuple[Any, Any, Any]:
    """A model that is not fitted, X and y."""
    from sklearn.datasets import load_diabetes, load_digits, load_iris

    cls: Any = catalog.class_of(entry.name)
    if entry.family not in TABLES or entry.takes != "standard" or entry.name == "hard-margin-svc":
        from tests.contracts import problems  # imports torch, which the others must not find imported

        return problems.build(entry), *problems.problem(entry)
    if data == "large":
        return cls(**entry.settings), *large_table()
    load = load_digits if data == "digits" else load_diabetes if entry.task == "regression" else load_iris
    X, y = load(return_X_y=True)
    return cls(**entry.settings), np.asarray(X, dtype=float), y


def measure_here(name: str, data: str) -> dict[str, float]:
    """Processor seconds of the first and the second fit and use in this process."""
    model, X, y = problem(catalog.entry(name), data)
    seconds = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for order in ("first", "second"):
            began = time.process_time()
            model.fit(X) if y is None else model.fit(X, y)
            for method in ("predict", "transform", "score_samples"):
                if hasattr(model, method):
                    getattr(model, method)(X)
                    break
            seconds[order] = time.process_time() - began
    return seconds


def measure(name: str, data: str) -> dict[str, Any]:
    """Cold, cached and warm in new processes."""
    row: dict[str, Any] = {"model": name, "data": data}
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "MARGIN_NUM_THREADS": str(THREADS.get(data, 1))}
        command = [sys.executable, "-m", "benchmarks.studies.first_calls", "--worker", name, data]
        for state in ("cold", "cached"):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                return row | {"failed": done.stderr.strip().splitlines()[-1]}
            both = json.loads(done.stdout.splitlines()[-1])
            row |= {state: both["first"], "warm": both["second"]}
    return row


def store(runs: list[dict[str, Any]]) -> None:
    good = [run for run in runs if "cold" in run]
    cold = np.array([run["cold"] for run in good])
    beyond = np.array([run["cold"] - run["warm"] for run in good])
    worst = sorted(good, key=lambda run: -run["cold"])
    slowest = ", ".join(f"{run['model']} ({run['data']}) {run['cold']:.1f} s" for run in worst[:8])
    findings = [
        Finding("worst cold first call", slowest, f"below {WORST:.0f} s", bool(cold.max() < WORST)),
        Finding(
            "usual cold first call",
            f"median {np.median(cold):.2f} s, 90 % of {len(good)} below {np.quantile(cold, 0.9):.2f} s; beyond a second"
            f" call in the same process median {np.median(beyond):.2f} s, at most {beyond.max():.2f} s",
            f"below {USUAL:.0f} s",
            bool(np.median(cold) < USUAL),
        ),
        *(
            Finding(
                f"{run['model']} ({run['data']})",
                f"cold {run['cold']:.2f} s, cached {run['cached']:.2f} s, warm {run['warm']:.3f} s",
                f"below {WORST:.0f} s",
                run["cold"] < WORST,
            )
            for run in worst
        ),
        *(Finding(f"{run['model']} ({run['data']})", run["failed"], "", False) for run in runs if "failed" in run),
    ]
    save_findings(
        NAME,
        "First calls: fit and use with an empty JIT cache",
        protocol=(
            "Processor seconds of fit and predict, transform or score_samples in a new process after the class was "
            "imported: JIT cache empty (cold), filled (cached), second fit of the process (warm). Small = iris or "
            "diabetes at defaults for tables, the data and parameters of the contract tests otherwise; large = "
            f"{ROWS} rows of {COLUMNS} columns on two threads; one thread for the others."
        ),
        command="python -m benchmarks.studies.first_calls",
        findings=findings,
        raw=runs,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.first_calls", description=__doc__)
    parser.add_argument("--only", default="", help="Models whose name contains this.")
    parser.add_argument("--again", default=None, help="Measure models whose name contains this anew.")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="Ends after the model under way.")
    parser.add_argument("--worker", nargs=2, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure_here(*options.worker)))
        return
    path = FULL_SCALE / f"{NAME}.json"
    runs = list(json.loads(path.read_text(encoding="utf-8"))["raw"]) if path.exists() else []
    runs = [run for run in runs if options.again is None or options.again not in run["model"]]
    done, end = {(run["model"], run["data"]) for run in runs}, time.monotonic() + 60 * options.minutes
    for name, data in problems():
        if (name, data) not in done and options.only in name and time.monotonic() < end:
            runs.append(measure(name, data))
            print(json.dumps(runs[-1]), flush=True)
            store(runs)


if __name__ == "__main__":
    main()
