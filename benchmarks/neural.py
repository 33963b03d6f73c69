"""Training a perceptron 784-256-128-10 with Adam: the trainer against a DataLoader with a plain loop in torch.

Same network, same initial weights, same optimizer and number of steps; the loss of the last epoch is shown beside
the time, because a faster loop that learns something else has won nothing. Reads MNIST from ``MARGIN_DATA``
(``mnist.npz`` with arrays ``x_train`` and ``y_train``) where that is set, otherwise takes rows of the same shape whose
classes a random linear map decides.

    OMP_WAIT_POLICY=passive python -m benchmarks.neural
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from margin.core.threads import available
from margin.neural import MLP, Plan, Rows, Trainer
from margin.neural.estimators.mlp import cross_entropy
from margin.neural.weights import build

SIZES = (784, 256, 128, 10)
ROWS = 20_000
LEARNING_RATE = 1e-3
ROUNDS = 5  # ours and theirs in turn, so that both see the same machine; the best of each counts

Run = Callable[[], float]  # trains once and returns the loss of the last epoch


@dataclass(frozen=True)
class Case:
    """One comparison: what each side does, and how large the gap of their losses may be to call them equal."""

    name: str
    ours: Run
    peers: dict[str, Run]
    tolerance: float


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Images and classes: MNIST where it is at hand, otherwise rows of its shape."""
    path = Path(os.environ.get("MARGIN_DATA", "")) / "mnist.npz"
    if os.environ.get("MARGIN_DATA") and path.is_file():
        with np.load(path) as data:
            return data["x_train"][:n].reshape(n, 784).astype(np.float32) / 255, data["y_train"][:n].astype(np.int64)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 784)).astype(np.float32)
    return X, (X @ rng.normal(size=(784, 10))).argmax(axis=1)


def network() -> MLP:
    return build(lambda: MLP(SIZES), seed=0)


def by_trainer(X: np.ndarray, y: np.ndarray, batch_size: int, epochs: int) -> float:
    plan = Plan("adam", LEARNING_RATE, batch_size=batch_size, epochs=epochs)
    trainer = Trainer(network(), cross_entropy, plan, n_rows=len(X), seed=0)
    for _ in trainer.run(Rows.of(X, y)):
        pass
    return trainer.loss_curve[-1]


def by_data_loader(X: np.ndarray, y: np.ndarray, batch_size: int, epochs: int) -> float:
    """What a torch tutorial does."""
    torch.set_num_threads(available())
    module, loss_of = network(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    loader = DataLoader(data, batch_size=batch_size, shuffle=True, generator=torch.Generator().manual_seed(0))
    total = 0.0
    for _ in range(epochs):
        total = 0.0
        for inputs, classes in loader:
            optimizer.zero_grad()
            loss = loss_of(module(inputs), classes)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(inputs)
    return total / len(X)


def cases(quick: bool) -> list[Case]:
    """Batches of 32 and 128 rows; ``quick`` takes fewer rows and one epoch."""
    X, y = rows(ROWS // 5 if quick else ROWS)
    epochs = 1 if quick else 2
    return [
        Case(
            f"MLP {'-'.join(map(str, SIZES))}, {len(X)} rows, batch {size}, {epochs} epochs",
            ours=partial(by_trainer, X, y, size, epochs),
            peers={"DataLoader + Adam": partial(by_data_loader, X, y, size, epochs)},
            tolerance=0.1,  # the rows come in another order
        )
        for size in (32, 128)
    ]


def best_time(runs: dict[str, Run], rounds: int) -> dict[str, tuple[float, float]]:
    """Least seconds and loss of each run, taken in turn."""
    results: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            loss = run()
            seconds = time.perf_counter() - start
            results[name] = min(results.get(name, (np.inf, loss)), (seconds, loss))
    return results


def main(quick: bool = False) -> None:
    for case in cases(quick):
        results = best_time({"margin": case.ours, **case.peers}, rounds=2 if quick else ROUNDS)
        own_seconds, own_loss = results.pop("margin")
        print(f"{case.name}: margin {1e3 * own_seconds:.0f} ms, loss {own_loss:.4f}")
        for name, (seconds, loss) in results.items():
            equal = "equal" if abs(loss - own_loss) <= case.tolerance else "NOT EQUAL"
            print(f"    {name}: {1e3 * seconds:.0f} ms, loss {loss:.4f} ({equal}), ratio {seconds / own_seconds:.2f}")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
