"""A progress bar for every fit it watches, drawn by Rich on stderr so that results on stdout stay clean."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from margin.core.records import Record, shown_values
from margin.core.watching import Watcher

__all__ = ["ProgressBar"]


class ProgressBar(Watcher):
    """One line per running fit; fits inside a fit get a line of their own below it."""

    def __init__(self, console: Console | None = None):
        self.console = console or Console(stderr=True)
        self._progress: Progress | None = None
        self._tasks: list[TaskID] = []

    def begin(self, estimator: Any) -> None:
        if self._progress is None:
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[numbers]}"),
                console=self.console,
            )
            self._progress.start()
        self._tasks.append(self._progress.add_task(type(estimator).__name__, total=None, numbers=""))

    def record(self, estimator: Any, record: Record) -> None:
        assert self._progress is not None
        self._progress.update(
            self._tasks[-1], completed=record.iteration, total=record.total, numbers=shown_values(record.values)
        )

    def end(self, estimator: Any) -> None:
        assert self._progress is not None
        task = self._tasks.pop()
        if self._tasks:
            self._progress.remove_task(task)  # only the outermost fits stay on the screen
            return
        self._progress.stop()
        self._progress = None
