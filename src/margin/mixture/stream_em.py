"""EM on a stream: runs begin on a sample of the rows, and every E step is one pass over all of them."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from margin.core.number_range import validate_squarable
from margin.core.randomness import as_generator
from margin.core.streaming import RowBlock, Stream
from margin.core.summaries import checked_sample
from margin.mixture.covariances import Sums
from margin.mixture.em import MixtureParameters, expected_sums
from margin.mixture.restarts import EMRestarts

__all__ = ["ExpectedBlock", "StreamRestarts"]

SAMPLE_ROWS = (256, 20_480)  # rows per component, and in all at least, on which runs begin


class ExpectedBlock(NamedTuple):
    """Some rows after an E step: their number, their log-likelihood, and the sums of the M step."""

    n: int
    log_likelihood: float
    sums: Sums

    @classmethod
    def of(cls, checker: Any, mixture: MixtureParameters, block: RowBlock) -> ExpectedBlock:
        X = _rows(checker, block)
        return cls(len(X), *expected_sums(X, mixture))

    def merge(self, other: ExpectedBlock) -> ExpectedBlock:
        return ExpectedBlock(self.n + other.n, self.log_likelihood + other.log_likelihood, self.sums + other.sums)


class StreamRestarts(EMRestarts):
    """:class:`EMRestarts` on the rows of ``stream``; ``seed`` draws the sample on which every run begins."""

    def __init__(self, model: Any, stream: Stream, last: MixtureParameters | None, state: dict[str, Any] | None):
        if state is not None and "seed" not in state:
            raise ValueError("GaussianMixture: state belongs to a fit on rows; got a stream.")
        self.stream, self.checker = stream, clone(model)
        self.seed = int(as_generator(model.random_state).integers(2**31) if state is None else state["seed"])
        per_component, least = SAMPLE_ROWS
        n_rows = max(per_component * model.n_components, least)
        super().__init__(model, checked_sample(stream, n_rows, self.seed, partial(_rows, self.checker)), last)

    def state(self) -> dict[str, Any]:
        return super().state() | {"seed": self.seed}

    def _expectation(self, mixture: MixtureParameters) -> tuple[float, Sums]:
        found = self.stream.reduce(partial(ExpectedBlock.of, self.checker, mixture), ExpectedBlock.merge)
        return found.log_likelihood / found.n, found.sums


def _rows(checker: Any, block: RowBlock) -> np.ndarray:
    return validate_squarable(checker, block.X, dtype=np.float64, order="C")
