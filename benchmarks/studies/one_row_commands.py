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

import numpy as np
import pandas as pd

import margin

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.one_row_commands", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            command = ["predict", *saved(name, Path(folder))]
            ours, theirs = float("inf"), float("inf")
            for _ in range(options.rounds):
                ours = min(ours, processor_seconds("-m", "margin", *command))
                theirs = min(theirs, processor_seconds("-c", "import sklearn.base"))
            counted = subprocess.run([sys.executable, "-c", COUNTED, *command], capture_output=True, text=True)
            loaded = counted.stderr.split()
            own = sum(module.partition(".")[0] == "margin" for module in loaded)
            print(f"{name:34s} {ours:5.2f} s, {ours / theirs:4.2f} of importing scikit-learn ({theirs:.2f} s), "
                  f"{len(loaded)} modules, {own} of Margin", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
