"""How far chance alone may carry a measured number: bounds for claims about samples.

A comparison with a sample fails now and then although the statement is true. The bounds here make that
probability known and small, about one in a million, whatever the seed: five standard errors, or a p-value.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from margin.core.verdict import Verdict, above, near

__all__ = ["CHANCE", "ERRORS", "average", "plausible", "rate"]

ERRORS = 5.0  # standard errors that a true statement leaves with probability 6e-7
CHANCE = 1e-6  # the p-value below which a statement about a law is given up


def plausible(p_value: float) -> Verdict:
    """The sample does not contradict the law it was tested against."""
    return replace(above(float(p_value), CHANCE), expected=f"a p-value above {CHANCE:g}")


def rate(measured: float, probability: float, trials: int) -> Verdict:
    """A frequency in ``trials`` independent trials is as near to ``probability`` as chance allows."""
    return near(
        float(measured), probability, tolerance=ERRORS * float(np.sqrt(probability * (1 - probability) / trials))
    )


def average(sample: np.ndarray, expected: float) -> Verdict:
    """The mean of independent draws is as near to ``expected`` as their own spread allows."""
    sample = np.asarray(sample)
    return near(sample.mean(), expected, tolerance=ERRORS * float(sample.std() / np.sqrt(sample.size)))
