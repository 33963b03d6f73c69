"""The loop of a run: records to the metrics file, from time to time a checkpoint, an end when it is requested."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import Any

from margin.core.callbacks import with_callbacks
from margin.runs.journal import Journal

__all__ = ["train"]


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
    estimator = steps[-1][1] if steps else model
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
    with journal.continued() as state:
        fit = estimator.iterate(X, y, state=state, **weights)
        with closing(estimator._watched(fit, X, y)) as records:
            for record in records:
                journal.append(record)
                stopping = stop.is_set()
                if stopping or time.monotonic() - saved_at >= checkpoint_seconds:
                    journal.checkpoint(estimator.get_state())
                    saved_at = time.monotonic()
                if stopping:
                    return False
    return True


def _before_last_step(pipeline: Any, X: Any, y: Any) -> Any:
    """What the last step sees; the steps before it are fitted on the way."""
    earlier = pipeline[:-1]
    transformed = earlier.fit_transform(X, y)
    pipeline.steps[:-1] = earlier.steps  # with a cache of its own, a Pipeline fits copies of its steps
    return transformed
