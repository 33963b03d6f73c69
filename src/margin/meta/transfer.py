"""Transfer: weights learned on one task start another."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from margin.neural.nets.mlp import MLP
from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, train
from margin.neural.training.objectives import cross_entropy
from margin.neural.weights import build

__all__ = ["accuracy", "fine_tune", "pretrain_then_finetune", "transfer_curve", "with_new_head"]


def fine_tune(
    module: nn.Module,
    X: Any,
    y: Any,
    *,
    freeze: Sequence[str] = (),
    epochs: int = 50,
    batch_size: int = 32,
    rate: float = 1e-2,
    weight: Any = None,
    random_state: int = 0,
) -> nn.Module:
    """A copy of ``module`` trained on classes ``y``; parameters with names that begin with one of ``freeze`` stay.

    Parameters
    ----------
    module : Module
        A network that gives one score per class.
    X : array-like of shape (n, n_features)
        Rows.
    y : array-like of shape (n,)
        Classes 0 to k - 1.
    freeze : sequence of str
        Beginnings of the names of parameters that stay as they are.
    epochs : int
        Passes over the rows.
    batch_size : int
        Rows of a batch.
    rate : float
        Learning rate.
    weight : array-like of shape (n,), optional
        Weights of the rows.
    random_state : int
        Seed.
    """
    tuned = deepcopy(module).requires_grad_(True)
    for start in freeze:
        named = [p for name, p in tuned.named_parameters() if name.startswith(start)]
        if not named:
            raise ValueError(f"fine_tune: freeze must name parameters of the network; none begins with {start!r}.")
        for p in named:
            p.requires_grad_(False)
    rows = TensorRows.of(np.asarray(X, dtype=np.float32), np.asarray(y, dtype=np.int64), weight=weight)
    batches = RowBatches(rows, min(batch_size, len(rows)), random_state)
    step = Minimize(tuned, cross_entropy, schedule=rate, seed=random_state)
    for _ in train(Training(batches, step, Plan(epochs, record_steps=None), threads=1)):
        pass
    return tuned.eval()


def with_new_head(module: MLP, n_outputs: int, random_state: int = 0) -> MLP:
    """A copy of a perceptron whose last layer is new and gives ``n_outputs`` scores."""
    last = module.linears[-1]
    head = build(lambda: MLP([last.in_features, n_outputs]), random_state).linears[0]
    copied = deepcopy(module)
    copied.linears = cast(Sequence[nn.Linear], nn.ModuleList([*list(copied.linears)[:-1], head]))
    copied.sizes = [*module.sizes[:-1], n_outputs]
    return copied


def pretrain_then_finetune(
    source: tuple[Any, Any],
    target: tuple[Any, Any],
    *,
    hidden: Sequence[int] = (64, 32),
    freeze: Sequence[str] = ("linears.0",),
    epochs: tuple[int, int] = (30, 50),
    random_state: int = 0,
) -> tuple[nn.Module, nn.Module]:
    """A perceptron learned on ``source`` and then, with a new last layer, on ``target``; and one from scratch.

    Parameters
    ----------
    source : tuple of arrays
        Rows and labels of the first task.
    target : tuple of arrays
        Rows and labels of the second task.
    hidden : sequence of int
        Units of the hidden layers.
    freeze : sequence of str
        Beginnings of the names of parameters that stay as they are on the second task.
    epochs : tuple of int
        Epochs on the first and on the second task.
    random_state : int
        Seed.
    """
    learned = _pretrained(source, hidden, epochs[0], random_state)
    n_outputs = int(np.max(target[1])) + 1
    start = with_new_head(learned, n_outputs, random_state + 1)
    fresh = build(lambda: MLP([np.shape(source[0])[1], *hidden, n_outputs]), random_state + 1)
    tuned = fine_tune(start, *target, freeze=freeze, epochs=epochs[1], random_state=random_state)
    return tuned, fine_tune(fresh, *target, epochs=epochs[1], random_state=random_state)


def _pretrained(source: tuple[Any, Any], hidden: Sequence[int], epochs: int, seed: int) -> MLP:
    X, y = source
    fresh = build(lambda: MLP([np.shape(X)[1], *hidden, int(np.max(y)) + 1]), seed)
    learned = fine_tune(fresh, X, y, epochs=epochs, random_state=seed)
    assert isinstance(learned, MLP)
    return learned


def transfer_curve(
    source: tuple[Any, Any],
    target: tuple[Any, Any],
    n_labels: Sequence[int],
    *,
    hidden: Sequence[int] = (64, 32),
    freeze: Sequence[str] = ("linears.0",),
    epochs: tuple[int, int] = (30, 50),
    repeats: int = 5,
    random_state: int = 0,
) -> dict[str, np.ndarray]:
    """Accuracy on the rest of ``target`` after learning from ``n_labels`` rows of each of its classes 0..k-1.

    ``pretrained`` and ``scratch`` have shape (repeats, counts): each repeat draws other labeled rows. Without any label
    the last layer stays as it was drawn, so both are at chance.

    Parameters
    ----------
    source : tuple of arrays
        Rows and labels of the first task.
    target : tuple of arrays
        Rows and labels of the second task.
    n_labels : sequence of int
        Labeled rows per class.
    hidden : sequence of int
        Units of the hidden layers.
    freeze : sequence of str
        Beginnings of the names of parameters that stay as they are on the second task.
    epochs : tuple of int
        Epochs on the first and on the second task.
    repeats : int
        Draws of labeled rows.
    random_state : int
        Seed.
    """
    Z, labels = np.asarray(target[0]), np.asarray(target[1])
    k, learned = int(labels.max()) + 1, _pretrained(source, hidden, epochs[0], random_state)
    accuracies: dict[str, list[list[float]]] = {"pretrained": [], "scratch": []}
    for repeat in range(repeats):
        rng = np.random.default_rng([random_state, repeat])
        order = [rng.permutation(np.flatnonzero(labels == c)) for c in range(k)]
        starts = {
            "pretrained": (with_new_head(learned, k, repeat), freeze),
            "scratch": (build(lambda: MLP([Z.shape[1], *hidden, k]), repeat), ()),
        }
        for name, (start, frozen) in starts.items():
            row = []
            for n in n_labels:
                shown = np.concatenate([rows[:n] for rows in order])
                rest = np.concatenate([rows[max(n_labels) :] for rows in order])
                net: nn.Module = start
                if n:
                    net = fine_tune(
                        start, Z[shown], labels[shown], freeze=frozen, epochs=epochs[1], random_state=repeat
                    )
                row.append(accuracy(net, Z[rest], labels[rest]))
            accuracies[name].append(row)
    return {name: np.array(rows) for name, rows in accuracies.items()}


def accuracy(module: nn.Module, X: Any, y: Any) -> float:
    """Fraction of rows whose highest score is that of their class."""
    with torch.inference_mode():
        scores = module.eval()(torch.from_numpy(np.asarray(X, dtype=np.float32)))
    return float(np.mean(scores.argmax(dim=1).numpy() == np.asarray(y)))
