r"""Generative models side by side: what each can answer, and how close its rows are to real ones.

Densities can be compared by the held-out log-density where it is exact or a bound; samples by the measures of
:mod:`margin.metrics.samples`, which need no density. Every number says which kind it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from margin.core.randomness import RandomLike, spawn_seeds
from margin.metrics.samples import (
    frechet_distance,
    inception_score,
    manifold_scores,
    memorization,
    mmd_squared,
    nearest_neighbor_test,
)

__all__ = ["Capabilities", "capabilities", "compare_generators", "evaluate_generator"]


class Capabilities(NamedTuple):
    """``log_density`` is "exact", "bound" or "none"; ``marginal`` is whether missing entries can be summed out."""

    sample: bool
    log_density: str
    marginal: bool


def capabilities(model: Any) -> Capabilities:
    """What a generative model can answer: evidence queries, marginal queries, and new rows."""
    kind = getattr(model, "log_density_kind", "none") if hasattr(model, "score_samples") else "none"
    sums_out = kind == "exact" and bool(model.__sklearn_tags__().input_tags.allow_nan)
    return Capabilities(callable(getattr(model, "sample", None)), kind, sums_out)


def evaluate_generator(
    real: Any, generated: Any, *, train: Any = None, log_density: Any = None, probabilities: Any = None, k: int = 5
) -> dict[str, float]:
    """Measures of generated rows against held-out real ones, by name.

    With ``train`` it also says whether training rows were copied, with ``log_density`` of the real rows their mean, and
    with class ``probabilities`` of the generated rows their inception score.
    """
    scores = manifold_scores(real, generated, k)
    measures = {
        "frechet_distance": frechet_distance(real, generated),
        "mmd_squared": mmd_squared(real, generated),
        "neighbor_accuracy": nearest_neighbor_test(real, generated).accuracy,
        **scores._asdict(),
    }
    if log_density is not None:
        measures = {"log_density": float(np.mean(log_density)), **measures}
    if probabilities is not None:
        measures["inception_score"] = inception_score(probabilities)
    if train is not None:
        report = memorization(train, real, generated)
        measures |= {"fraction_closer": report.fraction_closer, "is_memorizing": float(report.is_memorizing)}
    return measures


def compare_generators(
    models: Mapping[str, Any], train: Any, held_out: Any, random_state: RandomLike = None
) -> list[dict[str, Any]]:
    """Each model fitted to ``train`` and measured on ``held_out``; models with exact densities first, best first."""
    from margin.core.randomness import as_generator

    board = []
    for (name, model), seed in zip(models.items(), spawn_seeds(as_generator(random_state), len(models))):
        fitted = model.fit(train)
        can = capabilities(fitted)
        logs = fitted.score_samples(held_out) if can.log_density != "none" else None
        rows = fitted.sample(len(held_out), random_state=seed)
        measured = evaluate_generator(held_out, rows, train=train, log_density=logs)
        board.append({"model": name, "log_density_kind": can.log_density, **measured})
    return sorted(board, key=lambda row: (-row.get("log_density", -np.inf), row["neighbor_accuracy"]))
