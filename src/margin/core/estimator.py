"""The two bases of every model: ``Estimator``, and ``IterativeEstimator`` whose fit is a visible process.

A fit is a generator. ``iterate`` yields one :class:`Record` per iteration, and after every yield the estimator is
fitted and usable; ``fit`` is a loop over it. Progress bars, checkpoints, live plots and scikit-learn's callbacks
are consumers of the same records (:mod:`margin.core.watching`); early stopping is ``break``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from inspect import isfunction
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from margin.core.callbacks import CallbackSupport, CallbackWatcher, with_callbacks
from margin.core.data_digest import data_digest
from margin.core.invariants.form import COMMON, Rule
from margin.core.parameters import Declared, attribute, check_parameters, parameters_of
from margin.core.records import Record
from margin.core.refused_fits import LEARNING, unchanged_if_refused
from margin.core.streaming import Stream
from margin.core.torch_datasets import dataset_arrays
from margin.core.watching import RecordPrinter, Watcher, watch_records

__all__ = ["RUNNING", "Estimator", "IterativeEstimator", "Loop"]

RUNNING = ("_loop", "_data", "_seen_shape")  # what a fit in progress keeps beside the model


class Estimator(Declared, BaseEstimator):
    """A scikit-learn estimator whose parameters and learned attributes are declared."""

    n_features_in_: int = attribute(COMMON["n_features_in_"], "Number of columns seen in fit.")
    feature_names_in_: np.ndarray = attribute(
        COMMON["feature_names_in_"], "Names of the columns, if fit saw a table whose columns have string names."
    )
    # What is to be checked of a file beyond the form of each attribute, and which sizes in these forms may be 0.
    _stored_rules: ClassVar[Sequence[Rule]] = ()
    _may_be_empty: ClassVar[Sequence[str]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in LEARNING:
            method = vars(cls).get(name)
            if isfunction(method):
                setattr(cls, name, unchanged_if_refused(method))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # scikit-learn inspects the signature at every clone and get_params, for half a millisecond; it says the same.
        return sorted(parameters_of(cls))

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _complete(self) -> None:
        """Make what a file does not hold, so that using a loaded model, in several threads too, adds nothing to it."""


class Loop(Protocol):
    """What an iterative fit is in the middle of: able to say everything needed to continue exactly."""

    def state(self) -> dict[str, Any]:
        """Plain values and arrays, none of them shared with the running fit."""


class IterativeEstimator(CallbackSupport, Estimator):
    """An estimator that learns iteration by iteration.

    A subclass writes ``iterate`` and keeps its running :class:`Loop` in ``self._loop``. If its fit takes
    sample weights, it repeats ``fit`` with that argument and hands it to ``iterate``.
    """

    _loop: Loop = attribute(None, "The running fit.")
    _data: str | Callable[[], str] = attribute(None, "Digest of what the running fit learns from, or what makes it.")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name in ("iterate", "iterate_stream"):
            if isfunction(method := vars(cls).get(name)):
                setattr(cls, name, _of_its_own_data(method))
        super().__init_subclass__(**kwargs)

    @abstractmethod
    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X``, yielding a record per iteration; ``state`` continues exactly where it was taken."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ``X`` (and ``y``): all iterations."""
        return self._consume(self.iterate(X, y), X, y)

    def get_state(self) -> dict[str, Any]:
        """Everything that ``iterate(..., state=...)`` needs to continue with the same bits."""
        if not hasattr(self, "_loop"):
            raise NotFittedError(
                f"{type(self).__name__}: there is no running fit; iterate keeps its state, a finished fit() does not."
            )
        if not isinstance(self._data, str):
            self._data = self._data()
        return self._loop.state() | {"data": self._data}

    @with_callbacks
    def _consume(self, records: Iterator[Record], X: Any, y: Any = None) -> Self:
        for _ in self._watch(records, X, y):
            pass
        return self

    def _watch(self, records: Iterator[Record], X: Any, y: Any = None) -> Iterator[Record]:
        """The same records, seen on the way by watchers, scikit-learn's callbacks and whoever reads what is printed."""
        watchers: list[Watcher] = [CallbackWatcher(X, y)] if hasattr(self, "_skl_callbacks") else []
        if getattr(self, "verbose", False):
            watchers.append(RecordPrinter())
        stopped = yield from watch_records(self, records, *watchers)
        if not stopped:
            # The loop holds the training data and optimizer slots: a finished model needs neither.
            for name in RUNNING:
                self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        # The running loop holds generators and optimizer slots: a copy of the model is the model, not the fit.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in RUNNING}


def _of_its_own_data(iterate: Callable[..., Any]) -> Callable[..., Iterator[Record]]:
    """``iterate`` that also takes a torch Dataset, notes what it learns from, and refuses a state of other data."""

    @wraps(iterate)
    def records(self: Any, X: Any, y: Any = None, *args: Any, **options: Any) -> Iterator[Record]:
        X, y = dataset_arrays(type(self).__name__, X, y)
        state = options.get("state")
        if state is not None:
            if not isinstance(state, Mapping):
                raise TypeError(f"{type(self).__name__}: state must be what get_state() returned; got {state!r}.")
            options["state"] = {name: value for name, value in state.items() if name != "data"}
        given = (X,) if isinstance(X, Stream) else (X, y)  # a stream has its own targets
        fit = iterate(self, *given, *args, **options)
        try:
            first = next(fit, None)  # from here on the data is known to be good, and of the sizes that the state has
        except KeyError as error:
            if state is None or (error.args[:1] and error.args[0] in state):
                raise
            raise ValueError(
                f"{type(self).__name__}: state must be what get_state() of such a model returned; it has no {error}."
            ) from None
        # Most fits are never asked for their state, and the loop holds the rows as long as it can be asked.
        self._data = data_digest(X, y) if state is not None or isinstance(X, Stream) else partial(data_digest, X, y)
        if state is not None and state.get("data", self._data) != self._data:
            fit.close()
            raise ValueError(
                f"{type(self).__name__}: the state belongs to a fit of other data; continue it with the X and y that "
                "it was taken from."
            )
        try:
            if first is not None:
                yield first
                yield from fit
        finally:
            fit.close()

    return records
