"""``margin.compare``: the arguments of a call become a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from margin.service.comparison.job import Watch
from margin.service.comparison.request import AUTO, ComparisonRequest
from margin.service.comparison.result import Comparison
from margin.service.comparison.running import run_comparison
from margin.service.requests import BadRequest

if TYPE_CHECKING:
    from margin.service.comparison.generative import GenerativeComparison

__all__ = ["compare"]


@overload
def compare(
    data: Any,
    *,
    generative: Literal[True],
    models: Sequence[str] = (),
    exclude: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    held_out: float | None = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    budget: str | float | None = AUTO,
    seed: int = 0,
    out: str | Path | None = None,
    watch: Callable[[GenerativeComparison], None] | None = None,
) -> GenerativeComparison: ...
@overload
def compare(
    data: Any,
    y: Any = None,
    *,
    target: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    models: Sequence[str] = (),
    exclude: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    folds: int = 5,
    held_out: float | None = None,
    group: Any = None,
    time: Any = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing_target: str = "drop",
    budget: str | float | None = AUTO,
    tune: int = 0,
    ensembles: bool = True,
    curve: bool | None = None,
    seed: int = 0,
    generative: Literal[False] = False,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    existing: str = "refuse",
    watch: Watch | None = None,
) -> Comparison: ...
def compare(
    data: Any,
    y: Any = None,
    *,
    target: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    models: Sequence[str] = (),
    exclude: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    folds: int = 5,
    held_out: float | None = None,
    group: Any = None,
    time: Any = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing_target: str = "drop",
    budget: str | float | None = AUTO,
    tune: int = 0,
    ensembles: bool = True,
    curve: bool | None = None,
    seed: int = 0,
    generative: bool = False,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    existing: str = "refuse",
    watch: Any = None,
) -> Comparison | GenerativeComparison:
    """Compare every suitable model on a table: cross-validated scores with intervals, costs, failures as rows.

    Parameters
    ----------
    data : data frame, path, name of a set, or array
        The table; a data frame of pandas or polars, a file, a bundled set such as "iris", or X with ``y``.
    y : array, optional
        The target where it is not a column of ``data``.
    target : str, optional
        The column to predict.
    task : {"classification", "regression"}, optional
        By default found from the target.
    metric : str, optional
        What decides, by default accuracy (roc_auc or balanced_accuracy where a class is rare) or rmse. Any name of
        ``margin.metrics.REGISTRY``, with options as in "fbeta:beta=2".
    models, exclude : list of str
        Only these models of the catalog; all but these.
    settings : mapping or list of str
        ``{"svc": {"C": 10}}`` or ``["svc.C=10"]``.
    folds : int
        Folds of the cross-validation.
    held_out : float, optional
        Fraction of the rows that judge the winner once; by default a fifth from 500 rows on. 0 for none.
    group, time : str or array, optional
        Column (or labels) of rows that belong together, or by which rows are ordered: folds respect it.
    ignore : list of str
        Columns to leave out.
    kinds : mapping, optional
        Column -> "number", "flag", "category", "text" or "date", where it was read otherwise.
    missing_target : {"drop", "class", "error"}
        What happens to rows without a target.
    budget : str or float, optional
        Time for all of it, such as "5m" or seconds; "auto" is three minutes above 5,000 rows or two million cells;
        None is no limit.
    tune : int
        Number of settings to try for each of the three leaders, inside each fold.
    ensembles : bool
        Whether the leaders are also put together as a blend and a stack.
    curve : bool, optional
        Whether the winner's learning curve is measured; by default if that costs little.
    seed, n_jobs : int
        Seed of folds and models; processes, by default one per core.
    generative : bool
        Whether models that draw new rows are compared, by the density of rows they have not seen and by their samples.
        All columns are described and none is predicted, so only ``models``, ``exclude``, ``settings``, ``held_out`` (a
        quarter by default), ``ignore``, ``kinds``, ``budget``, ``seed``, ``out`` and ``watch`` act.
    out : path, optional
        Folder that keeps everything: killed, the same call continues. A temporary one by default.
    existing : {"refuse", "new", "force"}
        What happens if ``out`` holds another comparison (other data, folds or seed): refuse it with what differs, keep
        it and take a folder beside it, or start it over.
    watch : function, optional
        Called with the comparison after every trial.

    Examples
    --------
    >>> result = compare("iris", models=["gaussian-nb", "k-neighbors-classifier"], folds=3, n_jobs=1)
    >>> result.winner in list(result.board["model"]), result.best_.predict(result.X[:2]).tolist()
    (True, [0, 0])
    """
    request = ComparisonRequest(
        None if target is None else str(target), task, metric, _names("models", models), _names("exclude", exclude),
        (settings,) if isinstance(settings, str) else settings, folds, held_out, group, time, _names("ignore", ignore),
        dict(kinds or {}), missing_target, budget, tune, ensembles, curve,
        int(seed) if isinstance(seed, np.integer) else seed, generative,
    )  # fmt: skip
    folder = None if out is None else Path(out)
    if generative:
        idle = {"y": y is not None, "n_jobs": n_jobs is not None, "existing": existing != "refuse"}
        if any(idle.values()):
            raise BadRequest(f"compare: {next(name for name in idle if idle[name])} does not act on generative models.")
        from margin.service.comparison.generative import run_generative

        return run_generative(data, request, out=folder, watch=watch)
    return run_comparison(data, y, request, out=folder, n_jobs=n_jobs, watch=watch, existing=existing)


def _names(argument: str, given: str | Sequence[Any]) -> tuple[str, ...]:
    """Names as they may be given: one alone, or several; columns of a frame may be called by numbers."""
    names = (given,) if isinstance(given, str) else tuple(given)
    unnamed = next((name for name in names if hasattr(name, "get_params")), None)
    if unnamed is not None:
        cls = type(unnamed).__name__ if not isinstance(unnamed, type) else unnamed.__name__
        raise BadRequest(
            f"compare: {argument} must be names of the catalog, such as 'gaussian-nb'; got a {cls}. settings= sets"
            " parameters."
        )
    return tuple(map(str, names))
