r"""Domain adaptation: rows of two domains are brought together, of which only one has labels.

CORAL turns the covariance of the source into that of the target,
:math:`X_s \leftarrow X_s C_s^{-1/2} C_t^{1/2}`; importance weights are :math:`p_t(x) / p_s(x)`, from a classifier that
tells the domains apart; a gradient that is reversed on its way makes features from which none could.
"""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.arguments import finite, shown
from margin.linear import LogisticRegression
from margin.meta.transfer import fine_tune
from margin.neural.activations.fused import fused_softplus
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.nets.mlp import MLP
from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, train
from margin.neural.weights import build
from margin.optimize.schedules import cosine

__all__ = ["coral", "domain_adapt", "importance_weights", "reverse_gradient"]

BATCH_SIZE = 64  # source rows of an adversarial update, and as many of the target


def coral(source: Any, target: Any, shrinkage: float = 1e-3) -> np.ndarray:
    """Source rows with the mean and the covariance of the target."""
    source, target = (np.asarray(X, dtype=np.float64) for X in (source, target))
    covariances = [np.cov(X.T) + shrinkage * np.eye(X.shape[1]) for X in (source, target)]
    whiten, color = _power(covariances[0], -0.5), _power(covariances[1], 0.5)
    return (source - source.mean(axis=0)) @ whiten @ color + target.mean(axis=0)


def _power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * values**exponent) @ vectors.T


def importance_weights(source: Any, target: Any, C: float = 1.0) -> np.ndarray:
    """How much likelier each source row is in the target, from a logistic regression between both; of mean 1."""
    X = np.concatenate([source, target])
    domain = np.repeat([0, 1], [len(source), len(target)])
    p = LogisticRegression(C=C).fit(X, domain).predict_proba(np.asarray(source))[:, 1]
    weights = p / (1 - p)
    return weights / weights.mean()


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradients[0], None


def reverse_gradient(x: Tensor, strength: float = 1.0) -> Tensor:
    """``x`` itself, whose gradient comes back with the other sign and ``strength`` times as large."""
    return _Reverse.apply(x, strength)


class DomainAdversarial(nn.Module):
    """One hidden layer of bounded features, and two linear heads: for classes, and for domains, which it misleads.

    As in the first paper. Unbounded features would mislead any head by growing, and a deep head follows no fixed one.
    """

    def __init__(self, n_features: int, width: int, n_classes: int):
        super().__init__()
        self.hidden = nn.Linear(n_features, width)
        self.classes, self.domain = nn.Linear(width, n_classes), nn.Linear(width, 1)

    def features(self, x: Tensor) -> Tensor:
        return torch.tanh(self.hidden(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.classes(self.features(x))

    def domain_logit(self, x: Tensor, strength: float) -> Tensor:
        return self.domain(reverse_gradient(self.features(x), strength))[:, 0]


def domain_adapt(
    source: tuple[Any, Any],
    target: Any,
    *,
    method: str = "coral",
    width: int = 32,
    epochs: int = 60,
    strength: float = 1.0,
    random_state: int = 0,
) -> nn.Module:
    """A network for classes of the target, of which only rows are known: 'coral', 'importance', 'dann' or 'none'.

    Parameters
    ----------
    source : tuple of arrays
        Rows and labels of the source.
    target : array-like of shape (m, n_features)
        Rows of the target, without labels.
    method : {"coral", "importance", "dann", "none"}
        Matched covariances, weighted source rows, an adversary on the domain, or no adaptation.
    width : int
        Units of the hidden layer.
    epochs : int
        Passes over the source rows.
    strength : float
        Weight of the adversary; only "dann" has one.
    random_state : int
        Seed.
    """
    methods = ("none", "coral", "importance", "dann")
    if method not in methods:
        raise ValueError(f"domain_adapt: method must be one of {', '.join(methods)}; got {method!r}.")
    X, y, target = _domains(source, target)
    n_classes = int(y.max()) + 1
    if method == "dann":
        return _adversarial(X, y, target, n_classes, width, epochs, strength, random_state)
    weight = importance_weights(X, target) if method == "importance" else None
    rows = coral(X, target) if method == "coral" else X
    net = build(lambda: MLP([X.shape[1], width, n_classes]), random_state)
    return fine_tune(net, rows, y, epochs=epochs, weight=weight, random_state=random_state)


def _domains(source: Any, target: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and classes of the source, and rows of the target, if they fit together."""
    if not isinstance(source, tuple | list) or len(source) != 2:
        raise ValueError(f"domain_adapt: source must be a pair of rows and labels; got {shown(source)}.")
    X, other = finite("domain_adapt", "source rows", source[0]), finite("domain_adapt", "target", target)
    labels = np.asarray(source[1])
    if X.ndim != 2 or other.ndim != 2 or X.shape[1] != other.shape[1] or not len(other):
        raise ValueError(
            f"domain_adapt: rows of source and target must be tables with as many columns; got {X.shape} and "
            f"{other.shape}."
        )
    if labels.dtype.kind not in "biu" or labels.shape != (len(X),) or not len(X) or labels.min() < 0:
        raise ValueError(
            f"domain_adapt: labels of source must be integers from 0 on, one for each of {len(X)} rows; got "
            f"{shown(source[1])}."
        )
    return X, labels.astype(np.int64), other


def _adversarial(
    X: np.ndarray,
    y: np.ndarray,
    target: np.ndarray,
    n_classes: int,
    width: int,
    epochs: int,
    strength: float,
    seed: int,
) -> nn.Module:
    module = build(lambda: DomainAdversarial(X.shape[1], width, n_classes), seed)
    drawn = np.random.default_rng(seed).integers(0, len(target), len(X))  # a target row beside every source row
    rows = TensorRows.of(X.astype(np.float32), y, target[drawn].astype(np.float32))
    batches = RowBatches(rows, min(BATCH_SIZE, len(rows)), seed)
    steps = epochs * batches.steps_per_epoch
    done = count()

    def objective(net: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
        assert isinstance(net, DomainAdversarial)
        own, labels, other = batch
        # Misleading the domain head pays only once it can tell something: the reversal grows from 0, as in the paper.
        reversal = strength * (2 / (1 + math.exp(-10 * next(done) / steps)) - 1)
        classes = fused_cross_entropy(net(own), labels, reduction="none")
        own_logit, other_logit = (net.domain_logit(part, reversal) for part in (own, other))
        domains = fused_softplus(own_logit) + fused_softplus(-other_logit)
        return {"loss": classes + domains, "class_loss": classes, "domain_loss": domains}

    step = Minimize(module, objective, schedule=cosine(1e-2, steps=steps), seed=seed)
    for _ in train(Training(batches, step, Plan(epochs, record_steps=None), threads=1)):
        pass
    return module.eval()
