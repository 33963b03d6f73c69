"""Modes that a GAN reaches, five seeds: ``python -m benchmarks.studies.gan_modes [--kept FILE]``.

The games of the experiment ``gan-modes`` at full scale: a ring of 8 and a grid of 25 narrow clouds, 2,500 samples, of
which those within three deviations of a mode count for it. Every game that ends is kept in FILE at once, and the same
command goes on; what is there is stored as findings, which reach their goals with all five seeds only.
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
from margin.notes.experiments.gan_modes import LEAST, PUBLISHED_QUALITY, games, play

__all__ = ["findings", "measured"]

SEEDS = 5
MODES = {"ring": 8, "grid": 25}
GOALS = {"ring": 8.0, "grid": 24.0}
JUDGED = ("usual", "three discriminators", "grid")


def measured(name: str, seed: int) -> dict[str, Any]:
    """One game: modes with at least 20 samples, modes with any, fraction of samples near a mode, seconds."""
    kind, options = games(fast=False)[name]
    began = time.process_time()
    coverage, _ = play(kind, options, seed)
    return {
        "game": name,
        "seed": seed,
        "covered": coverage.covered,
        "with any sample": int((coverage.counts > 0).sum()),
        "near a mode": round(coverage.high_quality, 4),
        "seconds": round(time.process_time() - began, 1),
    }


def findings(kept: list[dict[str, Any]]) -> list[Finding]:
    listed = []
    for name, (kind, _) in games(fast=False).items():
        rows = sorted((row for row in kept if row["game"] == name), key=lambda row: row["seed"])
        if not rows:
            continue
        each = [row["covered"] for row in rows]
        near = float(np.mean([row["near a mode"] for row in rows]))
        any_sample = float(np.mean([row["with any sample"] for row in rows]))
        modes_reached = (
            f"{np.mean(each):.1f} of {MODES[kind]} on average, {len(each)} of {SEEDS} seeds: "
            f"{', '.join(map(str, each))}; with any sample {any_sample:.1f}; {near:.0%} of samples near a mode; "
            f"{np.mean([row['seconds'] for row in rows]):.0f} s"
        )
        goal = f"at least {GOALS[kind]:g} of {MODES[kind]} on average of {SEEDS} seeds" if name in JUDGED else ""
        reached = len(each) == SEEDS and bool(np.mean(each) >= GOALS[kind])
        listed.append(Finding(f"{kind}, {name}, 20 samples a mode", modes_reached, goal, reached if goal else None))
        if goal:
            as_published = len(each) == SEEDS and any_sample >= GOALS[kind]
            counted = f"{any_sample:.1f} of {MODES[kind]} on average"
            listed.append(Finding(f"{kind}, {name}, counted as published: one sample", counted, goal, as_published))
        if name == "grid":
            published = f"more than {PUBLISHED_QUALITY:.0%} (VEEGAN, 24.6 modes)"
            sharp = len(each) == SEEDS and near > PUBLISHED_QUALITY
            listed.append(Finding("grid, samples within three deviations of a mode", f"{near:.0%}", published, sharp))
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.gan_modes", description=__doc__)
    parser.add_argument("--kept", type=Path, default=Path("gan-modes.jsonl"))
    parser.add_argument("--most", type=int, default=1000, help="games to play in this run")
    parser.add_argument("--game", choices=list(games(fast=False)), help="only this one")
    chosen = parser.parse_args()
    lines = chosen.kept.read_text().splitlines() if chosen.kept.exists() else []
    kept = [json.loads(line) for line in lines]
    done = {(row["game"], row["seed"]) for row in kept}
    order = [chosen.game] if chosen.game else sorted(games(fast=False), key=lambda name: name != "grid")
    left = [(name, seed) for name in order for seed in range(SEEDS) if (name, seed) not in done]
    with same_threads(1):
        for name, seed in left[: chosen.most]:
            kept.append(measured(name, seed))
            with open(chosen.kept, "a") as file:
                file.write(json.dumps(kept[-1]) + "\n")
            print(json.dumps(kept[-1]), flush=True)
    save_findings(
        "gan-modes",
        "Modes of a mixture that a GAN reaches",
        protocol=f"Clouds of deviation 0.05: a ring of 8 with radius 1 (1,500 rows), a grid of 25 with spacing 2 "
        f"(5,000 rows); 2,500 samples, a mode is reached by {LEAST} samples within 3 deviations (published "
        "protocols count one sample). Chosen on a grid of 16 and a spiral of 16.",
        command="python -m benchmarks.studies.gan_modes",
        findings=findings(kept),
        raw=kept,
    )


if __name__ == "__main__":
    main()
