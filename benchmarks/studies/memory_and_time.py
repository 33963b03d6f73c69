"""What an update costs by batch size and by depth: ``python -m benchmarks.studies.memory_and_time``.

Every case is one process: residual networks on images of 28 x 28 pixels, drawn at random, trained for a few updates by
``CNNClassifier``. Memory is the highest resident size during the updates above the size before the fit, with the
images already there; time is processor time per image of an update, the least of several. No data needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.memory import FORGET, STATUS, give_back, kilobytes
from benchmarks.measuring.study import Row, Study, run

BATCHES, DEPTHS = (16, 32, 64, 128, 256), (8, 20, 32, 56)
FIXED_DEPTH, FIXED_BATCH = 20, 64
UPDATES = 6
STRAIGHT = 0.99  # correlation from which a relation counts as linear
LINEAR = f"linear (correlation above {STRAIGHT})"


def cost(depth: int, batch: int) -> Row:
    """Megabytes and milliseconds per image, in this process."""
    from margin.neural import CNNClassifier

    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(UPDATES * batch, 28, 28), dtype=np.uint8)
    y = np.arange(len(X)) % 10
    params: dict[str, Any] = {
        "architecture": f"resnet-{depth}",
        "width": 0.5,
        "max_iter": 1,
        "record_steps": 1,
        "random_state": 0,
    }
    CNNClassifier(**{**params, "architecture": "resnet-8"}, batch_size=2).fit(X[:4], y[:4])  # loads what torch loads
    give_back()
    FORGET.write_text("5")  # the highest size so far is forgotten
    before, seconds, began = kilobytes("VmRSS"), [], time.process_time()
    for _ in CNNClassifier(**params, batch_size=batch).iterate(X, y):
        seconds.append(time.process_time() - began)
        began = time.process_time()
    return {
        "megabytes": round((kilobytes("VmHWM") - before) / 1e3, 1),
        "ms_per_image": round(1e3 * min(seconds) / batch, 3),
    }


def measure(depth: int, batch: int) -> Row:
    """The same in a process of its own, whose memory nothing else has touched."""
    command = [sys.executable, "-m", "benchmarks.studies.memory_and_time", "--case", str(depth), str(batch)]
    row: Row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    return row


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope of the least-squares line and the correlation."""
    return float(np.polyfit(x, y, 1)[0]), float(np.corrcoef(x, y)[0, 1])


def conclude(rows: Sequence[Row]) -> list[Finding]:
    by_batch = sorted((row["batch"], row) for row in rows if row["depth"] == FIXED_DEPTH)
    by_depth = sorted((row["depth"], row) for row in rows if row["batch"] == FIXED_BATCH)
    findings = []
    for name, series in (("batch size", by_batch), ("depth", by_depth)):
        if len(series) < 3:
            continue
        xs, megabytes = [x for x, _ in series], [row["megabytes"] for _, row in series]
        per_unit, r = slope(xs, megabytes)
        text = ", ".join(f"{x}: {row['megabytes']:.0f} MB and {row['ms_per_image']:.2f} ms" for x, row in series)
        findings.append(Finding(f"memory of an update and time per image by {name}", text))
        unit = "image of the batch" if name == "batch size" else "layer"
        findings.append(
            Finding(
                f"memory by {name}",
                f"{per_unit:.2f} MB per {unit}, correlation {r:.4f}",
                "linear (above 0.99)",
                r > 0.99,
            )
        )
    if len(by_batch) >= 3:
        first, last = by_batch[0][1]["ms_per_image"], min(row["ms_per_image"] for _, row in by_batch)
        findings.append(
            Finding("time per image, smallest batch against the best", f"{first:.2f} ms against {last:.2f} ms")
        )
    if len(by_depth) >= 3:
        per_layer, r = slope([x for x, _ in by_depth], [row["ms_per_image"] for _, row in by_depth])
        text = f"{per_layer:.3f} ms per image and layer, correlation {r:.4f}"
        findings.append(Finding("time by depth", text, LINEAR, r > STRAIGHT))
    return findings


STUDY = Study(
    "memory-and-time",
    "Memory and time of an update by batch size and depth",
    f"Residual networks at half their published width on images of 28 x 28; depth {FIXED_DEPTH} at batches of "
    f"{', '.join(map(str, BATCHES))}, and batches of {FIXED_BATCH} at depths of {', '.join(map(str, DEPTHS))}; one "
    "process per case, resident memory above that before the fit, processor time per image of the fastest update.",
    "python -m benchmarks.studies.memory_and_time",
    conclude,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.memory_and_time", description=__doc__)
    parser.add_argument("--case", type=int, nargs=2, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help="Forget what was measured before.")
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(cost(*options.case)))
        return
    if not (STATUS.exists() and FORGET.exists()):
        raise SystemExit("memory_and_time: resident memory is read from /proc, which this system does not have.")
    cases = [{"depth": FIXED_DEPTH, "batch": batch} for batch in BATCHES]
    cases += [{"depth": depth, "batch": FIXED_BATCH} for depth in DEPTHS if depth != FIXED_DEPTH]
    run(STUDY, cases, measure, again=options.again)


if __name__ == "__main__":
    main()
