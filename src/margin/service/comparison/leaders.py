"""Leaders put together as rows of the board: a blend with equal weights, a stack with weights from out-of-fold outputs.

Neither needs a fit of its own: the members' predictions for each fold's test rows are kept, and their mean is the
prediction of the ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from margin.metrics import metrics_of
from margin.selection import Candidate, Output, Standing, Trial
from margin.selection.ensembles import BlendClassifier, BlendRegressor, blended, stacking_weights
from margin.selection.outputs import PROBABILITIES, scores_of
from margin.service.comparison.candidates import BASELINE
from margin.service.comparison.result import Comparison

__all__ = ["BLEND", "STACK", "put_together"]

BLEND, STACK = "blend", "stack"
BLENDED, STACKED = 3, 6


def put_together(comparison: Comparison) -> None:
    """Add the blend of the best three and the stack of the best six, where at least two have what it takes."""
    wild = comparison.unsteady
    members = [s for s in comparison.standings if s.model not in wild and _fits(comparison, s)][:STACKED]
    if len(members) < 2:
        return
    outputs = {s.model: [comparison.output(s.model, f) for f in range(comparison.n_folds)] for s in members}
    best = members[:BLENDED]
    equal = np.full(len(best), 1 / len(best))
    _add(comparison, BLEND, best, [equal] * comparison.n_folds, equal, outputs)
    truth = [_truth(comparison, f) for f in range(comparison.n_folds)]
    columns = {s.model: [_columns(comparison, output) for output in outputs[s.model]] for s in members}
    by_fold = [_weights(members, columns, truth, leave=fold) for fold in range(comparison.n_folds)]
    overall = _weights(members, columns, truth)
    if np.count_nonzero(overall) > 1:
        _add(comparison, STACK, members, by_fold, overall, outputs)


def _fits(comparison: Comparison, standing: Standing) -> bool:
    """A member has all folds, predicts numbers or probabilities, and can be built again without a search."""
    name = standing.model
    if standing.status != "ranked" or name == BASELINE or name.startswith("tuned-"):
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
    comparison: Comparison,
    name: str,
    members: Sequence[Standing],
    by_fold: Sequence[np.ndarray],
    overall: np.ndarray,
    outputs: dict[str, list[Output]],
) -> None:
    """The row of the board, fold by fold, and the candidate that can be fitted."""
    used = [(s.model, float(w)) for s, w in zip(members, overall) if w > 0]
    settings = " + ".join(f"{w:.2f} {model}" if name == STACK else model for model, w in used)
    for fold, weights in enumerate(by_fold):
        blend_output = blended([outputs[s.model][fold] for s in members], list(weights), comparison.classes)
        comparison.trials.append(_trial(comparison, name, fold, blend_output, [m for m, _ in used], settings))
        comparison.kept.write_output(name, fold, blend_output)
    makers = {c.name: c.make for c in comparison.candidates}
    make = partial(_make, bool(comparison.classes), [(m, makers[m]) for m, _ in used], [w for _, w in used])
    comparison.candidates.append(Candidate(name, make, settings))


def _trial(
    comparison: Comparison, name: str, fold: int, blend_output: Output, members: Sequence[str], settings: str
) -> Trial:
    """Its cost is that of its members."""
    train, test = comparison.plan.folds[fold]
    metrics = [comparison.metric, *(m for m in metrics_of(comparison.task) if m.name != comparison.metric.name)]
    scores, reasons = scores_of(blend_output, comparison.y[test], comparison.classes, metrics)
    costs = [t for t in comparison.trials if t.model in members and t.fold == fold and t.stage == "fold"]
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
