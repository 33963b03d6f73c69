"""What held-out rows say at the end of an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from margin.core.randomness import as_generator
from margin.neural.training.compute import Compute
from margin.neural.training.meter import Meter
from margin.neural.training.rows import Rows
from margin.neural.training.steps import Objective, Step, measure

__all__ = ["EVALUATION_ROWS", "Score", "Validation", "validation_split"]

EVALUATION_ROWS = 4096  # rows evaluated at once: bounds memory, large enough to be efficient

Score = Callable[[nn.Module, Rows], float]


class Validation:
    """Mean terms of the result over ``rows``, named ``valid_<term>``, and the ``score`` if there is one.

    The noise is the same every time, so that epochs can be compared.
    """

    def __init__(
        self,
        step: Step,
        objective: Objective,
        rows: Rows,
        seed: int,
        score: Score | None = None,
        compute: Compute | None = None,
    ):
        self.step, self.objective, self.seed, self.score = step, objective, seed, score
        self.compute = compute or Compute()
        self.rows = self.compute.rows(rows)

    def __call__(self) -> dict[str, float]:
        module = self.step.result.eval()
        noise, meter = self.compute.generator(self.seed), Meter()
        with torch.no_grad():
            for part in self.rows.chunks(EVALUATION_ROWS):
                meter.add(measure(self.objective(module, part.tensors, noise), part))
            values = {f"valid_{name}": mean for name, mean in meter.means().items()}
            if self.score is not None:
                values["valid_score"] = self.score(module, self.rows)
        return values


def validation_split(
    n_rows: int, fraction: float, seed: int, labels: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and for validation, both sorted.

    With ``labels`` the rows are laid out label after label, shuffled within each, and validation rows are taken at
    equal distances from a random start: every label gets its fraction up to one row.

    >>> train, valid = validation_split(10, 0.2, seed=0, labels=np.array([0] * 5 + [1] * 5))
    >>> len(train), [int(row >= 5) for row in valid]
    (8, [0, 1])
    """
    n_valid = math.ceil(fraction * n_rows)
    if n_valid >= n_rows:
        raise ValueError(
            f"validation_split: {n_rows} rows leave nothing to train on with validation_fraction {fraction}."
        )
    rng = as_generator(seed)
    order = rng.permutation(n_rows)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    positions = np.floor((np.arange(n_valid) + rng.random()) * n_rows / n_valid).astype(np.intp)
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[order[positions]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)
