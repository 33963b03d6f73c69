"""Digits to inverted digits without pairs, five seeds: ``python -m benchmarks.studies.cycle_digits [--kept FILE]``.

The experiment ``cycle-digits`` at full scale: errors against the true partner of digits that were not trained on,
beside leaving the digit as it is, the partner of another digit and the mean of the target set. Every seed that ends is
kept in FILE at once, and the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding, save_findings
from benchmarks.measuring.harness import same_threads
from margin.notes.experiments.cycle_digits import run

__all__ = ["findings", "measured"]

SEEDS = 5
OTHERS = ("identity", "another digit", "mean image")


def measured(seed: int) -> dict[str, Any]:
    """Root mean square errors of one seed (pixels lie between 0 and 1), and processor seconds."""
    began = time.process_time()
    data = run(seed, fast=False)
    errors = {name: round(value, 4) for name, value in data.items() if name != "images"}
    return {"seed": seed, **errors, "seconds": round(time.process_time() - began, 1)}


def findings(kept: list[dict[str, Any]]) -> list[Finding]:
    listed = []
    for way, direction in (("forth", "digits to inverted digits"), ("back", "inverted digits to digits")):
        each = [row[way] for row in kept]
        others = {name: float(np.mean([row[name] for row in kept])) for name in OTHERS}
        beaten = all(row[way] < min(row[name] for name in OTHERS) for row in kept)
        numbers = f"{np.mean(each):.3f} on average, largest {max(each):.3f}"
        goal = "below " + ", ".join(f"{value:.3f} ({name})" for name, value in others.items()) + " at every seed"
        listed.append(Finding(f"{direction}: error against the true partner", numbers, goal, bool(beaten)))
    there_and_back = [row["round"] for row in kept]
    listed.append(Finding("there and back again: error", f"{np.mean(there_and_back):.3f}"))
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.cycle_digits", description=__doc__)
    parser.add_argument("--kept", type=Path, default=Path("cycle-digits.jsonl"))
    parser.add_argument("--most", type=int, default=SEEDS, help="seeds to run now")
    chosen = parser.parse_args()
    lines = chosen.kept.read_text().splitlines() if chosen.kept.exists() else []
    kept = [json.loads(line) for line in lines]
    left = [seed for seed in range(SEEDS) if seed not in {row["seed"] for row in kept}]
    with same_threads(1):
        for seed in left[: chosen.most]:
            kept.append(measured(seed))
            with open(chosen.kept, "a") as file:
                file.write(json.dumps(kept[-1]) + "\n")
            print(json.dumps(kept[-1]), flush=True)
    if len(left) <= chosen.most:
        save_findings(
            "cyclegan-digits",
            "Unpaired translation of digits by a cycle",
            protocol="8 x 8 digits of scikit-learn: 700 as they are, 700 others inverted, 397 new ones for the test; "
            "convolutional maps and judges; root mean square over pixels from 0 to 1; 5 seeds.",
            command="python -m benchmarks.studies.cycle_digits",
            findings=findings(kept),
            raw=kept,
        )


if __name__ == "__main__":
    main()
