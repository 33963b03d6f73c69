r"""Columns as states: categories, or intervals of numbers with a density inside each.

A column with few different values is categorical; its values are the states. Any other column is cut at quantiles into
intervals; inside an interval the density is uniform, and beyond the outer cuts it falls exponentially, so that every
number has a positive density and all integrate to one:

.. math:: p(x) = P(\text{interval})\,\begin{cases} 1/(b - a) & a \le x < b \\ s^{-1} e^{-|x - c|/s} & \text{outside } c
    \end{cases}

A discrete model of the states thereby is a density of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ColumnStates", "column_states"]


@dataclass(frozen=True, eq=False)
class ColumnStates:
    """One column: ``values`` of a category, or ``cuts`` between intervals with the ``scales`` of the two tails."""

    values: np.ndarray
    cuts: np.ndarray
    scales: np.ndarray

    @property
    def is_category(self) -> bool:
        return len(self.values) > 0

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.values) if self.is_category else len(self.cuts) + 1

    def codes(self, column: np.ndarray) -> np.ndarray:
        """The state of every entry; -1 for a missing one, ``size`` for a category that was never seen."""
        missing = np.isnan(column)
        if not self.is_category:
            return np.where(missing, -1, np.searchsorted(self.cuts, column, side="right"))
        at = np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)
        return np.where(missing, -1, np.where(self.values[at] == column, at, self.size))

    def log_density(self, column: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The log-density of every entry inside its state: 0 for categories and for missing entries."""
        if self.is_category:
            return np.zeros(len(column))
        inside = np.zeros(self.size)
        inside[1:-1] = -np.log(np.diff(self.cuts))
        result = inside[codes]
        for state, cut, scale in ((0, self.cuts[0], self.scales[0]), (self.size - 1, self.cuts[-1], self.scales[1])):
            here = codes == state
            result[here] = -np.log(scale) - np.abs(column[here] - cut) / scale
        result[codes < 0] = 0.0
        return result

    def draw(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """An entry from inside every state."""
        noise = rng.random(len(codes))  # drawn for categories too, so that all columns use equally much randomness
        if self.is_category:
            return self.values[codes]
        low, high = np.r_[0.0, self.cuts], np.r_[self.cuts, 0.0]
        result = low[codes] + noise * (high - low)[codes]
        tail = -np.log1p(-noise)
        first, last = codes == 0, codes == self.size - 1
        result[first] = self.cuts[0] - self.scales[0] * tail[first]
        result[last] = self.cuts[-1] + self.scales[1] * tail[last]
        return result


def column_states(column: Any, n_bins: int, max_categories: int) -> ColumnStates:
    """How a column is read: a category up to ``max_categories`` different values, else ``n_bins`` intervals.

    >>> column_states(np.array([0.0, 1.0, 1.0]), 8, 10).values
    array([0., 1.])
    """
    known = np.asarray(column, dtype=np.float64)
    known = np.sort(known[~np.isnan(known)])
    values = np.unique(known)
    none = np.zeros(0)
    if len(values) <= max(max_categories, 2):
        return ColumnStates(values if len(values) else np.zeros(1), none, none)
    cuts = np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1)[1:-1]))
    # A cut at the smallest value leaves nothing below it.
    cuts = cuts[cuts > values[0]]
    if len(cuts) == 0:
        cuts = values[1:2]
    spread = float(values[-1] - values[0])
    below, above = cuts[0] - known[known < cuts[0]], known[known >= cuts[-1]] - cuts[-1]
    scales = [float(part.mean()) if len(part) and part.mean() > 0 else spread / n_bins for part in (below, above)]
    return ColumnStates(none, cuts, np.array(scales))
