"""From numbers to positions on a drawing, and the round numbers to write beside an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["AxisScale", "ticks_of"]

STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class AxisScale:
    """A linear or logarithmic map from [low, high] to the positions [start, end]."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, x: float) -> float:
        """The position, rounded to a tenth: a screen shows no more, and files stay small."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        at = math.log(x) if self.log else x
        part = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + part * (self.end - self.start), 1)

    def ticks(self, about: int = 5) -> list[float]:
        return _log_ticks(self.low, self.high) if self.log else ticks_of(self.low, self.high, about)

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, margin: float = 0.04, log: bool = False
    ) -> AxisScale:
        """A scale that holds all finite ``values`` with a margin on both sides."""
        known = [float(v) for v in values if math.isfinite(v)]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        if log:
            return cls(low / 1.1, high * 1.1, start, end, log=True)
        extra = (high - low) * margin or abs(high) * margin or 1.0
        return cls(low - extra, high + extra, start, end)


def ticks_of(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``, ``about`` so many.

    >>> ticks_of(0, 1), ticks_of(-3, 47, 4)
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 20.0, 40.0])
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low]
    rough = (high - low) / max(about - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s for s in STEPS if s * power >= rough * 0.999) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Multiples of the step, rounded to its last digit: 0.30000000000000004 is no label.
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them where there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5)):
        ticks = [d * 10.0**power for power in powers for d in digits if low <= d * 10.0**power <= high]
        if len(ticks) >= 3:
            break
    return ticks or [low, high]
