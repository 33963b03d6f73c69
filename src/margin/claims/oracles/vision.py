"""Filters of images against their frequency response, measured with plane waves."""

from __future__ import annotations

import numpy as np

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.vision.filters import butterworth


@oracle("margin.vision.filters.butterworth")
def gain_of_a_wave(seed: int) -> Verdict:
    """A plane wave of frequency u comes out as 1 / (1 + (u / cutoff)^(2 order)) of itself, or the root of that."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:16, :24]
    a, b = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    wave = np.cos(2 * np.pi * (a * rows / 16 + b * columns / 24) + 0.4)
    frequency, cutoff, order = np.hypot(a / 16, b / 24), 0.21, 1.5
    gain = 1 / (1 + (frequency / cutoff) ** (2 * order))
    return every(
        low=near(butterworth(wave, cutoff, order), gain * wave, tolerance=1e-10),
        once=near(butterworth(wave, cutoff, order, squared=False), np.sqrt(gain) * wave, tolerance=1e-10),
        high=near(butterworth(wave, cutoff, order, high=True), (1 - gain) * wave, tolerance=1e-10),
    )
