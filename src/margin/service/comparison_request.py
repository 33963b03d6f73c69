"""What a comparison may be asked, declared once.

One line per option gives the arguments and the documentation of :func:`margin.compare`, the flags, help and reference
of ``margin compare``, the checks with their sentences, and the forms of the lab (:func:`comparison_options`). Nothing
heavy is imported, so that a command line can be described at once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from margin.core.domains import Build, Choice, Domain, Flag, Integer, Number, Optional, Text
from margin.core.domains import Sequence as ListOf
from margin.core.parameters import Declared, parameter, parameter_table, parameters_of
from margin.service.requests import BadRequest, Request

__all__ = ["AUTO", "ComparisonRequest", "HowToRun", "budget_seconds", "comparison_options", "flag_of", "is_repeated"]

AUTO = "auto"
#: Above so many rows, or cells of a table (wide ones are pictures), a comparison without a word about its budget keeps
#: to this many seconds.
ROWS_FOR_BUDGET, CELLS_FOR_BUDGET, USUAL_BUDGET = 5_000, 2_000_000, 180.0

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "": 1}
#: Flags that are not the name of the option: those that are repeated name one at a time.
FLAGS = {"models": "--model", "settings": "--set", "n_jobs": "--jobs"}


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
        raise BadRequest(f"compare: budget must be {Duration.description}; got {budget!r}.")
    return seconds


@dataclass(frozen=True)
class Duration(Domain):
    """A time such as "90s", seconds as a number, "auto", or None (also written "none") for no limit."""

    description = "a time such as 90s, 5m or 1h, auto or none"

    def type_text(self) -> str:
        return "str, float or None"

    def accepts(self, value: Any) -> bool:
        try:
            budget_seconds(value, 0)
        except BadRequest:
            return False
        return True

    def parse(self, text: str, build: Build | None = None) -> str | float:
        return float(text) if text.replace(".", "", 1).isdigit() else text

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "null"]}


@dataclass(frozen=True)
class ColumnOrLabels(Domain):
    """The name of a column, or a label for every row."""

    description = "the name of a column, or one label for each row"

    def type_text(self) -> str:
        return "str or array"

    def accepts(self, value: Any) -> bool:
        return value is None or isinstance(value, str) or hasattr(value, "__len__")

    def parse(self, text: str, build: Build | None = None) -> str:
        return text

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "null"]}


@dataclass(frozen=True)
class SettingsOfModels(Domain):
    """Parameters of models, nested or as strings."""

    description = "a mapping such as {'svc': {'C': 10}}, or strings such as 'svc.C=10'"

    def type_text(self) -> str:
        return "mapping or list of str"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, Mapping):
            return all(isinstance(settings, Mapping) for settings in value.values())
        return isinstance(value, Sequence) and all(isinstance(text, str) for text in value)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True)
class KindsOfColumns(Domain):
    """Kinds of columns by their names."""

    description = "a mapping of columns to kinds"

    def type_text(self) -> str:
        return "mapping"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def parse(self, text: str, build: Build | None = None) -> dict[str, str]:
        column, sign, kind = text.rpartition("=")
        if not sign or not column:
            raise ValueError(f"is written column=kind; got {text!r}.")
        return {column: kind}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": "string"}}


class ComparisonRequest(Request):
    """What is compared and how: the options of ``margin compare`` and :func:`margin.compare`.

    >>> ComparisonRequest.of_texts({"target": "y", "models": ["svc"], "kinds": ["zip=category"]}).call("df")
    "margin.compare(df, target='y', models=['svc'], kinds={'zip': 'category'})"
    """

    _command = "compare"

    target: str | None = parameter(None, Optional(Text()), "The column to predict.")
    task: str | None = parameter(
        None, Optional(Choice("classification", "regression")), "classification or regression; default: inferred."
    )
    metric: str | None = parameter(
        None,
        Optional(Text()),
        "Metric that ranks the models, e.g. roc_auc, log_loss, f1_macro, fbeta:beta=2, mae; default: accuracy, where a"
        " class is rare roc_auc or balanced_accuracy, and rmse.",
    )
    models: Sequence[str] = parameter((), ListOf(Text()), "Only these models of the catalog.")
    exclude: Sequence[str] = parameter((), ListOf(Text()), "All models but these.")
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = parameter(
        (), SettingsOfModels(), "Parameters of models, as in svc.C=10."
    )
    folds: int = parameter(5, Integer(low=2), "Folds of the cross-validation.")
    held_out: float | None = parameter(
        None,
        Optional(Number(low=0, below=1)),
        "Fraction of the rows held out to judge the winner, 0 for none; default 0.2 from 500 rows on.",
    )
    group: Any = parameter(None, ColumnOrLabels(), "Column of groups: rows with the same value stay in one fold.")
    time: Any = parameter(
        None, ColumnOrLabels(), "Column of times: folds train on earlier rows and test on later ones."
    )
    ignore: Sequence[str] = parameter((), ListOf(Text()), "Columns to leave out.")
    kinds: Mapping[str, str] = parameter({}, KindsOfColumns(), "Read a column as number, flag, category, text or date.")
    missing_target: str = parameter(
        "drop",
        Choice("drop", "class", "error"),
        "Rows without a target: drop them, make them a class, or error.",
    )
    budget: str | float | None = parameter(
        AUTO, Duration(), "Time limit, e.g. 90s or 5m; auto: 3m above 5,000 rows or two million cells; none."
    )
    tune: int = parameter(0, Integer(low=0), "Settings to try for each of the three leaders, inside each fold.")
    ensembles: bool = parameter(True, Flag(), "Blend and stack the leaders.")
    curve: bool | None = parameter(None, Optional(Flag()), "The winner's learning curve; default: if it costs little.")
    seed: int = parameter(0, Integer(low=0), "Seed of folds and models.")
    generative: bool = parameter(False, Flag(), "Compare models that draw new rows, by density and samples.")
    horizon: int | None = parameter(
        None, Optional(Integer(low=1)), "Compare forecasters of the series: steps ahead, from several origins in time."
    )

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
            name: value
            for name, value in self._changed_options()
            if name not in ("group", "time") or isinstance(value, str)
        }
        return {name: _plain(value) for name, value in pairs.items()}

    def command(self, data: str, out: str = "") -> str:
        """The shell command that asks for the same."""
        parts = ["margin", "compare", f"./{data}" if data.startswith("-") and data != "-" else data]
        for name, value in self._changed_options():
            flag = flag_of(name)
            if isinstance(value, bool):
                parts.append(flag if value else f"--no-{name}")
            elif name == "settings":
                for text in _setting_texts(value):
                    parts += [flag, text]
            elif isinstance(value, Mapping):
                for key, item in value.items():
                    parts += [flag, f"{key}={item}"]
            else:
                for item in [value] if isinstance(value, str | int | float | None) else value:
                    parts += [flag, "none" if item is None else str(item)]
        return shlex.join([*parts, *(["--out", out] if out else [])])

    def call(self, data: str, out: str = "") -> str:
        """The Python call that asks for the same."""
        arguments = [f"{name}={_literal(value)}" for name, value in self._changed_options()]
        arguments += [f"out={out!r}"] if out else []
        return f"margin.compare({', '.join([data, *arguments])})"

    @property
    def given(self) -> list[str]:
        """Names of the options that differ from the defaults."""
        return [name for name, _ in self._changed_options()]

    @classmethod
    def _value_of(cls, name: str, domain: Domain, value: Any) -> Any:
        if isinstance(domain, KindsOfColumns) and not isinstance(value, Mapping):
            try:
                return {column: kind for text in value for column, kind in domain.parse(text).items()}
            except ValueError as error:
                raise BadRequest(f"compare: {flag_of(name)} {error}") from None
        if isinstance(domain, Duration) and isinstance(value, str):
            return domain.parse(value)
        return super()._value_of(name, domain, value)

    def _changed_options(self) -> list[tuple[str, Any]]:
        """What differs from the defaults."""
        pairs = [(p, getattr(self, p.name)) for p in parameters_of(ComparisonRequest).values()]
        return [(p.name, value) for p, value in pairs if not _same(value, p.default)]


@dataclass(frozen=True)
class DaskCluster(Domain):
    """Where a Dask cluster is: ``tcp://host:8786``, ``local:4``, or a client."""

    description = "an address such as tcp://host:8786, or local:4"

    def type_text(self) -> str:
        return "str or distributed.Client"

    def accepts(self, value: Any) -> bool:
        is_named = isinstance(value, str) and re.fullmatch(r"local:[1-9]\d*|[a-z]+://\S+", value) is not None
        return is_named or hasattr(value, "scheduler_info")

    def parse(self, text: str, build: Build | None = None) -> Any:
        return text

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def wrong(self) -> list[Any]:
        return ["local", "somewhere", 3]


class HowToRun(Declared):
    """Options that change how a comparison is computed and nothing of its result."""

    n_jobs: int | None = parameter(None, Optional(Integer(low=1)), "Processes; default: the cores.")
    cluster: Any = parameter(
        None,
        Optional(DaskCluster()),
        "Run the trials on a Dask cluster: the address of its scheduler, or local:4 for four processes.",
    )

    def check(self) -> None:
        """Refuse what is no way to run."""
        if self.cluster is not None and not DaskCluster().accepts(self.cluster):
            raise BadRequest(f"compare: cluster must be {DaskCluster.description}; got {self.cluster!r}.")


def comparison_options() -> list[dict[str, Any]]:
    """Every option of a comparison as plain values for a form: name, flag, default, sentence, allowed values, schema.

    >>> [option["name"] for option in comparison_options()][:3], comparison_options()[6]["schema"]
    (['target', 'task', 'metric'], {'type': 'integer', 'minimum': 2})
    """
    rows = [*parameter_table(ComparisonRequest), *parameter_table(HowToRun)]
    return [{**row, "flag": flag_of(row["name"]), "default": _plain(row["default"])} for row in rows]


def flag_of(name: str) -> str:
    """How an option is called on the command line."""
    return FLAGS.get(name, "--" + name.replace("_", "-"))


def is_repeated(domain: Domain) -> bool:
    """Whether the flag of such an option is given once for each of its values."""
    return isinstance(domain, ListOf | SettingsOfModels | KindsOfColumns)


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
    if isinstance(value, str | int | float | None):
        return repr(value)
    return repr(list(value)) if len(value) < 20 else "..."


def _setting_texts(settings: Any) -> list[str]:
    if isinstance(settings, Mapping):
        return [f"{model}.{name}={value}" for model, given in settings.items() for name, value in given.items()]
    return list(settings)
