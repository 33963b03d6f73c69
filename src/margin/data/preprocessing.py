"""From columns of all kinds to numbers, inside a scikit-learn pipeline, so that it is fitted on training rows only.

``column_plan`` says what will happen to each column and why; ``preprocessor`` builds the transformer that does it:

==========  ====================================================================================
number      missing values by the median; then as ``numbers`` says, by default mean 0 and deviation 1
flag        0 and 1; missing values by the commonest
category    missing becomes a label of its own; then one column per label, rare labels together
text, date  left out, with the reason in the plan
==========  ====================================================================================

The transformer takes the DataFrame that ``frame`` gives: there missing labels are NaN and flags are ``boolean``, as
scikit-learn's imputers need them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.data.kinds import missing_mask
from margin.data.reading import from_pandas
from margin.data.table import Table

if TYPE_CHECKING:
    import pandas
    from sklearn.compose import ColumnTransformer

__all__ = ["ColumnPlan", "column_plan", "frame", "preprocessor"]

#: What a missing label is called once it is a label.
MISSING_LABEL = "(missing)"
#: What may be done to numbers, and into how many equal intervals "bins" cuts them.
NUMBER_STEPS, BINS = ("standard", "unit", "bins", "plain"), 8


@dataclass(frozen=True)
class ColumnPlan:
    """What happens to one column: ``treatment`` is "number", "flag", "category" or "dropped"; ``reason`` says why."""

    name: str
    kind: str
    treatment: str
    reason: str


def column_plan(data: Table | Any) -> tuple[ColumnPlan, ...]:
    """The plan for every column of a table, DataFrame or 2-D array, in order; array columns are named 0, 1, ...

    >>> for column in column_plan(Table({"age": [1, 2], "note": ["a", "b"]}, {"note": "text"})):
    ...     print(column.name, column.treatment, "-", column.reason)
    age number - numbers
    note dropped - free text: each value is nearly unique, so there is nothing to count
    """
    table = _table("column_plan", data)
    return tuple(ColumnPlan(name, table.kinds[name], *_treatment(table, name)) for name in table.names)


def preprocessor(
    data: Table | Any, *, numbers: str = "standard", encode: str = "onehot", max_categories: int = 32
) -> ColumnTransformer:
    """An unfitted ``ColumnTransformer`` for the columns of ``data``, from which only names and kinds are taken.

    For a 2-D array of numbers the columns go by position, and the transformer takes arrays.

    ``numbers`` "standard" gives mean 0 and standard deviation 1; "unit" the range 0 to 1, also for rows never seen:
    for models of counts; "bins" the number of one of eight equal intervals: for models of categories; "plain" nothing.

    ``encode="onehot"`` gives a column per label, at most ``max_categories`` of them: the rarest share one, and labels
    never seen in training are all zeros. ``encode="ordinal"`` gives one column of codes, unseen labels -1: for trees.

    >>> table = Table({"age": [20, None, 40], "sex": ["f", "m", "f"]})
    >>> preprocessor(table).fit_transform(frame(table)).round(2).tolist()
    [[-1.22, 1.0, 0.0], [0.0, 0.0, 1.0], [1.22, 1.0, 0.0]]
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer

    if numbers not in NUMBER_STEPS:
        raise ValueError(f"preprocessor: numbers must be one of {', '.join(NUMBER_STEPS)}; got {numbers!r}.")
    if encode not in ("onehot", "ordinal"):
        raise ValueError(f"preprocessor: encode must be 'onehot' or 'ordinal'; got {encode!r}.")
    if isinstance(max_categories, bool) or not isinstance(max_categories, int | np.integer) or max_categories < 2:
        raise ValueError(f"preprocessor: max_categories must be an integer of at least 2; got {max_categories!r}.")
    plan = column_plan(data)
    by_position = isinstance(data, np.ndarray)
    columns = {
        treatment: [i if by_position else column.name for i, column in enumerate(plan) if column.treatment == treatment]
        for treatment in ("number", "flag", "category")
    }
    if not any(columns.values()):
        reasons = "; ".join(f"{column.name}: {column.reason}" for column in plan[:5])
        raise ValueError(f"preprocessor: no column can be used ({reasons}).")
    steps = {
        "number": _number_steps(numbers),
        # A column without a value in the training rows must not vanish: keep_empty_features, here and below.
        "flag": SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        "category": _category_steps(encode, int(max_categories)),
    }
    return ColumnTransformer([(kind, steps[kind], names) for kind, names in columns.items() if names], remainder="drop")


def frame(data: Table | Any) -> pandas.DataFrame:
    """The DataFrame a preprocessor takes, from a table or from any DataFrame."""
    return _table("frame", data).to_pandas()


def _table(where: str, data: Table | Any) -> Table:
    if isinstance(data, Table):
        return data
    if type(data).__module__.split(".")[0] == "pandas":
        return from_pandas(data)
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "biuf":
        return Table({str(i): np.array(column, dtype=np.float64) for i, column in enumerate(data.T)})
    raise TypeError(f"{where}: data must be a Table, a DataFrame or a 2-D array of numbers; got {type(data).__name__}.")


def _treatment(table: Table, name: str) -> tuple[str, str]:
    kind, values = table.kinds[name], table.columns[name]
    absent = missing_mask(values)
    if absent.all():
        return "dropped", "no row has a value"
    if kind == "text":
        return "dropped", "free text: each value is nearly unique, so there is nothing to count"
    if kind == "date":
        return "dropped", "a date: use it to split by time, or make numbers of it first"
    if not absent.any() and len(values) > 1 and np.all(values == values[0]):
        return "dropped", "every row has the same value"
    return kind, {"number": "numbers", "flag": "true or false", "category": "labels that repeat"}[kind]


def _number_steps(numbers: str) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, StandardScaler

    step = {
        "standard": ("scale", StandardScaler()),
        "unit": ("scale", MinMaxScaler(clip=True)),
        "bins": ("cut", KBinsDiscretizer(BINS, encode="ordinal", strategy="uniform", subsample=None)),
    }.get(numbers)
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    return Pipeline([("impute", impute), step]) if step else impute


def _category_steps(encode: str, max_categories: int) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    impute = SimpleImputer(strategy="constant", fill_value=MISSING_LABEL, keep_empty_features=True)
    if encode == "onehot":
        encoder = OneHotEncoder(handle_unknown="ignore", max_categories=max_categories, sparse_output=False)
    else:
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return Pipeline([("impute", impute), ("encode", encoder)])
