"""The preparation of a pipeline, fitted to a stream: every step by passes, all columns in the same passes."""

from __future__ import annotations

import warnings
from typing import Any

from margin.core.streaming import RowBlock, Stream
from margin.data.streams.step_fits import StepFit, step_fit

__all__ = ["fit_preparation"]


def fit_preparation(preparation: Any, stream: Stream) -> Any:
    """A copy of ``preparation`` fitted to all rows of a stream; ``stream.map(fitted.transform)`` are what it makes.

    It is what :func:`margin.data.preprocessor` builds, and learns what it learns from the rows in memory: categories,
    medians, ranges, dates and terms to the bit, means and deviations up to rounding. Medians take two passes over the
    rows and rarely three, the rest one. What is kept does not grow with the rows, but for the different labels and
    terms of a column.

    Examples
    --------
    >>> import pandas as pd
    >>> from margin.data import preprocessor
    >>> from margin.data.streams import stream
    >>> frames = [pd.DataFrame({"age": [20.0, None], "town": ["Ulm", "Bonn"]}),
    ...           pd.DataFrame({"age": [40.0], "town": [None]})]
    >>> rows = stream(frames)
    >>> fitted = fit_preparation(preprocessor(pd.concat(frames)), rows)
    >>> for block in rows.map(fitted.transform):
    ...     print(block.X.round(2).tolist())
    [[-1.22, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    [[1.22, 1.0, 0.0, 0.0]]
    """
    fit = fit_of(preparation, stream.head(1).X)
    while fit.fitted is None:
        fit.advance(stream.reduce(Summarize(fit), fit.merge))
    return fit.fitted


class Summarize:
    """``fit.summarize`` of the columns of a block, for other processes too."""

    def __init__(self, fit: StepFit):
        self.fit = fit

    def __call__(self, block: RowBlock) -> Any:
        return self.fit.summarize(block.X)


def fit_of(preparation: Any, head: Any) -> Any:
    """The fit of a Pipeline, a ColumnTransformer or a single step."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if isinstance(preparation, Pipeline):
        return ChainFit(preparation, head)
    if isinstance(preparation, ColumnTransformer):
        return SideBySideFit(preparation, head)
    return step_fit(preparation, head)


class ChainFit:
    """Steps one after the other: rows go through those that are fitted to the one that is not."""

    def __init__(self, pipeline: Any, head: Any):
        self.pipeline, self.head = pipeline, head
        self.done: list[Any] = []
        self.fitted: Any = None
        self._begin()

    def _begin(self) -> None:
        """Begin the next step that needs a pass."""
        while len(self.done) < len(self.pipeline.steps):
            self.current = fit_of(self.pipeline.steps[len(self.done)][1], self.head)
            if self.current.fitted is None:
                return
            self._finish_step()
        from sklearn.base import clone

        fitted = clone(self.pipeline)
        fitted.steps = [(name, step) for (name, _), step in zip(self.pipeline.steps, self.done)]
        self.fitted = fitted

    def _finish_step(self) -> None:
        self.done.append(self.current.fitted)
        if len(self.done) < len(self.pipeline.steps):
            self.head = self.current.fitted.transform(self.head)

    def summarize(self, X: Any) -> Any:
        for step in self.done:
            X = step.transform(X)
        return self.current.summarize(X)

    def merge(self, first: Any, second: Any) -> Any:
        return self.current.merge(first, second)

    def advance(self, summary: Any) -> None:
        self.current.advance(summary)
        if self.current.fitted is not None:
            self._finish_step()
            self._begin()


class SideBySideFit:
    """Steps for different columns: every pass serves all that still need one."""

    def __init__(self, transformer: Any, head: Any):
        self.transformer, self.head = transformer, head
        if transformer.remainder != "drop" or transformer.sparse_threshold not in (0.0, 1.0):
            raise TypeError(
                "ColumnTransformer: on a stream remainder must be 'drop' and sparse_threshold 0.0 or 1.0; got "
                f"{transformer.remainder!r} and {transformer.sparse_threshold!r}."
            )
        self.fits = {name: fit_of(step, _columns(head, names)) for name, step, names in transformer.transformers}
        self.names = {name: names for name, _, names in transformer.transformers}
        self.fitted: Any = None
        self._finish()

    @property
    def _open(self) -> dict[str, Any]:
        return {name: fit for name, fit in self.fits.items() if fit.fitted is None}

    def summarize(self, X: Any) -> Any:
        return {name: fit.summarize(_columns(X, self.names[name])) for name, fit in self._open.items()}

    def merge(self, first: Any, second: Any) -> Any:
        return {name: self.fits[name].merge(first[name], second[name]) for name in first}

    def advance(self, summary: Any) -> None:
        for name, its in summary.items():
            self.fits[name].advance(its)
        self._finish()

    def _finish(self) -> None:
        if self._open:
            return
        from scipy.sparse import issparse
        from sklearn.base import clone

        with warnings.catch_warnings():  # one row says little about its columns, and nothing of it stays
            warnings.simplefilter("ignore")
            fitted = clone(self.transformer).fit(self.head)
        steps = [fit.fitted for fit in self.fits.values()]
        parts = [step.transform(_columns(self.head, names)) for step, names in zip(steps, self.names.values())]
        fitted.transformers_ = [
            (name, self.fits[name].fitted if name in self.fits else step, names)
            for name, step, names in fitted.transformers_
        ]
        fitted.sparse_output_ = bool(fitted.sparse_threshold) and any(map(issparse, parts))
        end = 0
        for name, part in zip(self.names, parts):
            fitted.output_indices_[name] = slice(end, end + part.shape[1])
            end += part.shape[1]
        self.fitted = fitted


def _columns(X: Any, names: Any) -> Any:
    return X[names] if hasattr(X, "columns") else X[:, names]
