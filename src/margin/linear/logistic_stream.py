"""The likelihood of a logistic regression on a stream: every sum over the rows is one pass over its blocks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from margin.core.number_range import validate_squarable
from margin.core.streaming import RowBlock, Stream
from margin.core.summaries import plain_labels
from margin.linear.logistic_loss import LabeledRows, Likelihood

__all__ = ["StreamLikelihood", "StreamShape"]

SAMPLE_ROWS = 20_000  # rows in memory, on which a preconditioner is found


@dataclass(frozen=True)
class StreamShape:
    """What solvers ask of the rows of a stream: shape (n, p), number type and total weight."""

    shape: tuple[int, int]
    total: float
    dtype: type[np.float64] = np.float64

    @property
    def X(self) -> StreamShape:
        return self

    @property
    def y(self) -> range:
        return range(self.shape[0])

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True)
class StreamLikelihood(Likelihood):
    """:class:`Likelihood` of the rows of ``stream``, whose weights are those of their classes."""

    stream: Stream | None = None  # not sent to workers, which get their part of it
    classes: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    sample: LabeledRows | None = None

    def label_rows(self, model: Any, block: RowBlock) -> LabeledRows:
        """Some rows of the stream as a solver sees them."""
        assert self.classes is not None
        assert block.y is not None
        X, y = validate_squarable(model, block.X, plain_labels(block.y), dtype=np.float64, order="C")
        codes = np.searchsorted(self.classes, y)
        return LabeledRows(X, codes, None if self.class_weights is None else self.class_weights[codes])

    def few(self, rows: int) -> Likelihood:
        """The likelihood of about so many rows in memory."""
        assert self.sample is not None
        every = max(1, len(self.sample.y) // rows)
        return Likelihood(self.sample.every(every), self.columns, self.ridge, self.intercept)

    def margins(self, theta: np.ndarray) -> np.ndarray:
        """The least and the largest margin of all rows."""
        ends = self._over_blocks(lambda rows: _ends(replace_rows(self, rows).margins(theta)), _wider)
        return np.array(ends)

    def _sum(self, block: Callable[..., tuple[Any, ...]]) -> list[Any]:
        return self._over_blocks(lambda rows: replace_rows(self, rows)._sum(block), _add)

    def _over_blocks(self, summarize: Callable[[LabeledRows], Any], merge: Callable[[Any, Any], Any]) -> Any:
        from margin.linear.logistic_regression import LogisticRegression

        assert self.stream is not None
        checker, sent = LogisticRegression(), replace(self, stream=None, sample=None)
        return self.stream.reduce(lambda rows: summarize(sent.label_rows(checker, rows)), merge)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"stream": None, "sample": None}


def replace_rows(likelihood: Likelihood, rows: LabeledRows) -> Likelihood:
    """The same likelihood of rows in memory."""
    return Likelihood(rows, likelihood.columns, likelihood.ridge, likelihood.intercept)


def _add(first: list[Any], second: list[Any]) -> list[Any]:
    return list(map(operator.add, first, second))


def _ends(margins: np.ndarray) -> tuple[float, float]:
    return float(margins.min()), float(margins.max())


def _wider(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    return min(first[0], second[0]), max(first[1], second[1])
