"""Image networks at full scale on MNIST: ``python -m benchmarks.vision lenet|residual|dropout [--seeds 5]``.

``lenet``: LeNet-5 with rectifiers and maxima, mean test error over seeds. ``residual``: plain against residual networks
of 20 and 56 layers, training loss and test error. ``dropout``: test error of a perceptron-headed network by dropout
probability. Needs ``MARGIN_DATA``. Each result is printed as one line of JSON, as soon as it is there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from margin import data
from margin.neural import CNNClassifier

__all__ = ["dropout", "lenet", "residual"]

Images = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def mnist(n_train: int | None = None) -> Images:
    """Training and test images as bytes, with their classes."""
    train, test = data.load("mnist", subset="train"), data.load("mnist", subset="test")
    parts = []
    for part, count in ((train, n_train), (test, None)):
        pixels = np.round(np.asarray(part.X[:count]) * 255).astype(np.uint8)
        parts += [pixels.reshape(-1, 28, 28), np.asarray(part.y[:count])]
    return parts[0], parts[1], parts[2], parts[3]


def result(images: Images, name: str, seed: int, **params: Any) -> dict[str, Any]:
    X, y, X_test, y_test = images
    began = time.process_time()
    model = CNNClassifier(random_state=seed, **params).fit(X, y)
    seconds = time.process_time() - began
    return {
        "network": name,
        "seed": seed,
        "test_error": round(1 - model.score(X_test, y_test), 5),
        "train_loss": round(model.loss_, 5),
        "epochs": model.n_iter_,
        "cpu_seconds": round(seconds, 1),
    }


def lenet(seeds: int, epochs: int = 12) -> Iterator[dict[str, Any]]:
    """LeNet-5 on all 60,000 digits, moved by up to 2 pixels."""
    images = mnist()
    for seed in range(seeds):
        yield result(images, "lenet-5", seed, max_iter=epochs, batch_size=128, augment=["shift 2"])


def residual(seeds: int, epochs: int = 10) -> Iterator[dict[str, Any]]:
    """Plain and residual networks of 20 and 56 layers, half as wide as published, on 20,000 digits."""
    images = mnist(20_000)
    for seed in range(seeds):
        for name in ("plain-20", "plain-56", "resnet-20", "resnet-56"):
            yield result(images, name, seed, architecture=name, width=0.5, max_iter=epochs, batch_size=128)


def dropout(seeds: int, epochs: int = 20) -> Iterator[dict[str, Any]]:
    """A network with wide dense layers on 5,000 digits, by dropout probability."""
    images = mnist(5_000)
    for seed in range(seeds):
        for p in (0.0, 0.25, 0.5, 0.75):
            layers = ["conv 16 5", "pool 2", "conv 32 5", "pool 2", "dense 1024", f"dropout {p}", "dense 1024"]
            name = f"dropout {p}"
            yield result(images, name, seed, architecture=layers, dropout=p, max_iter=epochs, batch_size=64)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vision", description=__doc__)
    parser.add_argument("what", choices=["lenet", "residual", "dropout"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=None)
    options = parser.parse_args()
    run = {"lenet": lenet, "residual": residual, "dropout": dropout}[options.what]
    epochs = {} if options.epochs is None else {"epochs": options.epochs}
    errors: dict[str, list[float]] = {}
    for found in run(options.seeds, **epochs):
        print(json.dumps(found), flush=True)
        errors.setdefault(found["network"], []).append(found["test_error"])
    for name, values in errors.items():
        print(f"{name}: mean test error {np.mean(values):.4f} over {len(values)} seeds")


if __name__ == "__main__":
    main()
