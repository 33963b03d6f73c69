"""One row by a command in a new process: ``python -m benchmarks.studies.one_row_commands [--rounds 5] [MODEL ...]``.

Processor time of ``margin predict`` beside that of importing scikit-learn's base alone, the two alternating, the least
of some rounds each: their ratio holds on a loaded machine, where seconds do not. Also told: how many modules were
loaded, and how many of them are Margin's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import margin
from benchmarks.measuring.evidence import Finding, save_findings

NAME = "one-row-commands"
MOST = 1.0  # seconds of processor time
MODELS = ("gaussian-nb", "k-neighbors-classifier", "logistic-regression", "svc", "random-forest-classifier",
          "hist-gradient-boosting-classifier")  # fmt: skip
COUNTED = "import sys; from margin.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"


def processor_seconds(*arguments: str) -> float:
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"one_row_commands: {' '.join(arguments)} ended with {status}.")
    return used.ru_utime + used.ru_stime


def saved(name: str, folder: Path) -> tuple[str, str]:
    """A model of 300 rows, and a table of one."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
    model, row = folder / f"{name}.margin", folder / "row.csv"
    margin.save(margin.catalog.create(name).fit(X, np.where(X["a"] > X["b"] ** 2, "yes", "no")), model)
    X[:1].to_csv(row, index=False)
    return str(model), str(row)


def measure(name: str, folder: Path, rounds: int) -> dict[str, Any]:
    command = ["predict", *saved(name, folder)]
    ours, theirs = float("inf"), float("inf")
    for _ in range(rounds):
        ours = min(ours, processor_seconds("-m", "margin", *command))
        theirs = min(theirs, processor_seconds("-c", "import sklearn.base"))
    counted = subprocess.run([sys.executable, "-c", COUNTED, *command], capture_output=True, text=True)
    loaded = counted.stderr.split()
    own = sum(module.partition(".")[0] == "margin" for module in loaded)
    return {"model": name, "seconds": ours, "import": theirs, "modules": len(loaded), "own": own}


def told(row: dict[str, Any]) -> str:
    return (
        f"{row['seconds']:.2f} s, {row['seconds'] / row['import']:.2f} of importing scikit-learn "
        f"({row['import']:.2f} s), {row['modules']} modules, {row['own']} of Margin"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.one_row_commands", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store", action="store_true", help="keep what was measured")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            rows.append(measure(name, Path(folder), options.rounds))
            print(f"{name:34s} {told(rows[-1])}", flush=True)
    if options.store:
        goal = f"below {MOST:g} s"
        save_findings(
            NAME,
            "One row by a command in a new process",
            protocol=" ".join((__doc__ or "").partition("\n\n")[2].split()),
            command="python -m benchmarks.studies.one_row_commands --store",
            findings=[Finding(row["model"], told(row), goal, row["seconds"] < MOST) for row in rows],
            raw=rows,
        )


if __name__ == "__main__":
    main()
