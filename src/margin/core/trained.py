"""What every fitted network holds beside its description, as forms; reading them loads no torch."""

from __future__ import annotations

from margin.core.invariants import ArrayOf, Count, DictOf, ListOf, Real, Stored, StringOf, optional

__all__ = ["TRAINED"]

TRAINED: dict[str, Stored] = {
    "weights_": DictOf(StringOf(), ArrayOf(...)),
    "n_iter_": Count(),
    "t_": Count(),
    "loss_curve_": ListOf(Real()),
    "validation_scores_": optional(ListOf(Real())),
}
