"""One trial: one model fitted on the training rows of one fold and measured on the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from margin.core.full_disk import is_full_disk
from margin.metrics import Metric
from margin.selection.outputs import Output, output_of, scores_of
from margin.selection.prepared import PreparedColumns
from margin.selection.work_clock import seconds_worked

__all__ = [
    "CURVE",
    "FOLD",
    "HELD_OUT",
    "LAST",
    "SCREEN",
    "Candidate",
    "Task",
    "Trial",
    "TrialData",
    "rows_of",
    "run_trial",
    "seconds_worked",
]

# What a trial is for: a fold of the board, a part of the rows to see what a dear model costs, a point of the winner's
# learning curve, the rows that judge the winner once, its fit to all rows.
FOLD, SCREEN, CURVE, HELD_OUT, LAST = "fold", "screen", "curve", "held-out", "last"


@dataclass(frozen=True)
class Candidate:
    """A model to try: ``make`` gives a new, unfitted one with its preprocessing.

    ``settings`` describes what was set on it. ``make_for``, where given, is called with the training rows instead:
    for a model that splits them further and must know how. ``catalog_name`` is the model's name in the catalog, by
    which it can be searched; empty for what has none. What cannot be saved ``can_win`` nothing: it is shown.
    """

    name: str
    make: Callable[[], Any]
    settings: str = ""
    make_for: Callable[[np.ndarray], Any] | None = None
    catalog_name: str = ""
    can_win: bool = True


@dataclass(frozen=True)
class TrialData:
    """What all trials of a comparison share; ``classes`` is empty for a regression."""

    X: Any
    y: np.ndarray
    metrics: Sequence[Metric]
    classes: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Task:
    """A trial to be run: which model on which rows.

    It is given up after ``limit`` seconds of work (:class:`WorkClock`), fitting and predicting, and at ``deadline`` (of
    ``time.monotonic``) however long importing took. ``keep``, if given, is called with the fitted model;
    what it says is the note.
    """

    model: str
    fold: int
    train: np.ndarray
    test: np.ndarray
    stage: str = FOLD
    limit: float | None = None
    measures_training: bool = False
    deadline: float | None = None
    keep: Callable[[Any], str] | None = None

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.model, self.stage, self.fold, len(self.train)


@dataclass(frozen=True)
class Trial:
    """Scores of one model on one fold; ``error`` is a sentence where it failed, and then there are no scores.

    ``reasons`` say why a metric is missing from ``scores``; ``late`` marks a trial that was given up for its cost.
    ``excess`` is how far the farthest prediction of a regressor was outside the range of its training targets, in
    lengths of that range, before it was bounded.
    """

    model: str
    fold: int
    scores: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    n_train: int = 0
    n_test: int = 0
    error: str = ""
    stage: str = FOLD
    settings: str = ""
    train_scores: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    warning: str = ""
    late: bool = False
    note: str = ""
    excess: float = 0.0

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.model, self.stage, self.fold, self.n_train

    @property
    def seconds(self) -> float:
        """What the trial cost."""
        return self.fit_seconds + self.predict_seconds


def run_trial(
    candidate: Candidate,
    data: TrialData,
    task: Task,
    begin: Callable[[], None] = lambda: None,
    prepared: PreparedColumns | None = None,
) -> tuple[Trial, Output | None]:
    """Fit on ``task.train``, measure on ``task.test``; a model that breaks gives a row, not an end; a full disk does.

    ``begin`` is called when the model is made, which imports what it needs, and its fit begins. ``prepared`` keeps
    prepared columns for the models that come later; what preparing cost counts for each of them.
    """
    blank = blank_trial(candidate, task)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = candidate.make() if candidate.make_for is None else candidate.make_for(task.train)
            begin()
            fitted = _fit(model, data, task, prepared)
            train_scores = _training_scores(model, data, task) if task.measures_training else {}
            note = "" if task.keep is None else task.keep(model)
        if not len(task.test):
            return replace(blank, fit_seconds=fitted.fit_seconds, predict_seconds=0.0, note=note), None
        scores, reasons = scores_of(fitted.output, data.y[task.test], data.classes, data.metrics)
    except Exception as error:
        if is_full_disk(error):
            raise
        return replace(blank, error=sentence_of(error)), None
    done = replace(
        blank,
        scores=scores,
        reasons=reasons,
        train_scores=train_scores,
        fit_seconds=fitted.fit_seconds,
        predict_seconds=fitted.predict_seconds,
        warning=str(caught[0].message).strip().partition("\n")[0] if caught else "",
        note=note,
        excess=fitted.output.excess,
    )
    return done, fitted.output


class _Fitted(NamedTuple):
    output: Output
    fit_seconds: float
    predict_seconds: float


def _fit(model: Any, data: TrialData, task: Task, prepared: PreparedColumns | None) -> _Fitted:
    """Fit the model and ask it about the test rows; where its columns were prepared before, only what follows."""
    X_train, X_test, y = rows_of(data.X, task.train), rows_of(data.X, task.test), data.y[task.train]
    fits_all_steps = task.measures_training or task.keep is not None or prepared is None
    columns = None if fits_all_steps or prepared is None else prepared.of(model, X_train, X_test, task.train, task.test)
    before = (0.0, 0.0) if columns is None else (columns.fit_seconds, columns.transform_seconds)
    if columns is not None:
        model, X_train, X_test = model[1:], columns.train, columns.test
    started = seconds_worked()
    model.fit(X_train, y)
    fitted = seconds_worked()
    output = output_of(model, X_test, data.classes) if len(task.test) else Output(np.empty(0))
    return _Fitted(output, before[0] + fitted - started, before[1] + seconds_worked() - fitted)


def blank_trial(candidate: Candidate, task: Task) -> Trial:
    return Trial(
        task.model,
        task.fold,
        n_train=len(task.train),
        n_test=len(task.test),
        stage=task.stage,
        settings=candidate.settings,
    )


def sentence_of(error: BaseException) -> str:
    message = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0]}" if message else type(error).__name__


def rows_of(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _training_scores(model: Any, data: TrialData, task: Task) -> dict[str, float]:
    output = output_of(model, rows_of(data.X, task.train), data.classes)
    return scores_of(output, data.y[task.train], data.classes, data.metrics)[0]
