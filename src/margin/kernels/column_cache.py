"""Columns of the kernel matrix kept between working sets, the least recently used ones giving way to new ones.

A column reaches over the active rows only (see :mod:`margin.kernels.dual`). Columns that are computed together, a
batch, come from one matrix product, and another product may round differently; so the store remembers the batches of
what it holds, and one that is restored computes the same batches again: the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.chunks import map_row_chunks
from margin.core.restoring import restored_indices
from margin.kernels.kernel_columns import KernelColumns

__all__ = ["ColumnCache"]

Indices = NDArray[np.int64]
NOBODY = -1
MEGABYTE = 1 << 20


class ColumnCache:
    """Columns of the ``rows`` of ``columns`` (at first all) in ``cache_size`` megabytes, or ``at_least`` so many."""

    def __init__(self, columns: KernelColumns, cache_size: float, at_least: int):
        self.columns, self.at_least = columns, at_least
        limit = int(cache_size * MEGABYTE) // columns.dtype.itemsize
        self.memory = np.empty(min(max(limit, at_least * columns.n), columns.n * columns.n), dtype=columns.dtype)
        self.slot_of = np.full(columns.n, NOBODY)
        self.reset(np.arange(columns.n))

    def reset(self, rows: Indices) -> None:
        """Forget all columns; new ones reach over ``rows``."""
        self.eras = [rows]  # the rows that columns reached over when they were computed, since the last reset
        self.batches: dict[int, tuple[Indices, int]] = {}  # by number: chosen columns, era
        self._shape(rows)
        self.owner = np.full(self.capacity, NOBODY)
        self.batch = np.full(self.capacity, NOBODY)
        self.used = np.zeros(self.capacity, dtype=np.int64)
        self.slot_of[:] = NOBODY
        self.tick, self.computed = 0, 0

    @property
    def rows(self) -> Indices:
        return self.eras[-1]

    def fetch(self, chosen: Indices) -> Indices:
        """Where the chosen columns are, after computing those that are missing."""
        self.tick += 1
        known = self.slot_of[chosen]
        self.used[known[known != NOBODY]] = self.tick
        missing = chosen[known == NOBODY]
        if len(missing):
            self._compute(missing)
        return self.slot_of[chosen]

    def combine(self, slots: Indices, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of columns with coefficients, for every active row."""
        from margin.compiled.svm import combine_lines

        total = np.zeros(len(self.rows))
        map_row_chunks(
            lambda part: combine_lines(self.values, slots, coef, total, part.start, part.stop),
            len(total),
            work=len(total) * len(slots),
        )
        return total

    def shrink(self, kept: NDArray[np.bool_]) -> None:
        """Only the ``kept`` ones of the rows stay active; columns are compacted where they are."""
        from margin.compiled.svm import compact_lines

        rows, where = self.rows[kept], np.flatnonzero(kept)
        active = np.zeros(len(self.slot_of), dtype=bool)
        active[rows] = True
        living = np.flatnonzero((self.owner != NOBODY) & active[self.owner])
        compact_lines(self.memory, len(kept), living, where)
        names = {name: getattr(self, name)[living] for name in ("owner", "batch", "used")}
        self._shape(rows)
        self.eras.append(rows)
        for name, values in names.items():
            padded = np.full(self.capacity, NOBODY if name != "used" else 0)
            padded[: len(values)] = values
            setattr(self, name, padded)
        self._point()

    def state(self) -> dict[str, Any]:
        return {
            "eras": [rows.copy() for rows in self.eras],
            "batches": [
                {"number": int(number), "chosen": self.batches[number][0].copy(), "era": self.batches[number][1]}
                for number in self._living_batches()
            ],
            "owner": self.owner.copy(),
            "batch": self.batch.copy(),
            "used": self.used.copy(),
            "tick": self.tick,
            "computed": self.computed,
        }

    def restore(self, state: dict[str, Any]) -> None:
        n, most = self.columns.n, 2**62
        self.eras = [restored_indices(rows, "eras", n) for rows in state["eras"]]
        self.batches = {
            int(part["number"]): (restored_indices(part["chosen"], "batches", n), int(part["era"]))
            for part in state["batches"]
        }
        self.tick, self.computed = int(state["tick"]), int(state["computed"])
        self._shape(self.rows)
        self.owner = restored_indices(state["owner"], "owner", n, low=NOBODY, count=self.capacity)
        self.batch = restored_indices(state["batch"], "batch", most, low=NOBODY, count=self.capacity)
        self.used = restored_indices(state["used"], "used", most, count=self.capacity)
        self._point()
        for number in self._living_batches():
            chosen, era = self.batches[number]
            lines = np.empty((len(chosen), len(self.eras[era])), dtype=self.columns.dtype)
            self.columns.of_rows(self.eras[era]).fill(chosen, lines)
            slots = np.flatnonzero((self.batch == number) & (self.owner != NOBODY))
            line_of = {variable: line for line, variable in enumerate(chosen.tolist())}
            columns = np.searchsorted(self.eras[era], self.rows)
            for slot in slots:
                self.values[slot] = lines[line_of[int(self.owner[slot])], columns]

    def _shape(self, rows: Indices) -> None:
        n = max(1, len(rows))
        self.capacity = max(min(self.at_least, n), min(n, len(self.memory) // n))
        self.values = self.memory[: self.capacity * len(rows)].reshape(self.capacity, len(rows))
        self.view = self.columns if len(rows) == self.columns.n else self.columns.of_rows(rows)

    def _point(self) -> None:
        self.slot_of[:] = NOBODY
        filled = np.flatnonzero(self.owner != NOBODY)
        self.slot_of[self.owner[filled]] = filled

    def _living_batches(self) -> list[int]:
        return np.unique(self.batch[self.owner != NOBODY]).tolist()

    def _compute(self, missing: Indices) -> None:
        # Empty slots first (never used), then those unused for the longest; what was just asked for is the youngest.
        order = np.lexsort((np.arange(self.capacity), np.where(self.owner == NOBODY, -1, self.used)))
        slots = np.sort(order[: len(missing)])
        gone = self.owner[slots]
        self.slot_of[gone[gone != NOBODY]] = NOBODY
        self.view.fill(missing, self.values, slots)
        # A tick has one batch at most.
        self.owner[slots], self.used[slots], self.batch[slots] = missing, self.tick, self.tick
        self.slot_of[missing] = slots
        self.batches[self.tick] = (missing, len(self.eras) - 1)
        self.computed += len(missing)
