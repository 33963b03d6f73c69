"""``margin.compare``: the arguments of a call become a request.

The options are declared in :mod:`margin.service.comparison_request`; the signature and documentation here are made from
them, and so is ``calling.pyi``, which type checkers and editors read (:mod:`margin.stub`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.parameters import parameters_of
from margin.service.comparison.job import Oversight
from margin.service.comparison.running import run_comparison
from margin.service.comparison_request import ComparisonRequest, HowToRun
from margin.service.requests import BadRequest

__all__ = ["OPTIONS", "compare"]

#: Options that name models or columns, of which one may be given alone.
NAMES = ("models", "exclude", "ignore")
OPTIONS = {**parameters_of(ComparisonRequest), **parameters_of(HowToRun)}


def compare(
    data: Any, y: Any = None, *, out: Any = None, existing: str = "refuse", watch: Any = None, **options: Any
) -> Any:
    """Compare every suitable model on a table: cross-validated scores with intervals, costs, failures as rows.

    Parameters
    ----------
    data : data frame, path, name of a set, stream or array
        The table; a data frame of pandas or polars, a file, a bundled set such as "iris", or X with ``y``. Of a pattern
        of files, or ``margin.stream``, rows drawn from all are compared on (at most 100,000), and a winner that takes
        streams is then fitted on all rows.
    y : array, optional
        The target where it is not a column of ``data``.
    (options)
    out : path, optional
        Folder that keeps everything: killed, the same call continues. A temporary one by default.
    existing : {"refuse", "new", "force"}
        What happens if ``out`` holds another comparison (other data, folds or seed): refuse it with what differs, keep
        it and take a folder beside it, or start it over.
    watch : function, optional
        Called with the comparison after every trial.

    Notes
    -----
    With ``generative=True`` all columns are described and none is predicted: only ``models``, ``exclude``,
    ``settings``, ``held_out`` (a quarter by default), ``ignore``, ``kinds``, ``budget``, ``seed``, ``out`` and
    ``watch`` act, and the result is a ``GenerativeComparison``. With ``horizon`` the target is a series: only
    ``target``, ``time``, ``ignore``, ``models``, ``exclude`` and ``out`` act, and the result is a ``ForecastBoard``.

    Examples
    --------
    >>> result = compare("iris", models=["gaussian-nb", "k-neighbors-classifier"], folds=3, n_jobs=1)
    >>> result.winner in list(result.board["model"]), result.best_.predict(result.X[:2]).tolist()
    (True, [0, 0])
    """
    unknown = next((name for name in options if name not in OPTIONS), None)
    if unknown is not None:
        raise TypeError(f"compare() got an unexpected keyword argument {unknown!r}")
    how = HowToRun(**{name: options.pop(name) for name in parameters_of(HowToRun) if name in options})
    how.check()
    request = ComparisonRequest(**{name: _plain(name, value) for name, value in options.items()})
    folder = None if out is None else Path(out)
    if request.horizon is not None:
        _refuse_idle(
            y=y is not None,
            n_jobs=how.n_jobs is not None,
            cluster=how.cluster is not None,
            existing=existing != "refuse",
        )
        from margin.service.forecast_board import compare_forecasters

        return compare_forecasters(data, request, out=folder)
    if request.generative:
        given = {name: value is not None for name, value in vars(how).items()}
        idle = {"y": y is not None, **given, "existing": existing != "refuse"}
        if any(idle.values()):
            raise BadRequest(f"compare: {next(name for name in idle if idle[name])} does not act on generative models.")
        from margin.service.comparison.generative import run_generative

        return run_generative(data, request, out=folder, watch=watch)
    oversight = Oversight() if watch is None else Oversight(watch)
    return run_comparison(data, y, request, out=folder, existing=existing, how=how, oversight=oversight)


def _refuse_idle(**idle: bool) -> None:
    """Refuse arguments that would be ignored."""
    given = next((name for name, is_given in idle.items() if is_given), None)
    if given is not None:
        raise BadRequest(f"compare: {given} does not act on forecasters.")


def _plain(name: str, value: Any) -> Any:
    """An option as a request holds it: one name or setting alone is a list of one, numbers are Python's."""
    if name in NAMES:
        return _names(name, value)
    if name == "settings" and isinstance(value, str):
        return (value,)
    if name == "kinds":
        return dict(value or {})
    if name == "target" and value is not None:  # columns of a frame may be called by numbers
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def _names(argument: str, given: str | Sequence[Any] | None) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(() if given is None else given)
    unnamed = next((name for name in names if hasattr(name, "get_params")), None)
    if unnamed is not None:
        cls = type(unnamed).__name__ if not isinstance(unnamed, type) else unnamed.__name__
        raise BadRequest(
            f"compare: {argument} must be names of the catalog, such as 'gaussian-nb'; got a {cls}. settings= sets"
            " parameters."
        )
    return tuple(map(str, names))


def _signature() -> inspect.Signature:
    """What ``compare`` takes, with every option by its name."""
    plain = [p for p in inspect.signature(compare).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=p.default, annotation=p.annotation)
        for name, p in OPTIONS.items()
    ]
    results = "Comparison | GenerativeComparison | ForecastBoard"
    return inspect.Signature([*plain[:2], *options, *plain[2:]], return_annotation=results)


def _option_lines() -> Iterator[str]:
    for name, option in OPTIONS.items():
        yield f"{name} : {option.domain.type_text()}, default={option.default!r}"
        yield f"    {option.sentence}"


compare.__signature__ = _signature()  # type: ignore[attr-defined]
compare.__doc__ = (compare.__doc__ or "").replace("(options)", "\n    ".join(_option_lines()))
