"""A refused fit changes nothing: what the model learned before stays, with the columns it learned from.

scikit-learn writes the names and number of columns down before it has seen whether the rows are any good, so a model
whose second fit is refused would afterwards refuse the table of its first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any

from margin.core.streaming import Stream
from margin.core.summaries import learn_from_stream

__all__ = ["LEARNING", "unchanged_if_refused"]

LEARNING = ("fit", "partial_fit", "fit_transform", "fit_predict", "iterate", "transform")

REFUSALS = (
    ValueError,
    TypeError,
    OSError,
    RuntimeError,  # workers that ended
)  # not KeyboardInterrupt: a fit that is broken off leaves what it has learned so far


def unchanged_if_refused(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method, after whose refusal the attributes of the estimator are those from before the call.

    Given a stream in place of rows, it learns from that, or refuses it (:mod:`margin.core.summaries`).
    """
    if isgeneratorfunction(method):

        @wraps(method)
        def records(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
            with _restore_if_refused(self):
                if args and isinstance(args[0], Stream):
                    return (yield from learn_from_stream(self, method, *args, **kwargs))
                return (yield from method(self, *args, **kwargs))

        return records

    @wraps(method)
    def learning(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _restore_if_refused(self):
            if args and isinstance(args[0], Stream):
                return learn_from_stream(self, method, *args, **kwargs)
            return method(self, *args, **kwargs)

    return learning


@contextmanager
def _restore_if_refused(estimator: Any) -> Iterator[None]:
    attributes = vars(estimator)
    before = dict(attributes)
    try:
        yield
    except FloatingPointError:  # a training that diverged: it keeps its last finite weights
        raise
    except REFUSALS:
        attributes.clear()
        attributes.update(before)
        raise
