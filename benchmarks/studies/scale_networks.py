"""A network on several processes, beside plain DDP: ``python -m benchmarks.studies.scale_networks``.

Every case is one call of torchrun on this machine (gloo, a thread per process). All processes first train on few rows
and then on the table; the processor time of the second training is added over the processes. ``exact`` cuts every batch
into four parts, whose gradients are gathered and added in order: the same bits on any number of processes.
``processes`` sums one part per process by all-reduce, as DDP does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.study import Row, Study, run

ROWS, SMALL_ROWS, COLUMNS, CLASSES = 30_000, 1_024, 100, 10
UNITS, EPOCHS, BATCH, PARTS = (256, 256), 3, 512, 4
WAYS = ("exact", "processes", "DDP")
PROCESSES = (1, 2, 4)
SLOWER = 1.3  # goal of the processor time of all-reduce beside that of DDP


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    scores = np.tanh(X @ rng.normal(size=(COLUMNS, 20)) / 5) @ rng.normal(size=(20, CLASSES))
    return X, scores.argmax(axis=1)


def train(way: str, X: np.ndarray, y: np.ndarray) -> tuple[float, str]:
    """Mean loss of the last epoch, and a digest of the weights."""
    if way == "DDP":
        from benchmarks.peers.plain_ddp import train_ddp

        return train_ddp(X, y, UNITS, epochs=EPOCHS, batch_size=BATCH), ""
    import margin

    parts: Any = PARTS if way == "exact" else "processes"
    model = margin.MLPClassifier(UNITS, max_iter=EPOCHS, batch_size=BATCH, alpha=0.0, batch_parts=parts, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    weights = b"".join(array.tobytes() for array in model.weights_.values())
    return model.loss_, hashlib.sha256(weights).hexdigest()[:16]


def cost(way: str) -> None:
    """In one of the processes that torchrun starts."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    if int(os.environ["WORLD_SIZE"]) > 1:
        distributed.init_process_group("gloo")
    X, y = table()
    train(way, X[:SMALL_ROWS], np.arange(SMALL_ROWS) % CLASSES)  # loads what the library loads
    before = time.process_time()
    loss, weights = train(way, X, y)
    seconds = torch.tensor([time.process_time() - before], dtype=torch.float64)
    if distributed.is_initialized():
        distributed.all_reduce(seconds)
    if int(os.environ["RANK"]) == 0:
        print(json.dumps({"seconds": round(float(seconds), 2), "loss": loss, "weights": weights}), flush=True)
    if distributed.is_initialized():
        distributed.barrier()
        os._exit(0)  # threads of gloo may abort an interpreter that is being taken down


def conclude(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for way in WAYS:
        some = {row["processes"]: row for row in rows if row["way"] == way}
        if some:
            text = "; ".join(f"{n}: {row['seconds']:.1f} s, loss {row['loss']:.4f}" for n, row in sorted(some.items()))
            findings.append(Finding(f"{way}, by the number of processes", text))
        if way == "exact" and len(some) > 1:
            bits = {row["weights"] for row in some.values()}
            what = f"exact: weights on {', '.join(map(str, sorted(some)))} processes"
            findings.append(Finding(what, "one" if len(bits) == 1 else f"{len(bits)} different", "one", len(bits) == 1))
    for way in WAYS[:2]:
        found = {(row["way"], row["processes"]): row["seconds"] for row in rows}
        for n in PROCESSES:
            if (way, n) in found and ("DDP", n) in found:
                ratio = found[way, n] / found["DDP", n]
                goal = (f"{SLOWER}", ratio <= SLOWER) if way == "processes" else ("", None)
                findings.append(Finding(f"{way}: processor time by that of DDP, {n} processes", f"{ratio:.2f}", *goal))
    return findings


STUDY = Study(
    name="scale-networks",
    title="A network on several processes",
    protocol=f"{ROWS:,} rows of {COLUMNS} columns, hidden layers of {UNITS[0]} and {UNITS[1]}, batches of {BATCH}, "
    f"{EPOCHS} epochs, Adam, float32; torchrun and gloo on one machine of two cores that others kept busy, one thread "
    "per process; seconds of processor time of all processes together.",
    command="make bench FAMILY=scale_networks",
    conclude=conclude,
)
RUNS = [()]


def _measure(way: str, processes: int) -> Row:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    own = [str(Path(__file__).resolve()), "--case", way]
    path = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MARGIN_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run([*command, *own], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{way}, {processes} processes: {done.stderr.strip()[-2000:]}")
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.scale_networks", description=__doc__)
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument("--processes", type=int, nargs="+", default=list(PROCESSES))
    parser.add_argument("--case", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        cost(options.case)
        return
    cases = [{"way": way, "processes": n} for n in options.processes for way in WAYS]
    run(STUDY, cases, _measure, again=options.again)


if __name__ == "__main__":
    main()
