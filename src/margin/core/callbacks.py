"""scikit-learn's callback protocol, supported by every iterative estimator through one watcher.

scikit-learn 1.9 has it (experimental), earlier versions do not: there ``CallbackSupport`` is an empty class and
nothing is ever called. The protocol opens a task before it runs, and only the end of the records tells that no
further iteration follows, so the task left open then is closed empty, as scikit-learn's own solvers do.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from margin.core.records import Record
from margin.core.watching import Watcher

__all__ = ["CallbackSupport", "CallbackWatcher", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        return method


class CallbackWatcher(Watcher):
    """Turns begin, records and end of one fit into scikit-learn's callback tasks."""

    def __init__(self, X: Any, y: Any):
        self.data = {"X": X, "y": y}
        self._fit_task: Any = None
        self._iteration_task: Any = None

    def begin(self, estimator: Any) -> None:
        self._fit_task = estimator._init_callback_context(max_subtasks=None)
        self._fit_task.call_on_fit_task_begin(estimator=estimator, **self.data)
        self._open(estimator)

    def record(self, estimator: Any, record: Record) -> bool:
        stop = self._close(self._iteration_task, estimator, fitted=True)
        self._iteration_task = None
        if not stop and record.iteration != record.total:
            self._open(estimator, fitted=True)
        return stop

    def end(self, estimator: Any) -> None:
        if self._iteration_task is not None:
            self._close(self._iteration_task, estimator, fitted=False)
        self._close(self._fit_task, estimator, fitted=True)

    def _open(self, estimator: Any, *, fitted: bool = False) -> None:
        """After a record the model is fitted: whoever sees the next iteration begin may ask it."""
        learned = (lambda: _copy_learned(estimator)) if fitted else None
        self._iteration_task = self._fit_task.subcontext(task_name="iteration")
        self._iteration_task.call_on_fit_task_begin(estimator=estimator, **self.data, reconstruction_attributes=learned)

    def _close(self, task: Any, estimator: Any, *, fitted: bool) -> bool:
        learned = (lambda: _copy_learned(estimator)) if fitted else None
        return bool(task.call_on_fit_task_end(estimator=estimator, **self.data, reconstruction_attributes=learned))


def _copy_learned(estimator: Any) -> dict[str, Any]:
    """Copies, because a running fit may go on changing its arrays in place; made only for callbacks that ask."""
    return {name: deepcopy(value) for name, value in vars(estimator).items() if name.endswith("_")}
