r"""Pseudo-labels (Lee 2013): a network also learns from its own predictions, more and more as training goes on.

.. math:: L = \frac1{n_l} \sum_{i \text{ labeled}} \ell(y_i, f(x_i))
          + \alpha(t)\,\frac1{n_u} \sum_{j \text{ not}} \ell\bigl(\arg\max f(x_j), f(x_j)\bigr)

The second sum pushes the boundary between classes out of regions where rows are dense. Early predictions are
arbitrary, so :math:`\alpha(t)` is 0 at first, then rises in a straight line, then stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.domains import Either, Flag, Integer, Nested, Number, Optional, Seed
from margin.core.estimator import RUNNING, IterativeEstimator
from margin.core.invariants import ArrayOf, ModelWith
from margin.core.labels import UNKNOWN, coded_labels
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, seed_from
from margin.core.records import Record
from margin.neural.estimators.device_inside import DeviceInside
from margin.neural.estimators.mlp_classifier import MLPClassifier
from margin.neural.losses.fused import fused_cross_entropy

__all__ = ["PseudoLabel", "pseudo_label_loss", "ramp"]


def ramp(progress: float, start: float, end: float, height: float) -> float:
    """0 before ``start``, ``height`` from ``end`` on, a straight line between.

    >>> [ramp(t, 0.2, 0.6, 3.0) for t in (0.1, 0.2, 0.9)]
    [0.0, 0.0, 3.0]
    """
    if progress >= end:
        return height
    return max(0.0, height * (progress - start) / (end - start))


def pseudo_label_loss(
    module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator, *, alpha: Callable[[], float]
) -> dict[str, Tensor]:
    """The loss above on one batch, repeated for every row, so that the trainer's mean over rows equals it."""
    X, y = batch
    logits = module(X)
    labeled = y != UNKNOWN
    targets = torch.where(labeled, y, logits.detach().argmax(dim=1))
    losses = fused_cross_entropy(logits, targets, reduction="none")
    known, guessed = (losses @ part.to(losses.dtype) / part.sum().clamp(min=1) for part in (labeled, ~labeled))
    terms = {"loss": known + alpha() * guessed, "labeled_loss": known, "pseudo_loss": guessed}
    return {name: value.expand(len(y)) for name, value in terms.items()}


class PseudoLabel(DeviceInside, ClassifierMixin, IterativeEstimator):
    """A network that learns from rows with and without labels.

    Labeled rows are repeated until they are as many as the others, so that batches hold both; with the estimator's
    ``early_stopping`` only labeled rows validate. Records carry ``labeled_loss`` and ``pseudo_loss`` beside the sum.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> network = MLPClassifier((64,), standardize=False, max_iter=8, batch_size=64, learning_rate_init=5e-3)
    >>> given = np.where(np.arange(len(y)) < 60, y, -1)
    >>> taught = [PseudoLabel(network, alpha=a, random_state=0).fit(X / 16, given) for a in (0.0, 3.0)]
    >>> alone, with_the_others = (model.score(X / 16, y) for model in taught)
    >>> with_the_others > alone
    True
    """

    estimator: Any = parameter(
        None,
        Optional(Nested("fit", "predict_proba", "iterate")),
        "The network and the way to train it, an MLPClassifier; None: MLPClassifier().",
    )
    _: KW_ONLY
    alpha: float = parameter(
        3.0, Number(low=0, search=(0.1, 10), log=True), "Full weight of the rows without a label in the loss."
    )
    ramp_start: float = parameter(
        0.1, Number(low=0, below=1), "Fraction of all updates until which rows without a label have no weight."
    )
    ramp_end: float = parameter(
        0.7, Number(above=0, high=1), "Fraction of all updates from which they have their full weight."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws the weights, the order of rows and the noise.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    estimator_: MLPClassifier = attribute(ModelWith(["predict"], columns="n_features"), "The trained network.")
    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The classes.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding the network's records; ``y`` marks rows without a label by -1, None or NaN."""
        self._check_parameters()
        if self.ramp_start >= self.ramp_end:
            raise ValueError(
                f"PseudoLabel: ramp_start must be below ramp_end; got {self.ramp_start} and {self.ramp_end}."
            )
        student = clone(MLPClassifier() if self.estimator is None else self.estimator)
        if not isinstance(student, MLPClassifier):
            raise ValueError(f"PseudoLabel: estimator must be an MLPClassifier; got {type(student).__name__}.")
        self._place_inside(student)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        self.classes_, codes = coded_labels("PseudoLabel", X, y)
        seed = seed_from(self.random_state) if state is None else int(state["seed"])
        self.estimator_ = student.set_params(random_state=seed)
        loss = partial(pseudo_label_loss, alpha=lambda: self._alpha(student._loop.now()))
        split = _repeat_rows(student, codes, seed)
        records = student.iterate_coded(X, codes, self.classes_, loss, split, seed=seed, state=state)
        try:
            for record in records:
                self._loop = student._loop
                yield record
            self._loop = student._loop
        finally:
            records.close()  # type: ignore[attr-defined]
            for name in RUNNING:
                student.__dict__.pop(name, None)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class."""
        return self._ready().predict_proba(self._check(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class."""
        return self._ready().predict(self._check(X))

    def _alpha(self, progress: float) -> float:
        return ramp(progress, self.ramp_start, self.ramp_end, self.alpha)

    def _ready(self) -> MLPClassifier:
        check_is_fitted(self)
        return self.estimator_

    def _check(self, X: Any) -> np.ndarray:
        return validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)


def _repeat_rows(student: MLPClassifier, codes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers that train, labeled ones repeated to the number of the others, and labeled ones that validate."""
    labeled, others = np.flatnonzero(codes != UNKNOWN), np.flatnonzero(codes == UNKNOWN)
    train, valid = student._split(len(labeled), seed, codes[labeled])
    times = max(1, round(len(others) / len(train)))
    return np.concatenate([np.tile(labeled[train], times), others]), labeled[valid]
