"""What a forest grows on when its rows come in a stream: targets in memory, two bytes per value in mapped files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from margin.core.row_files import row_array
from margin.core.streaming import PartRunner, RowBlock, Stream, StreamPart
from margin.core.targets import numeric_target
from margin.trees.binning import MISSING, Bins, apply_bins
from margin.trees.cart.training_data import ROWS, TrainingData, coded_target, monotone_columns
from margin.trees.streamed_rows import StreamedRows, checked_rows

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import ColumnCodes

__all__ = ["StreamedData", "rows_of_stream", "streamed_data"]


@dataclass(frozen=True)
class StreamedData(TrainingData):
    """Training data whose values are on disk; ``X`` has their shape and nothing else."""

    rows: StreamedRows

    @property
    def runner(self) -> PartRunner:
        """Who reads the rows: the workers of a cluster also grow the trees."""
        return self.rows.stream.runner

    def codes(self, max_bins: Any, seed: int, exact_rows: int = 0) -> ColumnCodes:
        """The codes that the rows would have in memory."""
        n, none = len(self.target), np.zeros(self.rows.width, dtype=bool)
        rng = np.random.default_rng([seed, 0])
        bins = self.rows.find_bins(np.arange(n), 255 if max_bins == "auto" else int(max_bins), none, rng)
        return column_codes_of(self.rows, bins)


def rows_of_stream(model: Any, stream: Stream) -> StreamedRows:
    """The rows of ``stream`` as numbers, NaN being missing."""
    return StreamedRows(stream, partial(_numbers, clone(model)))


def streamed_data(model: Any, rows: StreamedRows, *, classify: bool) -> StreamedData:
    """What :func:`margin.trees.cart.training_data.training_data` makes of rows in memory."""
    owner = type(model).__name__
    if not (model.categorical_features is None or model.categorical_features == "from_dtype"):
        raise ValueError(f"{owner}: categorical_features need all rows at once and take no stream.")
    y = rows.y if classify else numeric_target(model, rows.y)
    classes, target, weight = coded_target(model, y, np.ones(len(rows.y)), classify=classify)
    if not weight.all():
        raise ValueError(f"{owner}: of a stream class_weight must be above 0 for every class.")
    none = np.zeros(rows.width, dtype=bool)
    return StreamedData(
        X=np.broadcast_to(np.float64(np.nan), (len(target), rows.width)),
        target=target,
        weight=weight,
        kept=np.ones(len(target), dtype=bool),
        classes=classes,
        categories={},
        categorical=none,
        monotone=monotone_columns(model, none, target, classes),
        rows=rows,
    )


def column_codes_of(rows: StreamedRows, bins: Bins) -> ColumnCodes:
    """Codes by column and by row, and the least and the largest value of every code."""
    from margin.trees.cart.kernel_types import ColumnCodes

    offsets = np.concatenate([[0], np.cumsum(bins.n_bins)]).astype(np.int64)
    by_row = row_array((len(rows.y), rows.width), np.uint8)
    by_column = row_array((rows.width, len(rows.y)), np.uint8)
    ranges = np.repeat([[np.inf], [-np.inf]], offsets[-1], axis=1)
    results = rows.stream.runner.map(partial(_code_part, rows.check, bins, offsets), rows.parts)
    for i, (found, low_and_high) in enumerate(results):
        place = rows.place(i, len(found))
        by_row[place], by_column[:, place] = found, found.T
        np.minimum(ranges[0], low_and_high[0], out=ranges[0])
        np.maximum(ranges[1], low_and_high[1], out=ranges[1])
    return ColumnCodes(
        codes=by_column,
        by_row=by_row,
        ranges=ranges,
        offsets=offsets,
        flags=np.array([np.zeros(rows.width, dtype=bool), [(row == MISSING).any() for row in by_column]], dtype=bool),
        missing=MISSING,
    )


def _code_part(check: Any, bins: Bins, offsets: np.ndarray, part: StreamPart) -> tuple[np.ndarray, np.ndarray]:
    from margin.compiled.trees import value_ranges

    ranges, found = np.repeat([[np.inf], [-np.inf]], offsets[-1], axis=1), []
    for block in part.blocks():
        X = checked_rows(check, part, block)
        codes = apply_bins(X, bins, "F")
        value_ranges(np.ascontiguousarray(X), codes.T, offsets, ranges)
        found.append(codes)
    return np.concatenate(found), ranges


def _numbers(checker: Any, block: RowBlock) -> np.ndarray:
    return validate_data(checker, block.X, **ROWS)
