"""Watching fits: whoever wants to see an iterative fit registers here, and no signature changes.

>>> from margin.core.watching import watch
>>> losses = []
>>> with watch(lambda estimator, record: losses.append(record["inertia"])):
...     pass  # every iterative fit in here reports to the function

A watcher sees the beginning, every record and the end of each fit inside the context; returning True from
``record`` stops that fit, which leaves the estimator fitted as of that record.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from margin.core.records import Record, shown_values

__all__ = ["RecordPrinter", "Watcher", "active_watchers", "watch", "watch_records"]


class Watcher:
    """Sees a fit. Override what you need; the base does nothing."""

    def begin(self, estimator: Any) -> None:
        """A fit of ``estimator`` starts."""

    def record(self, estimator: Any, record: Record) -> bool | None:
        """One iteration is done and ``estimator`` is fitted as of it. True stops the fit."""
        return None

    def end(self, estimator: Any) -> None:
        """The fit is over, finished, stopped or failed."""


class RecordPrinter(Watcher):
    """Prints a line per record, or one in ``verbose_interval`` where the estimator has it: what ``verbose`` does.

    >>> RecordPrinter().record(Watcher(), Record(3, {"loss": 0.25}, total=10))
    Watcher: iteration 3 of 10: loss 0.25
    """

    def record(self, estimator: Any, record: Record) -> None:
        if record.iteration % getattr(estimator, "verbose_interval", 1):
            return
        of_total = "" if record.total is None else f" of {record.total}"
        print(f"{type(estimator).__name__}: iteration {record.iteration}{of_total}: {shown_values(record.values)}")


class _Calling(Watcher):
    """Makes a plain function of (estimator, record) a watcher."""

    def __init__(self, function: Callable[[Any, Record], bool | None]):
        self.function = function

    def record(self, estimator: Any, record: Record) -> bool | None:
        return self.function(estimator, record)


_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("margin_watchers", default=())


def active_watchers() -> tuple[Watcher, ...]:
    return _watchers.get()


@contextmanager
def watch(*watchers: Watcher | Callable[[Any, Record], bool | None]) -> Iterator[None]:
    """Let ``watchers`` see every iterative fit inside the context; without any, show a progress bar."""
    chosen: list[Watcher] = [w if isinstance(w, Watcher) else _Calling(w) for w in watchers]
    if not chosen:
        from margin.core.progress import ProgressBar

        chosen = [ProgressBar()]
    token = _watchers.set((*_watchers.get(), *chosen))
    try:
        yield
    finally:
        _watchers.reset(token)


def watch_records(estimator: Any, records: Iterable[Record], *more: Watcher) -> Generator[Record, None, bool]:
    """The ``records`` of a fit of ``estimator``, each after the active watchers and ``more`` have seen it.

    It ends when a watcher asks to stop, which is what it returns. A loop that may leave earlier closes it, so that
    watchers see the end.
    """
    watchers, begun = (*active_watchers(), *more), []
    try:
        for watcher in watchers:
            watcher.begin(estimator)
            begun.append(watcher)
        for record in records:
            # A list first: every watcher sees the record, even when an earlier one asks to stop.
            answers = [watcher.record(estimator, record) for watcher in watchers]
            yield record
            if any(answers):
                return True
        return False
    finally:
        for watcher in reversed(begun):
            watcher.end(estimator)
