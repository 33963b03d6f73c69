"""Processor time of a diffusion until its samples are as good: ``python -m benchmarks.studies.diffusion_race``.

The same U-Net on 20,000 digits of 14 x 14 pixels by ``DiffusionModel`` and by the settings of
denoising-diffusion-pytorch's trainer, which itself needs torchvision. The trainer has eight passes, ours five; both are
judged by the Frechet distance of 2,000 samples to the test digits, drawn by the same sampler. Needs ``MARGIN_DATA``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.harness import same_threads
from benchmarks.measuring.study import Row, Study, run
from benchmarks.peers.diffusion_loop import trainer_loop
from benchmarks.studies.generative_images import IMAGES, SMALL, digits, features_of
from margin.generative import DiffusionModel
from margin.metrics.samples import frechet_distance

SIDE, SAMPLES, SEEDS = 14, 2000, (1, 2)
TRAINER, OURS = "settings of denoising-diffusion-pytorch", "DiffusionModel"
EPOCHS = {TRAINER: 8, OURS: 5}
TRAINER_RATE = 1e-3  # its default, 1e-4, is meant for far more updates and was not tried
RATE = 2e-3  # the default of the estimator


@cache
def judged() -> Any:
    """Training digits, features of samples, and features of the test digits."""
    features = features_of(IMAGES[SIDE], SIDE, 2)
    return digits("train", SIDE, IMAGES[SIDE])[0], features, features(digits("test", SIDE)[0])


def fitted(way: str, seed: int) -> tuple[DiffusionModel, float]:
    """The model that draws, and the processor seconds of its training."""
    X, _, _ = judged()
    options = {**SMALL, "image_shape": (SIDE, SIDE), "sampler": "dpm2-sde", "random_state": seed}
    began = time.process_time()
    if way == OURS:
        model = DiffusionModel(**{**options, "learning_rate_init": RATE, "max_iter": EPOCHS[way]}).fit(X)
        return model, time.process_time() - began
    network = trainer_loop(X, SMALL, EPOCHS[way], TRAINER_RATE, seed)
    seconds = time.process_time() - began
    few = X[:: len(X) // 64].copy()
    few[0], few[1] = X.min(axis=0), X.max(axis=0)  # the range of samples is that of the rows of a fit
    model = DiffusionModel(**{**options, "max_iter": 1}).fit(few)
    model.center_[:], model.scale_[:] = X.mean(dtype=np.float64), X.std(dtype=np.float64)
    model._ready_module().load_state_dict(network.state_dict())
    return model, seconds


def measure(way: str, seed: int) -> Row:
    _, features, real = judged()
    model, seconds = fitted(way, seed)
    made = model.sample(SAMPLES, random_state=seed)
    return {"frechet": round(frechet_distance(features(made), real), 3), "cpu_seconds": round(seconds, 1)}


def conclude(rows: Sequence[Row]) -> list[Finding]:
    of = {way: {row["seed"]: row for row in rows if row["way"] == way} for way in (TRAINER, OURS)}
    seeds = sorted(of[TRAINER].keys() & of[OURS].keys())
    if not seeds:
        return []
    findings = []
    means = {}
    for way, by_seed in of.items():
        distances = [by_seed[seed]["frechet"] for seed in seeds]
        means[way] = float(np.mean(distances)), float(np.mean([by_seed[seed]["cpu_seconds"] for seed in seeds]))
        each = ", ".join(f"{value:.1f}" for value in distances)
        findings.append(
            Finding(f"{way}: Frechet distance", f"{means[way][0]:.2f} ({each}) after {means[way][1]:.0f} s")
        )
    ratio = means[TRAINER][1] / means[OURS][1]
    better = means[OURS][0] <= means[TRAINER][0]
    text = f"{ratio:.2f} at {'an equal or smaller' if better else 'a larger'} distance, {len(seeds)} seeds"
    reached = len(seeds) >= len(SEEDS) and better and ratio >= 1.5
    return [*findings, Finding("processor time of training, theirs / ours", text, "1.5 at equal distance", reached)]


STUDY = Study(
    "diffusion-race",
    "Diffusion on MNIST: time to equal Frechet distance",
    f"U-Net with {SMALL['hidden_layer_sizes']} channels on {IMAGES[SIDE]:,} digits of {SIDE} x {SIDE} pixels, batches "
    f"of {SMALL['batch_size']}; theirs: {EPOCHS[TRAINER]} passes, v predicted, Adam at a constant {TRAINER_RATE:g}, "
    f"average of every tenth update with a decay that rises to 0.995; ours: {EPOCHS[OURS]} passes, v predicted, a rate "
    f"of {RATE:g} falling along a cosine, average {SMALL['weight_average']:g}. {SAMPLES:,} samples by 'dpm2-sde' with "
    "20 steps from both; Frechet distance to the test digits on the features of our LeNet-5. Nothing was chosen for "
    "this race: our rate is the estimator's default, theirs ten times its default, which is meant for far more updates "
    "and was not tried. Processor time of one thread.",
    "MARGIN_DATA=... python -m benchmarks.studies.diffusion_race",
    conclude,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.diffusion_race", description=__doc__)
    parser.add_argument("--again", action="store_true", help="Forget what was measured before.")
    options = parser.parse_args()
    with same_threads(1):
        cases = [{"way": way, "seed": seed} for seed in SEEDS for way in (OURS, TRAINER)]
        run(STUDY, cases, measure, again=options.again)


if __name__ == "__main__":
    main()
