"""An immutable table of named, typed columns: what every reader returns and every split, encoder and report takes."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.data.kinds import missing_mask, store_values

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Table", "UnknownColumnError", "close_names"]


class Table:
    """Columns of equal length, each with a name and a kind (see :mod:`margin.data.kinds`).

    ``columns`` maps names to arrays; kinds are guessed from the arrays unless given. The arrays are read-only
    and belong to the table: what is passed in is copied if anyone else could still write to it.

    ``remarks`` are sentences of the reader about the whole file (a guessed encoding, a renamed column) and ``notes``
    say of a column how it was read, where that was a decision; neither is part of the table's content or hash.

    >>> table = Table({"age": [25, 30, 35], "sex": ["f", "m", None]})
    >>> table
    Table(3 rows: age number, sex category)
    >>> table["age"]
    array([25., 30., 35.])
    >>> table.missing()
    {'age': 0, 'sex': 1}
    """

    def __init__(self, columns: Mapping[str, Any], kinds: Mapping[str, str] | None = None) -> None:
        kinds = dict(kinds or {})
        unknown = [name for name in kinds if name not in columns]
        if unknown:
            raise ValueError(f"Table: kinds names {unknown[0]!r}, which is not a column.")
        pairs = {str(name): store_values(values, kinds.get(name), name=str(name)) for name, values in columns.items()}
        if len(pairs) != len(columns):
            raise ValueError("Table: column names must differ when written as text.")
        lengths = {name: len(values) for name, (_, values) in pairs.items()}
        if len(set(lengths.values())) > 1:
            shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
            raise ValueError(
                f"Table: columns must have equal length; {shortest!r} has {lengths[shortest]} rows"
                f" and {longest!r} has {lengths[longest]}."
            )
        self._set(pairs, next(iter(lengths.values()), 0))

    @classmethod
    def from_stored(
        cls,
        pairs: Mapping[str, tuple[str, np.ndarray]],
        n_rows: int,
        remarks: Iterable[str] = (),
        notes: Mapping[str, str] | None = None,
    ) -> Table:
        """A table of columns that already have their stored form: names mapped to (kind, array), nothing checked."""
        table = cls.__new__(cls)
        for _, values in pairs.values():
            values.setflags(write=False)
        table._set(pairs, n_rows, remarks, notes)
        return table

    def _set(
        self,
        pairs: Mapping[str, tuple[str, np.ndarray]],
        n_rows: int,
        remarks: Iterable[str] = (),
        notes: Mapping[str, str] | None = None,
    ) -> None:
        self.names = tuple(pairs)
        self.kinds: Mapping[str, str] = MappingProxyType({name: kind for name, (kind, _) in pairs.items()})
        self.columns: Mapping[str, np.ndarray] = MappingProxyType({name: values for name, (_, values) in pairs.items()})
        self.n_rows = n_rows
        self.remarks = tuple(remarks)
        self.notes: Mapping[str, str] = MappingProxyType({name: note for name, note in (notes or {}).items() if note})

    def __setattr__(self, name: str, value: Any) -> None:
        # The constructor sets each attribute once; after that the table is frozen.
        if name in self.__dict__:
            raise AttributeError(f"Table: a table cannot be changed; {name!r} is fixed.")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only mappings cannot be sent to another process; their plain content can.
        pairs = {name: (self.kinds[name], values) for name, values in self.columns.items()}
        return Table.from_stored, (pairs, self.n_rows, self.remarks, dict(self.notes))

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> np.ndarray:
        self._check_known(name, "column")
        return self.columns[name]

    def __eq__(self, other: object) -> bool:
        return self.hash() == other.hash() if isinstance(other, Table) else NotImplemented

    def __hash__(self) -> int:
        return int(self.hash()[:15], 16)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {self.kinds[name]}" for name in self.names[:8])
        more = f", {len(self.names) - 8} more" if len(self.names) > 8 else ""
        return f"Table({self.n_rows} rows: {listed}{more})"

    def hash(self) -> str:
        """SHA-256 over names, kinds and values: the same in every process and on every machine.

        >>> Table({"x": [1, 2]}).hash() == Table({"x": [1.0, 2.0]}).hash()
        True
        """
        return self._hash

    @cached_property
    def _hash(self) -> str:
        digest = hashlib.sha256()
        for name in self.names:
            for label in (name, self.kinds[name]):
                encoded = label.encode()
                digest.update(len(encoded).to_bytes(8, "little") + encoded)
            digest.update(self.n_rows.to_bytes(8, "little"))
            for chunk in _value_bytes(self.columns[name]):
                digest.update(chunk)
        return digest.hexdigest()

    def missing(self) -> dict[str, int]:
        """How many values are missing in each column."""
        return {name: int(missing_mask(values).sum()) for name, values in self.columns.items()}

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        """Names of the columns of these kinds, in table order."""
        return tuple(name for name in self.names if self.kinds[name] in kinds)

    def select(self, names: Iterable[str]) -> Table:
        """Only these columns, in this order."""
        names = list(names)
        for name in names:
            self._check_known(name, "column")
        return self._with({name: self.columns[name] for name in names})

    def drop(self, *names: str) -> Table:
        """All but these columns."""
        for name in names:
            self._check_known(name, "column")
        return self._with({name: values for name, values in self.columns.items() if name not in names})

    def beside(self, name: str, values: Any) -> Table:
        """The same rows with one column more at the end, which is judged as one of a data frame.

        >>> dict(Table({"age": [30, 40]}).beside("town", ["Ulm", "Bonn"]).kinds)
        {'age': 'number', 'town': 'category'}
        """
        import pandas as pd

        from margin.data.columnar import from_pandas

        new = from_pandas(pd.DataFrame({name: values}))
        pairs = {column: (t.kinds[column], t.columns[column]) for t in (self, new) for column in t.names}
        return Table.from_stored(pairs, len(self))

    def take(self, rows: Any) -> Table:
        """These rows, by position or by a boolean mask, in the given order."""
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if rows.shape != (self.n_rows,):
                raise ValueError(f"Table.take: a mask must have {self.n_rows} entries; got shape {rows.shape}.")
        elif rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(f"Table.take: rows must be positions or a mask; got {rows.dtype} of shape {rows.shape}.")
        elif rows.size and (rows.max() >= self.n_rows or rows.min() < -self.n_rows):
            raise ValueError(f"Table.take: rows must be below {self.n_rows}; got {rows.min()} to {rows.max()}.")
        else:
            rows = rows.astype(np.intp)
        n_rows = int(rows.sum()) if rows.dtype == bool else len(rows)
        return self._with({name: values[rows] for name, values in self.columns.items()}, n_rows)

    def head(self, n: int = 5) -> Table:
        """The first ``n`` rows."""
        n = min(max(n, 0), self.n_rows)
        return self._with({name: values[:n] for name, values in self.columns.items()}, n)

    def as_kind(self, name: str, kind: str) -> Table:
        """The same table with one column of another kind: codes that were read as numbers become categories.

        >>> Table({"class": [3, 1, 3]}).as_kind("class", "category")["class"]
        array(['3', '1', '3'], dtype=object)
        """
        self._check_known(name, "column")
        pairs = {other: (self.kinds[other], values) for other, values in self.columns.items()}
        notes = {other: note for other, note in self.notes.items() if other != name}
        changed = {**pairs, name: store_values(self.columns[name], kind, name=name)}
        return Table.from_stored(changed, self.n_rows, self.remarks, notes)

    def split_target(self, target: str) -> tuple[Table, np.ndarray]:
        """The other columns, and the target's values; integers come as int64, so labels print as 0 and 1.

        >>> X, y = Table({"x": [0.5, 1.5], "y": [0, 1]}).split_target("y")
        >>> X.names, y
        (('x',), array([0, 1]))
        """
        self._check_known(target, "target")
        values = self.columns[target]
        absent = int(missing_mask(values).sum())
        if absent:
            raise ValueError(f"Table: target {target!r} is missing in {absent} of {self.n_rows} rows.")
        if self.kinds[target] == "number" and np.all(values == np.floor(values)) and np.all(np.abs(values) < 2**53):
            values = values.astype(np.int64)
        elif self.kinds[target] == "flag":
            values = values.astype(bool)
        return self.drop(target), values.copy()

    def to_pandas(self) -> pandas.DataFrame:
        """A new DataFrame: float64, nullable ``boolean``, object (missing NaN) and datetime64 columns."""
        import pandas as pd

        series = {}
        for name, values in self.columns.items():
            if self.kinds[name] == "flag":
                series[name] = pd.Series(pd.array(values, dtype="boolean"))
            elif values.dtype == object:
                # NaN and not None: scikit-learn's imputers see only NaN as missing.
                series[name] = pd.Series(np.where(missing_mask(values), np.nan, values), dtype=object)
            else:
                series[name] = pd.Series(values.copy())
        return pd.DataFrame(series, columns=list(self.names), index=range(self.n_rows))

    def to_arrow(self) -> pyarrow.Table:
        """A PyArrow table: doubles, booleans, strings (categories as dictionaries) and timestamps."""
        import pyarrow as pa

        types = {"number": pa.float64(), "flag": pa.bool_(), "date": pa.timestamp("us")}
        arrays = []
        for name, values in self.columns.items():
            kind = self.kinds[name]
            array = pa.array(values, types.get(kind, pa.string()), mask=missing_mask(values))
            arrays.append(array.dictionary_encode() if kind == "category" else array)
        return pa.Table.from_arrays(arrays, names=list(self.names))

    def _with(self, columns: Mapping[str, np.ndarray], n_rows: int | None = None) -> Table:
        pairs = {name: (self.kinds[name], values) for name, values in columns.items()}
        notes = {name: note for name, note in self.notes.items() if name in pairs}
        return Table.from_stored(pairs, self.n_rows if n_rows is None else n_rows, self.remarks, notes)

    def _check_known(self, name: str, role: str) -> None:
        if name not in self.columns:
            raise UnknownColumnError(f"Table: there is no {role} {name!r}; {close_names(name, self.names)}.")


class UnknownColumnError(KeyError, ValueError):
    """A missing column: a KeyError whose text is the plain sentence and that code expecting ValueError also catches."""

    def __str__(self) -> str:
        return str(self.args[0])


def close_names(name: object, known: Iterable[str]) -> str:
    """The part of an error that helps: close matches if there are any, else what there is."""
    known = list(known)
    by_lower = {label.lower(): label for label in known}
    close = [by_lower[label] for label in difflib.get_close_matches(str(name).lower(), by_lower, n=3)]
    if close:
        return f"close matches are {', '.join(map(repr, close))}"
    listed = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
    return f"there are {listed}" if known else "there are none"


def _value_bytes(values: np.ndarray) -> Iterator[bytes]:
    """A canonical byte form of a stored column, injective up to the bit patterns of NaN and the sign of zero."""
    if values.dtype.kind == "f":
        canonical = np.where(np.isnan(values), np.nan, values) + 0.0
        yield canonical.astype("<f8").tobytes()
    elif values.dtype.kind == "M":
        yield values.astype("<M8[us]").tobytes()
    else:
        labels = [None if value is None else str(value).encode("utf-8", "surrogatepass") for value in values.tolist()]
        yield np.array([-1 if label is None else len(label) for label in labels], dtype="<i8").tobytes()
        yield b"".join(label for label in labels if label is not None)
