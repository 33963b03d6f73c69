"""Numbers that a fit gains round after round, as an array at any time, without copying those of earlier rounds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["RoundNumbers"]


class RoundNumbers(list[float]):
    """A list to which numbers are only appended.

    >>> losses = RoundNumbers([4.0, 2.0])
    >>> losses.times(-1.0)
    array([-4., -2.])
    >>> losses.append(1.0)
    >>> losses.times(-1.0)
    array([-4., -2., -1.])
    """

    def __init__(self, numbers: Iterable[float] = ()):
        super().__init__(numbers)
        # Twice the needed size: n rounds then cost n numbers. What was returned before shares the memory and stays.
        self._buffer, self._written = np.empty(16), 0

    def times(self, factor: float) -> np.ndarray:
        """All numbers times ``factor``, which must be the same at every call."""
        if len(self) > len(self._buffer):
            larger = np.empty(2 * len(self))
            larger[: self._written] = self._buffer[: self._written]
            self._buffer = larger
        self._buffer[self._written : len(self)] = factor * np.array(self[self._written :])
        self._written = len(self)
        return self._buffer[: len(self)]
