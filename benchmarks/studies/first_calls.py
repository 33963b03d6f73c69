"""``python -m benchmarks.studies.first_calls``: the processor time of every model's first fit and prediction.

Each model is fitted and used in two processes of its own, twice in each. The first fit of the one (new) imports what
the model needs beyond its class; the other (imported) has imported the same modules before, so that what its first fit
takes longer than the second one is all that a user waits for beside imports. Tables are iris and diabetes at the
model's defaults, digits besides for quick models of several classes, and a large one on two threads for boosting; other
data and cheap parameters are those of the contract tests. What is stored is kept: the same command measures what is
missing, ``--again kmeans`` models whose name contains this anew.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import FULL_SCALE, Finding, save_findings
from margin import catalog

NAME = "first-calls"
MOST = 0.05  # seconds of processor time that a first fit of a classical model may take beyond imports and a second fit
DIGITS = {"trees", "cluster", "linear", "neighbors", "bayes"}
FIRST = ("trees", "cluster", "reduction", "kernels", "text", "linear", "neighbors", "mixture")
KINDS = ("classical", "other")
TABLES = {*DIGITS, "kernels", "mixture", "density", "graphical", "reduction"}
LARGE = {"gradient-boosting-classifier", "gradient-boosting-regressor", "hist-gradient-boosting-classifier"}
ROWS, COLUMNS = 40_000, 20  # of the large table
THREADS = {"large": 2}  # one for the others
SLOW_ON_DIGITS = {"id3", "c45"}  # minutes of work


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


def measure_here(name: str, data: str, modules: list[str]) -> dict[str, Any]:
    """Processor seconds of the first and the second fit and use in this process, and what the first has imported."""
    for module in modules:
        with contextlib.suppress(ImportError):  # one that another module made, or that looks for a library not there
            importlib.import_module(module)
    model, X, y = problem(catalog.entry(name), data)
    before, seconds = set(sys.modules), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for order in ("first", "second"):
            gc.collect()  # of what imports have left, which else would be looked through in one fit or another
            began = time.process_time()
            use(model, X, y)
            seconds[order] = time.process_time() - began
    return {**seconds, "modules": [module for module in sys.modules if module not in before]}


def use(model: Any, X: Any, y: Any) -> None:
    model.fit(X) if y is None else model.fit(X, y)
    for method in ("predict", "transform", "score_samples"):
        if hasattr(model, method):
            getattr(model, method)(X)
            return


def measure(name: str, data: str) -> dict[str, Any]:
    """In a new process, and in one that has imported what the first one did."""
    row: dict[str, Any] = {"model": name, "data": data, "classical": catalog.entry(name).family in TABLES}
    environment = {**os.environ, "MARGIN_NUM_THREADS": str(THREADS.get(data, 1))}
    command = [sys.executable, "-m", "benchmarks.studies.first_calls", "--worker", name, data]
    modules: list[str] = []
    for state in ("new", "imported"):
        told = {"input": json.dumps(modules), "capture_output": True, "text": True, "check": False}
        done = subprocess.run(command, env=environment, **told)
        if done.returncode:
            return row | {"failed": done.stderr.strip().splitlines()[-1]}
        found = json.loads(done.stdout.splitlines()[-1])
        modules = found["modules"]
        row |= {state: found["first"], "second": found["second"]}
    return row


def store(runs: list[dict[str, Any]]) -> None:
    good = sorted((run for run in runs if "new" in run), key=lambda run: run["second"] - run["imported"])
    beyond = {name: [_beyond(run) for run in good if run["classical"] == (name == "classical")] for name in KINDS}
    findings = [
        Finding(
            f"{name} models, beyond imports",
            f"median {1e3 * np.median(values):.0f} ms, 90 % of {len(values)} below {1e3 * np.quantile(values, 0.9):.0f}"
            f" ms, at most {1e3 * max(values):.0f} ms",
            f"at most {1e3 * MOST:.0f} ms" if name == "classical" else "",
            max(values) < MOST if name == "classical" else None,
        )
        for name, values in beyond.items()
        if values
    ]
    findings += [
        Finding(
            f"{run['model']} ({run['data']})",
            ", ".join(f"{state} {1e3 * run[state]:.0f} ms" for state in ("new", "imported", "second")),
            f"{1e3 * MOST:.0f} ms beyond the second" if run["classical"] else "",
            _beyond(run) < MOST if run["classical"] else None,
        )
        for run in good
    ]
    findings += [
        Finding(f"{run['model']} ({run['data']})", run["failed"], "", False) for run in runs if "failed" in run
    ]
    save_findings(
        NAME,
        "First calls: fit and use in a new process",
        protocol=(
            "Processor milliseconds of fit and predict, transform or score_samples after the class was imported: in a "
            "new process (new), in one that has imported all that this one did (imported), and once more in the same "
            "process (second). Small = iris or diabetes at defaults for tables, the data and parameters of the "
            f"contract tests otherwise; large = {ROWS} rows of {COLUMNS} columns on two threads; one thread for the "
            "others."
        ),
        command="python -m benchmarks.studies.first_calls",
        findings=findings,
        raw=runs,
    )


def _beyond(run: dict[str, Any]) -> float:
    return run["imported"] - run["second"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.first_calls", description=__doc__)
    parser.add_argument("--only", default="", help="Models whose name contains this.")
    parser.add_argument("--again", default=None, help="Measure models whose name contains this anew.")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="Ends after the model under way.")
    parser.add_argument("--worker", nargs=2, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure_here(*options.worker, json.load(sys.stdin))))
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
