"""``margin.compare`` with the options it declares, as ``make generated`` writes it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from margin.core.parameters import Parameter
from margin.service.comparison.generative import GenerativeComparison
from margin.service.comparison.result import Comparison
from margin.service.forecast_board import ForecastBoard

__all__ = ["OPTIONS", "compare"]

OPTIONS: dict[str, Parameter]

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
    kinds: Mapping[str, str] = {},
    missing_target: str = "drop",
    budget: str | float | None = "auto",
    tune: int = 0,
    ensembles: bool = True,
    curve: bool | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    cluster: Any = None,
    generative: Literal[False] = False,
    horizon: None = None,
    out: str | Path | None = None,
    existing: str = "refuse",
    watch: Callable[[Comparison], None] | None = None,
) -> Comparison: ...
@overload
def compare(
    data: Any,
    y: None = None,
    *,
    generative: Literal[True],
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
    kinds: Mapping[str, str] = {},
    missing_target: str = "drop",
    budget: str | float | None = "auto",
    tune: int = 0,
    ensembles: bool = True,
    curve: bool | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    cluster: Any = None,
    horizon: None = None,
    out: str | Path | None = None,
    existing: str = "refuse",
    watch: Callable[[GenerativeComparison], None] | None = None,
) -> GenerativeComparison: ...
@overload
def compare(
    data: Any,
    y: None = None,
    *,
    horizon: int,
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
    kinds: Mapping[str, str] = {},
    missing_target: str = "drop",
    budget: str | float | None = "auto",
    tune: int = 0,
    ensembles: bool = True,
    curve: bool | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    cluster: Any = None,
    generative: Literal[False] = False,
    out: str | Path | None = None,
    existing: str = "refuse",
    watch: Callable[[ForecastBoard], None] | None = None,
) -> ForecastBoard: ...
