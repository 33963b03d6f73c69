"""From columns of all kinds to numbers, inside a scikit-learn pipeline, so that it is fitted on training rows only.

``profile`` says what will happen to each column and why; ``preprocessor`` builds the transformer that does it:

==========  ====================================================================================
number      missing values by the median; then as ``numbers`` says, by default mean 0 and deviation 1; zero for
            good if constant in training
flag        0 and 1; missing values by the commonest
category    missing becomes a label of its own; then one column per label, rare labels together
date        year, month, day, weekday, hour and elapsed days, as far as they vary; then as numbers
text        tf-idf of its commonest terms
==========  ====================================================================================

The transformer takes any DataFrame or Table with the columns of training, strings as they were written: its first step,
a :class:`~margin.data.column_reader.ColumnReader`, reads them as training did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.data.columnar import from_pandas
from margin.data.judgement import MAX_CATEGORIES
from margin.data.kinds import KINDS
from margin.data.profile import Profile, profile
from margin.data.table import Table

if TYPE_CHECKING:
    import pandas
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

__all__ = ["frame", "preprocessor"]

#: What may be done to numbers, and into how many equal intervals "bins" cuts them.
NUMBER_STEPS, BINS = ("standard", "unit", "bins", "plain"), 8


def preprocessor(
    data: Table | Profile | Any,
    *,
    numbers: str = "standard",
    encode: str = "onehot",
    max_categories: int = MAX_CATEGORIES,
    max_terms: int = 256,
    sparse: bool = False,
) -> Pipeline | ColumnTransformer:
    """An unfitted transformer for the columns of a table or DataFrame, or for those that a profile of it uses.

    Only names and kinds are taken from ``data``. For a 2-D array of numbers the columns go by position, and the
    transformer takes arrays.

    ``numbers`` "standard" gives mean 0 and standard deviation 1 (and 0 for good where training had one value); "unit"
    the range 0 to 1, also for rows never seen: for models of counts; "bins" the number of one of eight equal intervals:
    for models of categories; "plain" nothing.

    ``encode="onehot"`` gives a column per label, ``encode="ordinal"`` one column of codes; of more than
    ``max_categories`` labels the rarest are merged (:class:`~margin.data.category_columns.CategoryColumns`).
    ``max_terms`` is how many terms of a text are counted; with ``sparse`` pairs of words are terms too, and a table
    with texts becomes a sparse matrix, for models that take thousands of columns.

    >>> table = Table({"age": [20, None, 40], "sex": ["f", "m", "f"]})
    >>> preprocessor(table).fit_transform(frame(table)).round(2).tolist()
    [[-1.22, 1.0, 0.0], [0.0, 0.0, 1.0], [1.22, 1.0, 0.0]]
    """
    from sklearn.pipeline import Pipeline

    if numbers not in NUMBER_STEPS:
        raise ValueError(f"preprocessor: numbers must be one of {', '.join(NUMBER_STEPS)}; got {numbers!r}.")
    if encode not in ("onehot", "ordinal"):
        raise ValueError(f"preprocessor: encode must be 'onehot' or 'ordinal'; got {encode!r}.")
    _check_count("max_categories", max_categories, 2)
    _check_count("max_terms", max_terms, 1)
    kinds = _used_kinds(data)
    steps = {
        "number": _number_steps(numbers),
        "flag": _flag_steps(),
        "category": _category_steps(encode, int(max_categories)),
        "date": _date_steps(numbers),
        "text": _text_steps(numbers, int(max_terms), bool(sparse)),
    }
    if isinstance(data, np.ndarray):
        return _side_by_side(steps, {int(name): kind for name, kind in kinds.items()})
    from margin.data.column_reader import ColumnReader

    return Pipeline([("read", ColumnReader(kinds)), ("encode", _side_by_side(steps, kinds, bool(sparse)))])


def frame(data: Table | Any) -> pandas.DataFrame:
    """A DataFrame of typed columns from a table or from any DataFrame: labels missing as NaN, flags ``boolean``."""
    if isinstance(data, Table):
        return data.to_pandas()
    if type(data).__module__.split(".")[0] == "pandas":
        return from_pandas(data).to_pandas()
    raise TypeError(f"frame: data must be a Table or a DataFrame; got {type(data).__name__}.")


def _check_count(name: str, value: Any, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"preprocessor: {name} must be an integer of at least {low}; got {value!r}.")


def _used_kinds(data: Any) -> dict[str, str]:
    if isinstance(data, np.ndarray):
        return dict.fromkeys(_varying(data), "number")
    described = data if isinstance(data, Profile) else profile(data)
    if not described.used:
        columns = [column for column in described.columns if column.name != described.target]
        reasons = "; ".join(f"{column.name!r} {column.remark}" for column in columns[:5]) or "there is none"
        raise ValueError(f"preprocessor: no column can be used ({reasons}).")
    return described.kinds


def _varying(data: np.ndarray) -> list[str]:
    """Positions of the columns of an array that have more than one value; a missing one counts."""
    if data.ndim != 2 or data.dtype.kind not in "biuf":
        raise TypeError(f"preprocessor: an array must hold numbers in two dimensions; got {data.dtype} {data.shape}.")
    numbers = np.asarray(data, dtype=np.float64)
    absent = np.isnan(numbers)
    same = np.all(numbers == numbers[:1], axis=0) & (len(numbers) > 1)
    varying = [str(i) for i in np.flatnonzero(~same & ~absent.all(axis=0))]
    if not varying:
        raise ValueError("preprocessor: no column can be used (each has one value or none).")
    return varying


def _side_by_side(steps: dict[str, Any], kinds: dict[Any, str], sparse: bool = False) -> ColumnTransformer:
    from sklearn.compose import ColumnTransformer

    columns = {kind: [name for name, its in kinds.items() if its == kind] for kind in KINDS}
    parts = [(kind, steps[kind], names) for kind, names in columns.items() if names]
    return ColumnTransformer(parts, remainder="drop", sparse_threshold=1.0 if sparse else 0.0)


def _number_steps(numbers: str) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline

    # A column without a value in the training rows must not vanish: keep_empty_features, here and below.
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    step = _scaling(numbers)
    return Pipeline([("impute", impute), step]) if step else impute


def _scaling(numbers: str) -> tuple[str, Any] | None:
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler

    from margin.data.standard_columns import StandardColumns

    return {
        "standard": ("scale", StandardColumns()),
        "unit": ("scale", MinMaxScaler(clip=True)),
        "bins": ("cut", KBinsDiscretizer(BINS, encode="ordinal", strategy="uniform", subsample=None)),
    }.get(numbers)


def _flag_steps() -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="most_frequent", keep_empty_features=True)


def _category_steps(encode: str, max_categories: int) -> Any:
    from margin.data.category_columns import CategoryColumns

    return CategoryColumns(encode=encode, max_categories=max_categories)


def _date_steps(numbers: str) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline

    from margin.data.date_parts import DateParts

    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    return Pipeline([("parts", DateParts()), ("impute", impute), *filter(None, [_scaling(numbers)])])


def _text_steps(numbers: str, max_terms: int, sparse: bool) -> Any:
    from sklearn.pipeline import Pipeline

    from margin.data.tfidf_columns import TfidfColumns

    # The weights lie between 0 and 1 and are comparable already; only models of categories need them cut.
    tfidf = TfidfColumns(max_features=max_terms, longest_run=2 if sparse else 1, sparse=sparse)
    cut = _scaling(numbers) if numbers == "bins" else None
    return Pipeline([("tfidf", tfidf), cut]) if cut else tfidf
