"""The loop of a run: records to the metrics file, from time to time a checkpoint, an end when it is requested."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from margin import catalog
from margin.core.callbacks import with_callbacks
from margin.core.notices import warn_user
from margin.core.records import Record
from margin.core.streaming import Stream
from margin.core.summaries import TakesStreams, check_takes_stream
from margin.runs.journal import Checkpoint, Journal, RunError
from margin.store.container import NewerFormatError
from margin.store.forms import check_model

__all__ = ["train"]

# What a state that is not its own makes of a fit, where no check of the state has seen it.
UNFIT = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, ArithmeticError, AssertionError, MemoryError)


def train(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    journal: Journal,
    *,
    stop: threading.Event,
    checkpoint_seconds: float,
) -> bool:
    """Fit ``model``, an estimator or a Pipeline, and say whether the fit came to its end.

    What iterates, alone or as the last step, continues from the newest checkpoint; anything else is fitted at once.
    """
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    steps = getattr(model, "steps", None)
    steps = steps if isinstance(steps, list) else None  # NeuralODE has a number of that name
    estimator = steps[-1][1] if steps else model
    if isinstance(X, Stream):
        X = stream_for(model, X, y, sample_weight)
        if not isinstance(estimator, TakesStreams):  # one pass: there is nothing to go on from
            estimator.fit(X)
            return True
        return _iterate(estimator, X, None, journal, weights, stop, checkpoint_seconds)
    if hasattr(estimator, "iterate"):
        if hasattr(model, "learn_bounds"):  # a pipeline that does so in its own fit, which is not called here
            model.learn_bounds(y)
        X = _before_last_step(model, X, y) if steps and len(steps) > 1 else X
        return _iterate(estimator, X, y, journal, weights, stop, checkpoint_seconds)
    if steps:
        weights = {f"{steps[-1][0]}__{name}": value for name, value in weights.items()}
    model.fit(X, y, **weights) if y is not None else model.fit(X, **weights)
    return True


@with_callbacks  # ends scikit-learn's callbacks of ``estimator`` whatever happens
def _iterate(
    estimator: Any,
    X: Any,
    y: Any,
    journal: Journal,
    weights: dict[str, Any],
    stop: threading.Event,
    checkpoint_seconds: float,
) -> bool:
    saved_at = time.monotonic()
    checkpoint, fit = _take_up(estimator, X, y, journal, weights)
    with journal.resume(checkpoint), closing(estimator._watch(fit, X, y)) as records:
        for record in records:
            journal.append(record)
            stopping = journal.agree(stop.is_set())
            if stopping or _ends_to_go_on(estimator, record) or time.monotonic() - saved_at >= checkpoint_seconds:
                journal.checkpoint(estimator.get_state())
                saved_at = time.monotonic()
            if stopping:
                return False
    return True


def _ends_to_go_on(estimator: Any, record: Record) -> bool:
    """Whether this is the last record of a fit that a larger max_iter only makes longer: it goes on from here."""
    return record.iteration == record.total and getattr(estimator, "_depends_on_length", lambda: "never")() == ""


def _take_up(
    estimator: Any, X: Any, y: Any, journal: Journal, weights: dict[str, Any]
) -> tuple[Checkpoint, Iterator[Record]]:
    """The newest checkpoint from which the fit goes on, and the records from there.

    One that is damaged is passed over with a remark for an older one; without any that can be used nothing is changed.
    """
    refusals = []
    for path in journal.candidates():
        try:
            checkpoint = journal.load(path)
            records = _continue(estimator, X, y, checkpoint.state, weights)
        except (NewerFormatError, FloatingPointError):
            raise  # the file is not damaged
        except UNFIT as problem:
            said = " ".join(str(problem).split()) or "its state is not one of this fit"
            refusals.append(f"{path}: {said.removeprefix(f'{path} ').rstrip('.')}")
            continue
        for refusal in refusals:
            warn_user(f"A checkpoint was passed over for the one before it ({refusal}).")
        return checkpoint, records
    if refusals:
        raise RunError(
            f"No checkpoint can be continued ({'; '.join(refusals)}); delete {journal.checkpoint_folder} to begin anew."
        )
    return Checkpoint(), estimator.iterate(X, y, **weights)


def _continue(estimator: Any, X: Any, y: Any, state: Any, weights: dict[str, Any]) -> Iterator[Record]:
    """The records behind ``state``, of which the first is there already and has left what the class declares."""
    fit = estimator.iterate(X, y, state=state, **weights)
    first = next(fit, None)
    name = catalog.name_of(estimator)
    if name is not None:
        check_model(estimator, catalog.registry()[name], estimator.__getstate__())

    def records() -> Iterator[Record]:
        with closing(fit):
            if first is not None:
                yield first
            yield from fit

    return records()


def stream_for(model: Any, stream: Stream, y: Any, sample_weight: Any) -> Stream:
    """What the last step of ``model`` sees of a stream; the steps before it are fitted on the way."""
    steps = getattr(model, "steps", None)
    estimator = steps[-1][1] if isinstance(steps, list) else model
    check_takes_stream(estimator)
    if y is not None or sample_weight is not None:
        raise TypeError(f"{type(estimator).__name__}: fit of a stream takes its targets and nothing else from there.")
    if hasattr(model, "learn_bounds_of"):
        model.learn_bounds_of(stream)
    if not isinstance(steps, list) or len(steps) == 1:
        return stream
    from margin.data.streams.preparing import fit_preparation  # who fits rows in memory need not load it

    fitted = fit_preparation(model[:-1], stream)
    model.steps[:-1] = fitted.steps
    return stream.map(fitted.transform)


def _before_last_step(pipeline: Any, X: Any, y: Any) -> Any:
    """What the last step sees; the steps before it are fitted on the way."""
    earlier = pipeline[:-1]
    transformed = earlier.fit_transform(X, y)
    pipeline.steps[:-1] = earlier.steps  # with a cache of its own, a Pipeline fits copies of its steps
    return transformed
