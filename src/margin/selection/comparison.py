"""Cross-validate many models, one trial at a time, in as many processes as there are cores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from margin.core.threads import available
from margin.selection.trial import Measure, Trial, run_trial

__all__ = ["Candidate", "compare"]


@dataclass(frozen=True)
class Candidate:
    """A model to try: ``make`` gives a new, unfitted one with its preprocessing."""

    name: str
    make: Callable[[], Any]


def compare(
    candidates: Sequence[Candidate],
    X: Any,
    y: np.ndarray,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    measure: Measure,
    *,
    done: Collection[tuple[str, int]] = (),
    n_jobs: int | None = None,
) -> Iterator[Trial]:
    """Yield each trial as it is finished; (model, fold) pairs in ``done`` are passed over.

    All models see the same folds. Fold comes before model in the order of work, so that a board has a first number
    for every model early. Each worker process gets one thread.
    """
    tasks = [
        joblib.delayed(run_trial)(candidate.name, candidate.make, X, y, fold, train, test, measure)
        for fold, (train, test) in enumerate(folds)
        for candidate in candidates
        if (candidate.name, fold) not in done
    ]
    jobs = min(n_jobs or available(), max(len(tasks), 1))
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1) if jobs > 1 else _same_process():
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)


def _same_process() -> Any:
    return joblib.parallel_config(backend="sequential")
