"""A comparison that runs while something else goes on: a page that shows it, a program that may stop it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from margin.service.comparison.job import Oversight
from margin.service.comparison.result import Comparison
from margin.service.comparison.running import run_comparison
from margin.service.comparison.showing import board_snapshot
from margin.service.comparison_request import ComparisonRequest, HowToRun

__all__ = ["BackgroundComparison"]


class BackgroundComparison:
    """One start of a comparison in a thread of its own; its trials run in processes.

    ``data`` is what :func:`margin.compare` takes. ``out`` keeps everything: another one with the same data, request and
    folder continues where this one was stopped.

    >>> import margin, tempfile
    >>> request = ComparisonRequest(models=["gaussian-nb"], folds=2, curve=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     running = BackgroundComparison("iris", request, Path(folder), n_jobs=1)
    ...     running.start()
    ...     ended = running.wait()
    >>> ended, running.snapshot()["status"], running.snapshot()["winner"]
    (True, 'finished', 'gaussian-nb')
    """

    def __init__(
        self,
        data: Any,
        request: ComparisonRequest,
        out: Path,
        *,
        y: Any = None,
        n_jobs: int | None = None,
        existing: str = "refuse",
    ):
        self.request, self.out = request, Path(out)
        self.latest: Comparison | None = None  # what was known after the last trial, in the end the result
        self.error: Exception | None = None
        self._stop, self._halt = threading.Event(), threading.Event()
        oversight = Oversight(self._take, stop=self._stop, halt=self._halt)
        options = {"how": HowToRun(n_jobs=n_jobs), "existing": existing, "oversight": oversight}
        self._thread = threading.Thread(target=self._run, args=(data, y, options), daemon=True, name="margin-compare")

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def snapshot(self) -> dict[str, Any]:
        """The board so far as plain values (:func:`board_snapshot`); only a status until the table is read."""
        if self.error is not None:
            return {"status": "failed", "error": str(self.error)}
        if self.latest is None:
            return {"status": "running" if self.is_running else "new", "error": ""}
        return {**board_snapshot(self.latest), "error": ""}

    def stop(self) -> None:
        """End the trials and fit the best so far to all rows; called again, end that too."""
        (self._halt if self._stop.is_set() else self._stop).set()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended, after at most so many seconds."""
        self._thread.join(seconds)
        return not self.is_running

    @property
    def is_running(self) -> bool:
        """Whether it has been started and not ended."""
        return self._thread.is_alive()

    def _run(self, data: Any, y: Any, options: dict[str, Any]) -> None:
        try:
            self.latest = run_comparison(data, y, self.request, out=self.out, **options)
        except Exception as error:  # a thread has nobody else to tell
            self.error = error

    def _take(self, comparison: Comparison) -> None:
        self.latest = comparison
