"""Fits by summaries: a model that needs only sums over the rows takes a stream instead of ``X`` and ``y``.

A model of one pass says what it keeps of a block (``summarize``), how two of these become one (``merge``) and what
follows from the summary of all rows (``solve``). A model that looks at the rows once per iteration writes
``iterate_stream``, in which every pass is a :meth:`~margin.core.streaming.Stream.reduce`. Everyone else refuses a
stream in one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from margin.core.streaming import RowBlock, Stream

__all__ = [
    "OnePass",
    "TakesStreams",
    "check_takes_stream",
    "checked_sample",
    "learn_columns",
    "learn_from_stream",
    "plain_labels",
    "stream_sentence",
    "takes_streams",
    "union_of",
]

Summarized = TypeVar("Summarized")


@runtime_checkable
class OnePass(Protocol):
    """A model that is exact after one pass over the rows."""

    def summarize(self, block: RowBlock) -> Any:
        """What is kept of some rows; it depends on the parameters, not on what was learned."""

    def merge(self, first: Any, second: Any) -> Any:
        """The summary of the rows of both, ``first`` being those that come before."""

    def solve(self, summary: Any) -> Any:
        """Learn from the summary of all rows, and return the model."""


@runtime_checkable
class TakesStreams(Protocol):
    """A model that passes over the rows once or more per iteration."""

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Any]:
        """Learn, yielding a record per iteration."""


def takes_streams(model: Any) -> bool:
    """Whether ``fit`` takes a stream."""
    return isinstance(model, OnePass | TakesStreams)


def stream_sentence(model: Any) -> str:
    """Whether the ``fit`` of a model, or of its class, takes a stream.

    >>> from margin.linear import Ridge
    >>> stream_sentence(Ridge)
    'fit takes a stream in the place of X and y (margin.stream).'
    """
    if takes_streams(model):
        return "fit takes a stream in the place of X and y (margin.stream)."
    return "fit needs all rows at once and takes no stream."


def check_takes_stream(model: Any, method: str = "fit") -> None:
    """Refuse a stream for a model that needs all rows at once."""
    if not takes_streams(model) or method == "fit_predict":
        raise TypeError(
            f"{type(model).__name__}: {method} needs all rows at once and takes no stream; give it a sample, "
            "stream.sample(n)."
        )


def learn_from_stream(model: Any, method: Callable[..., Any], stream: Stream, *args: Any, **kwargs: Any) -> Any:
    """What ``method`` (a learning method of ``model``, or its transform) does with a stream in place of ``X``."""
    name, owner = method.__name__, type(model).__name__
    if name == "transform":
        return stream.map(model.transform)
    check_takes_stream(model, name)
    state = kwargs.pop("state", None)
    if any(value is not None for value in (*args, *kwargs.values())):
        raise TypeError(f"{owner}: {name} of a stream takes its targets and nothing else from there.")
    if name == "fit_transform":
        return model.fit(stream).transform(stream)
    if isinstance(model, TakesStreams):
        return model.iterate_stream(stream, state=state) if name == "iterate" else _all_iterations(model, stream)
    if name != "fit":
        raise TypeError(f"{owner}: {name} takes rows; a stream is fitted by fit.")
    model._check_parameters()
    learn_columns(model, stream)
    return model.solve(stream.reduce(model.summarize, model.merge))


def _all_iterations(model: Any, stream: Stream) -> Any:
    return model._consume(model.iterate(stream), stream)


def learn_columns(model: Any, stream: Stream) -> None:
    """Store number and names of the columns, as a fit on rows does."""
    from sklearn.utils.validation import _check_feature_names, _check_n_features

    X = stream.head().X
    _check_feature_names(model, X, reset=True)
    _check_n_features(model, X, reset=True)


def checked_sample(stream: Stream, n: int, seed: int, check: Callable[[RowBlock], Summarized]) -> Summarized:
    """What ``check`` makes of ``n`` sampled rows; if it refuses them, the error names the part they come from."""
    sample = stream.sample(n, seed)
    try:
        return check(sample)
    except ValueError:
        stream.reduce(check, lambda first, _: first)
        raise


def plain_labels(y: np.ndarray) -> np.ndarray:
    """Labels as a table gives them: numbers without a fraction are integers.

    >>> plain_labels(np.array([0.0, 1.0]))
    array([0, 1])
    """
    if y.dtype.kind == "f" and bool(np.all(y == np.floor(y))) and bool(np.all(np.abs(y) < 2**53)):
        return y.astype(np.int64)
    return y


def union_of(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sorted labels of two sorted arrays, and where the labels of each are among them.

    >>> union_of(np.array([1, 3]), np.array([2, 3]))
    (array([1, 2, 3]), array([0, 2]), array([1, 2]))
    """
    labels = first if np.array_equal(first, second) else np.union1d(first, second)
    return labels, np.searchsorted(labels, first), np.searchsorted(labels, second)
