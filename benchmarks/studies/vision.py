"""Image networks at full scale on MNIST: ``python -m benchmarks.studies.vision lenet|residual [--seeds 5] [--again]``.

``lenet``: LeNet-5 with rectifiers and maxima, mean test error over seeds, with digits moved at random and without.
``residual``: plain against residual networks of 20 and 56 layers, training loss and test error. Needs ``MARGIN_DATA``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.data.digits import Digits, halved, mnist
from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.study import Row, Study, percent, run
from margin.neural import CNNClassifier

LENET_GOAL = 0.0095  # LeCun et al. 1998, without distortions
LENET_EPOCHS = 12
DEEP_DIGITS, DEEP_EPOCHS, DEEP_WIDTH = 4_000, 8, 0.5


def fitted(digits: Digits, seed: int, **params: Any) -> Row:
    began = time.process_time()
    model = CNNClassifier(random_state=seed, **params).fit(digits.X, digits.y)
    seconds = time.process_time() - began
    return {
        "test_error": round(1 - model.score(digits.X_test, digits.y_test), 5),
        "train_loss": round(model.loss_, 5),
        "epochs": model.n_iter_,
        "cpu_seconds": round(seconds, 1),
    }


def lenet(network: str, seed: int) -> Row:
    augment = ["shift 2"] if "moved" in network else None
    return fitted(mnist(), seed, max_iter=LENET_EPOCHS, batch_size=128, augment=augment)


def residual(network: str, seed: int) -> Row:
    digits = halved(mnist(DEEP_DIGITS))
    return fitted(digits, seed, architecture=network, width=DEEP_WIDTH, max_iter=DEEP_EPOCHS, batch_size=64)


def of(rows: Sequence[Row], network: str, what: str) -> list[float]:
    return [row[what] for row in rows if row["network"] == network]


def lenet_findings(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for network in dict.fromkeys(row["network"] for row in rows):
        errors = of(rows, network, "test_error")
        seconds = np.mean(of(rows, network, "cpu_seconds"))
        findings.append(
            Finding(
                f"{network}, test error",
                f"{percent(errors)}, {min(errors):.2%} to {max(errors):.2%}, {seconds:.0f} s of processor time each",
                "at most 0.95 % (mean of 5 seeds)",
                len(errors) >= 5 and float(np.mean(errors)) <= LENET_GOAL,
            )
        )
    return findings


def residual_findings(rows: Sequence[Row]) -> list[Finding]:
    """Both orderings in the training loss, in every seed that has all four networks, and the test errors."""
    networks = ("plain-20", "plain-56", "resnet-20", "resnet-56")
    losses = {name: of(rows, name, "train_loss") for name in networks}
    n = min(map(len, losses.values()))
    if n == 0:
        return []
    findings = []
    for kind, goal in (
        ("plain", "the deeper one is worse, in every seed"),
        ("resnet", "the deeper one is not worse, on average"),
    ):
        shallow, deep = (np.array(losses[f"{kind}-{depth}"][:n]) for depth in (20, 56))
        reached = bool((deep > shallow).all()) if kind == "plain" else bool(deep.mean() <= shallow.mean())
        pairs = ", ".join(f"{a:.4f} -> {b:.4f}" for a, b in zip(shallow, deep))
        findings.append(Finding(f"training loss, {kind}-20 -> {kind}-56, by seed", pairs, goal, reached))
    errors = ", ".join(f"{name} {np.mean(of(rows, name, 'test_error')):.2%}" for name in networks)
    return [*findings, Finding("mean test error", errors)]


STUDIES = {
    "lenet": (
        Study(
            "lenet-mnist",
            "LeNet-5 on MNIST",
            f"All 60,000 training and 10,000 test digits, {LENET_EPOCHS} passes, batches of 128, Adam with a cosine "
            "schedule, the network of LeCun et al. (1998) with rectifiers and maxima; no epoch is chosen by the test "
            "digits. 'moved': training digits are shifted by up to 2 pixels at random; 'as they are': without.",
            "MARGIN_DATA=... python -m benchmarks.studies.vision lenet",
            lenet_findings,
        ),
        lenet,
        ("lenet-5, digits moved", "lenet-5, digits as they are"),
        5,
    ),
    "residual": (
        Study(
            "plain-versus-residual",
            "Plain against residual networks of 20 and 56 layers",
            f"The networks of He et al. (2015) for small images at {DEEP_WIDTH} of their width on the first "
            f"{DEEP_DIGITS:,} training digits at 14 x 14 pixels, {DEEP_EPOCHS} passes, batches of 64, Adam with a "
            "cosine schedule, the same for all four; far below the published 64,000 updates on CIFAR-10, so the "
            "ordering is what is asked. Training loss is the mean over the last pass.",
            "MARGIN_DATA=... python -m benchmarks.studies.vision residual",
            residual_findings,
        ),
        residual,
        ("plain-20", "plain-56", "resnet-20", "resnet-56"),
        2,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.vision", description=__doc__)
    parser.add_argument("what", choices=list(STUDIES))
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--only", default="", help="Networks whose name contains this.")
    parser.add_argument("--again", action="store_true", help="Forget what was measured before.")
    options = parser.parse_args()
    study, measure, networks, seeds = STUDIES[options.what]
    cases = [
        {"network": name, "seed": seed}
        for seed in range(options.seeds or seeds)
        for name in networks
        if options.only in name
    ]
    run(study, cases, measure, again=options.again)


if __name__ == "__main__":
    main()
