"""Networks on tables larger than memory: one pass writes the rows to a file, from which every batch is gathered.

A network sees rows in another order in every epoch, so no number of passes over a stream would do. The batches are
those of a fit in memory, and so is the model: the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array

from margin.core.records import Record
from margin.core.row_files import RowFile
from margin.core.streaming import RowBlock, Stream, StreamPart
from margin.core.summaries import plain_labels

__all__ = ["LearnsFromStreams", "rows_in_file"]

FLOATS = [np.float64, np.float32]


class LearnsFromStreams:
    """``fit`` takes a stream: what ``iterate`` makes of its rows."""

    def iterate_stream(self: Any, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per iteration."""
        self._check_parameters()
        if self.solver == "lbfgs":
            raise ValueError(f"{type(self).__name__}: solver 'lbfgs' works on all rows at once and takes no stream.")
        yield from self.iterate(*rows_in_file(type(self).__name__, stream), state=state)


def rows_in_file(owner: str, stream: Stream) -> tuple[Any, np.ndarray]:
    """All rows, with the names of their columns if they have any, and the targets, which are in memory."""
    X, y = RowFile(), []
    for part in stream.runner.map(partial(_check, owner), stream.parts):
        for rows, targets in part:
            X.append(rows)
            y.append(targets)
    if not len(X):
        raise ValueError("The stream has no rows.")
    columns = getattr(stream.head().X, "columns", None)
    return _name_columns(X.array(), columns), plain_labels(np.concatenate(y))


def _check(owner: str, part: StreamPart) -> list[tuple[np.ndarray, np.ndarray]]:
    """The blocks of a part as numbers; what is wrong with them names it."""
    found = []
    for block in part.blocks():
        if block.y is None:
            raise ValueError(f"{owner}: a stream needs a target here: stream(..., target=NAME).")
        found.append((_numbers(owner, part, block), block.y))
    return found


def _numbers(owner: str, part: StreamPart, block: RowBlock) -> np.ndarray:
    try:
        return np.asarray(check_array(block.X, dtype=FLOATS, order="C", estimator=owner, input_name="X"))
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}") from error


def _name_columns(X: np.ndarray, columns: Any) -> Any:
    if columns is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=columns, copy=False)
