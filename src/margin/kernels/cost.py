"""The cost of a violated margin: what may be asked for, and what a problem is solved with."""

from __future__ import annotations

import numpy as np

from margin.core.domains import Choice, Domain, Either, Number

__all__ = ["COST", "finite_cost"]

COST: Domain = Either(Number(above=0, search=(1e-2, 1e3), log=True), Choice(np.inf))
LARGEST_COST = 1e10  # what an infinite cost becomes: with more, products with kernel values lose all digits


def finite_cost(C: float) -> float:
    """The cost that a problem is solved with."""
    return min(float(C), LARGEST_COST)
