"""Leaders put together as rows of the board: a blend with equal weights, a stack with weights from out-of-fold outputs.

Neither needs a fit of its own: the members' predictions for each fold's test rows are kept, and their mean is the
prediction of the ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from margin.selection import Candidate, Output, Standing, Trial
from margin.selection.ensembles import BlendClassifier, BlendRegressor, blend, stacking_weights
from margin.selection.outputs import PROBABILITIES, scores_of
from margin.selection.trial import FOLD
from margin.service.comparison.candidates import BASELINE
from margin.service.comparison.job import ComparisonJob
from margin.service.comparison.result import Comparison

__all__ = ["BLEND", "STACK", "add_ensembles"]

BLEND, STACK = "blend", "stack"
BLENDED, STACKED = 3, 6


def add_ensembles(job: ComparisonJob) -> None:
    """Add the blend of the best three and the stack of the best six, where at least two have what it takes."""
    found = job.result()
    wild = found.unsteady
    members = [s for s in found.standings if s.model not in wild and _is_member(found, s)][:STACKED]
    if len(members) < 2:
        return
    n_folds = found.n_folds
    outputs = {s.model: [found.output(s.model, f) for f in range(n_folds)] for s in members}
    best = members[:BLENDED]
    equal = np.full(len(best), 1 / len(best))
    _add(job, BLEND, best, [equal] * n_folds, equal, outputs)
    truth = [_truth(found, f) for f in range(n_folds)]
    columns = {s.model: [_columns(found, output) for output in outputs[s.model]] for s in members}
    by_fold = [_weights(members, columns, truth, leave=fold) for fold in range(n_folds)]
    overall = _weights(members, columns, truth)
    if np.count_nonzero(overall) > 1:
        _add(job, STACK, members, by_fold, overall, outputs)


def _is_member(comparison: Comparison, standing: Standing) -> bool:
    """A member has all folds, predicts numbers or probabilities, and can be built again without a search."""
    name = standing.model
    if standing.status != "ranked" or name in (BASELINE, *comparison.not_saved) or name.startswith("tuned-"):
        return False
    if not comparison.kept.has_output(name, range(comparison.n_folds)):
        return False
    return not comparison.classes or comparison.output(name, 0).kind == PROBABILITIES


def _truth(comparison: Comparison, fold: int) -> np.ndarray:
    y = comparison.y[comparison.plan.folds[fold][1]]
    if not comparison.classes:
        return y.astype(np.float64)
    return (y[:, None] == np.asarray(comparison.classes, dtype=y.dtype)[None, :]).astype(np.float64)


def _columns(comparison: Comparison, output: Output) -> np.ndarray:
    return output.predicted if not comparison.classes else np.asarray(output.scores)


def _weights(
    members: Sequence[Standing], columns: dict[str, list[np.ndarray]], truth: list[np.ndarray], leave: int = -1
) -> np.ndarray:
    """Weights from all folds but one."""
    folds = [fold for fold in range(len(truth)) if fold != leave]
    known = np.concatenate([truth[fold] for fold in folds])
    return stacking_weights([np.concatenate([columns[s.model][f] for f in folds]) for s in members], known)


def _add(
    job: ComparisonJob,
    name: str,
    members: Sequence[Standing],
    by_fold: Sequence[np.ndarray],
    overall: np.ndarray,
    outputs: dict[str, list[Output]],
) -> None:
    """The row of the board, fold by fold, and the candidate that can be fitted."""
    classes = job.setup.classes
    used = [(s.model, float(w)) for s, w in zip(members, overall) if w > 0]
    settings = " + ".join(f"{w:.2f} {model}" if name == STACK else model for model, w in used)
    for fold, weights in enumerate(by_fold):
        blend_output = blend([outputs[s.model][fold] for s in members], list(weights), classes)
        job.trials.append(_trial(job, name, fold, blend_output, [m for m, _ in used], settings))
        job.setup.kept.write_output(name, fold, blend_output)
    makers = {c.name: c.make for c in job.candidates}
    make = partial(_make, bool(classes), [(m, makers[m]) for m, _ in used], [w for _, w in used])
    job.candidates.append(Candidate(name, make, settings))


def _trial(
    job: ComparisonJob, name: str, fold: int, blend_output: Output, members: Sequence[str], settings: str
) -> Trial:
    """Its cost is that of its members."""
    setup = job.setup
    train, test = setup.plan.folds[fold]
    scores, reasons = scores_of(blend_output, setup.y[test], setup.classes, job.metrics)
    costs = [t for t in job.trials if t.model in members and t.fold == fold and t.stage == FOLD]
    return Trial(
        name,
        fold,
        scores,
        sum(t.fit_seconds for t in costs),
        sum(t.predict_seconds for t in costs),
        len(train),
        len(test),
        settings=settings,
        reasons=reasons,
    )


def _make(classifies: bool, makers: Sequence[tuple[str, Any]], weights: Sequence[float]) -> Any:
    cls = BlendClassifier if classifies else BlendRegressor
    return cls([(name, make()) for name, make in makers], weights=np.asarray(weights))
