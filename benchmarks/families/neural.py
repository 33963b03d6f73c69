"""Training a perceptron 784-256-128-10 with Adam: the training loop against a DataLoader with a plain loop in torch.

Same network, same initial weights, same optimizer and number of steps; the loss of the last epoch stands beside the
time, because a faster loop that learns something else has won nothing. Takes MNIST where ``MARGIN_DATA`` leads to it,
otherwise rows of the same shape whose classes a random linear map decides.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.measuring.harness import Case, Peer
from margin import data
from margin.core.threads import available, threads_for
from margin.neural import MLP, Minimize, Plan, RowBatches, TensorRows, Training, train
from margin.neural.generators import Seeds
from margin.neural.training.objectives import cross_entropy
from margin.neural.weights import build, forward_work

__all__ = ["cases"]

SIZES = (784, 256, 128, 10)
ROWS = 20_000
LEARNING_RATE = 1e-3

Examples = tuple[np.ndarray, np.ndarray]


def cases(quick: bool) -> list[Case]:
    """Batches of 32 and 128 rows; ``quick`` takes fewer rows and one epoch."""
    n, epochs = (ROWS // 5, 1) if quick else (ROWS, 2)
    return [
        Case(
            f"MLP {'-'.join(map(str, SIZES))}",
            f"{n} rows, batch {batch}, {epochs} epochs",
            partial(rows, n),
            partial(by_loop, batch, epochs),
            (Peer("DataLoader + Adam", "torch", partial(by_data_loader, batch, epochs)),),
            lambda _, loss: loss,
            "last loss",
            rounds=5,
            memory=False,
        )
        for batch in (32, 128)
    ]


def rows(n: int) -> Examples:
    """Images and classes: MNIST where it is at hand, otherwise rows of its shape."""
    if os.environ.get("MARGIN_DATA"):
        mnist = data.load("mnist")
        return np.asarray(mnist.X[:n], dtype=np.float32), np.asarray(mnist.y[:n], dtype=np.int64)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 784)).astype(np.float32)
    return X, (X @ rng.normal(size=(784, 10))).argmax(axis=1)


def network() -> MLP:
    return build(lambda: MLP(SIZES), seed=0)


def by_loop(batch_size: int, epochs: int, examples: Examples) -> float:
    X, y = examples
    module, seeds = network(), Seeds.of(0)
    batches = RowBatches(TensorRows.of(X, y), batch_size, seeds.order)
    step = Minimize(module, cross_entropy, schedule=LEARNING_RATE, seed=seeds.noise)
    training = Training(batches, step, Plan(epochs), threads=threads_for(forward_work(module, batch_size)))
    for _ in train(training):
        pass
    return training.loss_curve[-1]


def by_data_loader(batch_size: int, epochs: int, examples: Examples) -> float:
    """What a torch tutorial does."""
    X, y = examples
    torch.set_num_threads(available())
    module, loss_of = network(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
    table = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    loader = DataLoader(table, batch_size=batch_size, shuffle=True, generator=torch.Generator().manual_seed(0))
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
