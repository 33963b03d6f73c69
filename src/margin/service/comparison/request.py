"""The arguments of a comparison, and how they are written as a command and as a call."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from margin.service.requests import BadRequest

__all__ = ["AUTO", "MISSING_TARGET", "ComparisonRequest", "budget_seconds"]

AUTO = "auto"
#: What may be done with rows whose target is missing.
MISSING_TARGET = ("drop", "class", "error")
#: Above so many rows, or cells of a table (wide ones are pictures), a comparison without a word about its budget keeps
#: to this many seconds.
ROWS_FOR_BUDGET, CELLS_FOR_BUDGET, USUAL_BUDGET = 5_000, 2_000_000, 180.0

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "": 1}


def budget_seconds(budget: str | float | None, n_rows: int, n_columns: int = 1) -> float | None:
    """Seconds of a budget such as "5m", "90s", "1.5h" or 300; None is no limit, "auto" one for large tables only.

    >>> budget_seconds("5m", 100), budget_seconds("auto", 100), budget_seconds("none", 100)
    (300.0, None, None)
    """
    if budget is None or budget == "none":
        return None
    if budget == AUTO:
        large = n_rows > ROWS_FOR_BUDGET or n_rows * n_columns > CELLS_FOR_BUDGET
        return USUAL_BUDGET if large else None
    match = re.fullmatch(r"\s*([0-9.]+)\s*(s|m|min|h|)\s*", str(budget))
    try:
        seconds = float(match[1]) * UNITS[match[2]] if match else 0.0
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise BadRequest(f"compare: budget must be a time such as 90s, 5m or 1h, auto or none; got {budget!r}.")
    return seconds


@dataclass(frozen=True)
class ComparisonRequest:
    """The options of ``margin compare`` and of :func:`margin.compare`, under the names of the latter."""

    target: str | None = None
    task: str | None = None
    metric: str | None = None
    models: Sequence[str] = ()
    exclude: Sequence[str] = ()
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = ()
    folds: int = 5
    held_out: float | None = None
    group: Any = None
    time: Any = None
    ignore: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing_target: str = "drop"
    budget: str | float | None = AUTO
    tune: int = 0
    ensembles: bool = True
    curve: bool | None = None
    seed: int = 0
    generative: bool = False

    def check(self) -> None:
        """Refuse what no data could make right."""
        if self.missing_target not in MISSING_TARGET:
            allowed = ", ".join(MISSING_TARGET)
            raise BadRequest(f"compare: missing_target must be one of {allowed}; got {self.missing_target!r}.")
        if self.task not in (None, "classification", "regression"):
            raise BadRequest(f"compare: task must be classification or regression; got {self.task!r}.")
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise BadRequest(f"compare: folds must be an integer of at least 2; got {self.folds!r}.")
        if isinstance(self.tune, bool) or not isinstance(self.tune, int) or self.tune < 0:
            raise BadRequest(f"compare: tune must be a number of settings, 0 for none; got {self.tune!r}.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise BadRequest(f"compare: seed must be an integer of at least 0; got {self.seed!r}.")
        if self.held_out is not None and not 0 <= self.held_out < 1:
            raise BadRequest(f"compare: held_out must be a fraction of the rows, 0 for none; got {self.held_out!r}.")
        budget_seconds(self.budget, 0)

    @property
    def identity(self) -> dict[str, Any]:
        """What decides about rows and folds: a folder of a comparison with another one of these is another's."""
        return {
            "n_folds": self.folds,
            "seed": self.seed,
            "held_out": self.held_out,
            "group": _name(self.group),
            "time": _name(self.time),
            "ignore": list(self.ignore),
            "kinds": dict(self.kinds),
            "missing_target": self.missing_target,
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values from which the request can be made again; labels given as arrays are not among them."""
        pairs = {
            name: value for name, value in self._given() if name not in ("group", "time") or isinstance(value, str)
        }
        return {name: _plain(value) for name, value in pairs.items()}

    def command(self, data: str, out: str = "") -> str:
        """The shell command that asks for the same."""
        parts = ["margin", "compare", f"./{data}" if data.startswith("-") and data != "-" else data]
        for name, value in self._given():
            flag = {"models": "--model", "settings": "--set"}.get(name, "--" + name.replace("_", "-"))
            if isinstance(value, bool):
                parts.append(f"--{'' if value else 'no-'}{name}")
            elif name == "settings":
                for text in _setting_texts(value):
                    parts += [flag, text]
            elif isinstance(value, Mapping):
                for key, item in value.items():
                    parts += [flag, f"{key}={item}"]
            else:
                for item in [value] if isinstance(value, str | int | float) else value:
                    parts += [flag, str(item)]
        return shlex.join([*parts, *(["--out", out] if out else [])])

    def call(self, data: str, out: str = "") -> str:
        """The Python call that asks for the same."""
        arguments = [f"{name}={_literal(value)}" for name, value in self._given()]
        arguments += [f"out={out!r}"] if out else []
        return f"margin.compare({', '.join([data, *arguments])})"

    @property
    def given(self) -> list[str]:
        """Names of the options that differ from the defaults."""
        return [name for name, _ in self._given()]

    def _given(self) -> list[tuple[str, Any]]:
        """What differs from the defaults."""
        plain = ComparisonRequest()
        pairs = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return [(name, value) for name, value in pairs if not _same(value, getattr(plain, name))]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | None) else [_plain(item) for item in value]


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, str | int | float | bool | None):
        return value == default
    return not isinstance(default, str) and len(value) == 0 and not default


def _name(label: Any) -> str | None:
    """A column by its name; labels given as an array count by the data hash."""
    return label if isinstance(label, str | None) else "given"


def _literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return repr({key: dict(item) if isinstance(item, Mapping) else item for key, item in value.items()})
    return repr(value) if isinstance(value, str | int | float) else repr(list(value)) if len(value) < 20 else "..."


def _setting_texts(settings: Any) -> list[str]:
    if isinstance(settings, Mapping):
        return [f"{model}.{name}={value}" for model, given in settings.items() for name, value in given.items()]
    return list(settings)
