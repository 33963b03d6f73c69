"""Preprocessing in front of a model, fitted together with it and so on training rows only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from margin.service.sources import Source

if TYPE_CHECKING:
    from margin.data import Profile

__all__ = ["behind", "on_log_target", "on_standard_target", "preparation"]


# How the columns of a table become what a catalog entry ``takes``.
STEPS: dict[str, dict[str, Any]] = {
    "standard": {"numbers": "standard", "encode": "onehot"},
    "counts": {"numbers": "unit", "encode": "onehot"},
    "categories": {"numbers": "bins", "encode": "ordinal"},
}


def preparation(
    source: Source, takes: str = "standard", profile: Profile | None = None, wide_terms: int | None = None
) -> Any:
    """An unfitted preprocessor that makes of the columns of ``source`` (as ``profile`` judges them) what a model
    ``takes``; with ``wide_terms``, a sparse table with so many terms of each text."""
    from margin.data import preprocessor

    columns = source.X if source.table is None else source.table
    terms: dict[str, Any] = {} if wide_terms is None else {"max_terms": wide_terms, "sparse": True}
    return preprocessor(columns if profile is None else profile, **STEPS[takes], **terms)


def behind(prepare: Any, estimator: Any, margin: float | None = None) -> Any:
    """The estimator behind its own copy of ``prepare``, or behind nothing if that is None; with a ``margin``, a
    regressor that predicts at most so many standard deviations beyond the range of the training targets."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    from margin.selection.bounded import BoundedPipeline

    steps = [] if prepare is None else [("prepare", clone(prepare))]
    steps = [*steps, ("model", estimator)]
    return Pipeline(steps) if margin is None else BoundedPipeline(steps, margin=margin)


def on_standard_target(model: Any) -> Any:
    """The regressor, taught a target of mean 0 and deviation 1, predicting in the target's own unit.

    The penalties, tubes and noise levels of kernel machines are about that size by default.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(model, transformer=StandardScaler())


def on_log_target(model: Any) -> Any:
    """The regressor, taught the logarithm of a positive target, predicting the target itself."""
    from sklearn.compose import TransformedTargetRegressor

    from margin.data.log_target import LogTarget

    return TransformedTargetRegressor(model, transformer=LogTarget())
