"""From training and validation errors to plain words: does a model underfit, overfit, or would more rows help?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.arguments import finite, integer, real
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.randomness import RandomLike, as_generator
from margin.data.splits import random_split
from margin.metrics import metric
from margin.selection.bias_variance import fresh
from margin.selection.trial import rows_of

__all__ = ["LearningCurve", "diagnose", "generalization_gap", "in_words", "learning_curve", "overfitting_starts"]

# A training error above a third of what the best constant makes: the model explains little of what it has seen.
LITTLE_LEARNED = 1 / 3
# A validation error this many times the training error: what was learned does not carry over.
LARGE_GAP = 2.0


def diagnose(train_error: float, validation_error: float, baseline: float) -> str:
    """ "underfitting", "overfitting" or "good fit", from two errors and ``baseline``, the error of the best constant.

    A model underfits when it leaves more than a third of the baseline's error on its own training rows, and overfits
    when it does better than that there and more than twice as badly on others. Noise that no model could explain counts
    as left: where it is known, take it from all three errors.

    Parameters
    ----------
    train_error : float
        Error on the training rows.
    validation_error : float
        Error on other rows.
    baseline : float
        Error of the best constant.

    Examples
    --------
    >>> diagnose(0.9, 1.0, baseline=1.0), diagnose(0.01, 0.8, baseline=1.0), diagnose(0.1, 0.12, baseline=1.0)
    ('underfitting', 'overfitting', 'good fit')
    """
    errors = [real("diagnose", "train_error", train_error), real("diagnose", "validation_error", validation_error)]
    if min(errors) < 0 or real("diagnose", "baseline", baseline) <= 0:
        raise ValueError("diagnose: errors must not be negative and baseline must be positive.")
    if errors[0] > LITTLE_LEARNED * baseline:
        return "underfitting"
    # A gap that is small beside the baseline is small whatever its ratio: 1e-9 and 1e-6 are both a perfect fit.
    gap = errors[1] - errors[0]
    return "overfitting" if errors[1] > LARGE_GAP * errors[0] and gap > 0.05 * baseline else "good fit"


def overfitting_starts(train_loss: Any, validation_loss: Any, patience: int = 5) -> int | None:
    """The epoch of the least validation loss if it then rises for ``patience`` epochs while training loss falls.

    Both losses are compared over the ``patience`` epochs as a whole, so that one noisy epoch decides nothing; None
    where it never happens.

    Parameters
    ----------
    train_loss : array-like of shape (epochs,)
        Training loss of every epoch.
    validation_loss : array-like of shape (epochs,)
        Validation loss of every epoch.
    patience : int
        Epochs over which both are compared.

    Examples
    --------
    >>> overfitting_starts([5, 4, 3, 2, 1, 0.5], [5, 4, 3, 3.5, 4, 5], patience=3)
    2
    """
    train = finite("overfitting_starts", "train_loss", train_loss)
    validation = finite("overfitting_starts", "validation_loss", validation_loss)
    patience = integer("overfitting_starts", "patience", patience, low=1)
    if train.ndim != 1 or train.shape != validation.shape:
        raise ValueError(f"overfitting_starts: losses must be two equal lists; got {train.shape}, {validation.shape}.")
    best = int(np.argmin(validation))
    later = best + patience
    if later >= len(train) or train[later] >= train[best]:
        return None
    return best if np.all(validation[best + 1 : later + 1] > validation[best]) else None


def generalization_gap(model: Any, train: tuple[Any, Any], test: tuple[Any, Any], loss: str = "mse") -> float:
    """Loss of a fitted model on test rows minus its loss on training rows; ``loss`` names a metric to minimize.

    Parameters
    ----------
    model : estimator
        A fitted model.
    train : tuple of arrays
        Training rows and targets.
    test : tuple of arrays
        Test rows and targets.
    loss : str
        Name of a metric to minimize.
    """
    entry = metric(loss)
    if entry.greater_is_better:
        raise ValueError(f"generalization_gap: loss must be a metric that falls as models improve; got {loss!r}.")
    return entry.measure(model, *test) - entry.measure(model, *train)


@dataclass(frozen=True)
class LearningCurve:
    """Scores (sizes, repeats) on the rows learned from and on rows held out, by number of training rows."""

    metric: str
    sizes: np.ndarray
    train: np.ndarray
    validation: np.ndarray

    def more_rows_help(self) -> bool:
        """Whether the last doubling of rows improved the held-out score by more than twice its standard error."""
        greater = metric(self.metric).greater_is_better
        half = int(np.argmin(np.abs(self.sizes - self.sizes[-1] / 2)))
        gain = (self.validation[-1] - self.validation[half]) * (1 if greater else -1)
        return bool(gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)))


def rows_in_words(curve: LearningCurve) -> str:
    """Whether more rows would help, as a sentence."""
    return "More rows would help." if curve.more_rows_help() else "Twice the rows changed little."


def in_words(curve: LearningCurve, baseline: float, baseline_on_training_rows: float | None = None) -> str:
    """The diagnosis of a learning curve as a sentence; ``baseline`` is the score of the best constant on the rows held
    out, and where it is another on the training rows, as in time, that stands beside it: each error has its own.

    Scores that rise as models improve count by what they lack of one: 1 - accuracy, 1 - R squared.

    >>> curve = LearningCurve("accuracy", np.array([50, 100]), np.ones((2, 2)), np.array([[0.6, 0.62], [0.7, 0.71]]))
    >>> in_words(curve, baseline=0.5)
    'It overfits: an error of 0.000 on its own training rows, 0.295 on others. More rows would help.'
    """
    greater = metric(curve.metric).greater_is_better
    on_training_rows = baseline if baseline_on_training_rows is None else baseline_on_training_rows
    train, validation, constant_there, constant = (
        max(float(1 - value if greater else value), 0.0)
        for value in (curve.train[-1].mean(), curve.validation[-1].mean(), on_training_rows, baseline)
    )
    rows = rows_in_words(curve)
    if not (constant > 0 and constant_there > 0):
        return rows
    left, left_on_others = train / constant_there, validation / constant
    errors = f"an error of {train:.3f} on its own training rows, {validation:.3f} on others"
    if train >= validation:  # rows that are easier for everyone, the constant too
        errors = f"{left:.0%} of the constant's error is left on its own training rows, {left_on_others:.0%} on others"
    finding = {
        "underfitting": f"It underfits, or the target is noisy: {left:.0%} of the constant's error is left"
        " on its own training rows.",
        "overfitting": f"It overfits: {errors}.",
        "good fit": f"A good fit: {left:.0%} of the constant's error is left on training rows,"
        f" {left_on_others:.0%} on others.",
    }[diagnose(left, left_on_others, 1.0)]
    return f"{finding} {rows}"


def learning_curve(
    model: Any,
    X: MatrixLike,
    y: ArrayLike,
    sizes: Any = (0.125, 0.25, 0.5, 1.0),
    *,
    metric_name: str,
    repeats: int = 5,
    test_size: float = 0.3,
    random_state: RandomLike = None,
) -> LearningCurve:
    """Fit on growing parts of the training rows; each repeat draws its own test rows and its own order.

    ``sizes`` are fractions of the training rows. Parts grow by adding rows, so that a curve is not shaken by new ones.

    Parameters
    ----------
    model : estimator or callable
        An estimator, cloned for every fit, or a function that makes a new one.
    X : array-like of shape (n, n_features)
        Rows.
    y : array-like of shape (n,)
        Their targets.
    sizes : array-like
        Fractions of the training rows.
    metric_name : str
        Name of a metric of ``margin.metrics.REGISTRY``.
    repeats : int
        Random splits.
    test_size : float or int
        Fraction of the rows for testing, or their number.
    random_state : int, RandomState, Generator or None
        Source of randomness.
    """
    fractions = finite("learning_curve", "sizes", sizes)
    if fractions.ndim != 1 or np.any(np.diff(fractions) <= 0) or fractions[0] <= 0 or fractions[-1] > 1:
        raise ValueError(f"learning_curve: sizes must rise within (0, 1]; got {fractions.tolist()}.")
    repeats = integer("learning_curve", "repeats", repeats, low=2)
    rng, entry, target = as_generator(random_state), metric(metric_name), np.asarray(y)
    train_scores, test_scores, counts = [], [], np.zeros(len(fractions), dtype=int)
    for _ in range(repeats):
        train, test = random_split(len(target), test_size, rng)
        train = rng.permutation(train)
        counts = np.maximum(np.round(fractions * len(train)).astype(int), 1)
        fitted = [fresh(model, rng).fit(rows_of(X, train[:n]), target[train[:n]]) for n in counts]
        seen = zip(fitted, counts, strict=True)
        train_scores.append([entry.measure(m, rows_of(X, train[:n]), target[train[:n]]) for m, n in seen])
        test_scores.append([entry.measure(m, rows_of(X, test), target[test]) for m in fitted])
    return LearningCurve(metric_name, counts, np.array(train_scores).T, np.array(test_scores).T)
