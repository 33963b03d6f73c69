"""Transfer: weights learned on one task start another."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

import numpy as np
import torch
from sklearn.base import clone
from torch import nn

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.estimator import RUNNING
from margin.neural.nets.mlp import MLP
from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, train
from margin.neural.training.objectives import cross_entropy
from margin.neural.weights import build, copy_weights

__all__ = ["accuracy", "fine_tune", "pretrain_then_finetune", "transfer_curve", "with_new_head"]


def fine_tune(
    module: Any,
    X: MatrixLike,
    y: ArrayLike,
    *,
    freeze: Sequence[str] = (),
    epochs: int = 50,
    batch_size: int = 32,
    rate: float = 1e-2,
    weight: Any = None,
    random_state: int = 0,
) -> Any:
    """A copy of ``module`` trained on classes ``y``; parameters with names that begin with one of ``freeze`` stay.

    Parameters
    ----------
    module : Module or fitted classifier
        A network that gives one score per class, or a classifier of :mod:`margin.neural`, which may be fitted to other
        classes: the copy starts from its weights, with a new last layer where the classes are others.
    X : array-like of shape (n, n_features)
        Rows.
    y : array-like of shape (n,)
        Classes 0 to k - 1; any labels for a classifier.
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
    if hasattr(module, "weights_") and hasattr(module, "classes_"):
        if freeze or weight is not None:
            raise ValueError(
                f"fine_tune: freeze and weight are for torch Modules; got a {type(module).__name__}, all of whose "
                "layers learn."
            )
        return _tune_classifier(module, X, y, epochs, batch_size, rate, random_state)
    if not isinstance(module, nn.Module):
        raise ValueError(
            "fine_tune: module must be a torch Module or a fitted classifier with a network; got "
            f"{'an unfitted ' if hasattr(module, 'fit') else ''}{type(module).__name__}."
        )
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


def _tune_classifier(model: Any, X: Any, y: Any, epochs: int, batch_size: int, rate: float, seed: int) -> Any:
    """A classifier for ``y`` that starts from the weights of ``model`` wherever both networks have the same."""
    tuned = clone(model).set_params(
        max_iter=epochs, batch_size=batch_size, learning_rate_init=rate, random_state=seed, warm_start=False
    )
    begun = tuned.iterate(X, y)  # describes the network for the new classes
    next(begun)
    begun.close()
    for name in ("center_", "scale_"):  # the first layers belong to the scaling they were learned with
        if name in vars(model):
            setattr(tuned, name, getattr(model, name))
    for name in ("center", "scale"):
        if name in getattr(model, "network_", {}):
            tuned.network_[name] = model.network_[name]
    fresh = copy_weights(build(tuned._network, seed))
    last = list(fresh)[-2:]  # weight and bias of the last layer
    same = np.array_equal(tuned.classes_, model.classes_)
    for name, array in fresh.items():
        learned = model.weights_.get(name)
        if learned is not None and learned.shape == array.shape and (same or name not in last):
            fresh[name] = np.array(learned)
    for name in (*RUNNING, "_module"):
        tuned.__dict__.pop(name, None)
    tuned.weights_ = fresh
    return tuned.set_params(warm_start=True).fit(X, y).set_params(warm_start=False)


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
    freeze: Sequence[str] = (),
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
    learned = _pretrain(source, hidden, epochs[0], random_state)
    n_outputs = int(np.max(target[1])) + 1
    start = with_new_head(learned, n_outputs, random_state + 1)
    fresh = build(lambda: MLP([np.shape(source[0])[1], *hidden, n_outputs]), random_state + 1)
    tuned = fine_tune(start, *target, freeze=freeze, epochs=epochs[1], random_state=random_state)
    return tuned, fine_tune(fresh, *target, epochs=epochs[1], random_state=random_state)


def _pretrain(source: tuple[Any, Any], hidden: Sequence[int], epochs: int, seed: int) -> MLP:
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
    freeze: Sequence[str] = (),
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
    k, learned = int(labels.max()) + 1, _pretrain(source, hidden, epochs[0], random_state)
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


def accuracy(module: nn.Module, X: MatrixLike, y: ArrayLike) -> float:
    """Fraction of rows whose highest score is that of their class."""
    with torch.inference_mode():
        scores = module.eval()(torch.from_numpy(np.asarray(X, dtype=np.float32)))
    return float(np.mean(scores.argmax(dim=1).numpy(force=True) == np.asarray(y)))
