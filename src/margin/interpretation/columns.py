"""A table taken apart into columns and put together again: arrays and data frames, numbers and labels alike.

What asks a model through its predictions needs one thing of a table: the same columns with the values of other rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["TableColumns"]


class TableColumns:
    """The columns of one table, or of several with the same columns, one below the other.

    >>> import pandas as pd
    >>> columns = TableColumns(pd.DataFrame({"size": [1.0, 2.0], "town": ["north", "south"]}))
    >>> columns.compose([[1, 1], [0, 1]])  # the size of the second row twice, the towns as they are
       size   town
    0   2.0  north
    1   2.0  south
    """

    def __init__(self, *tables: Any):
        first = tables[0]
        self._frame = hasattr(first, "iloc")
        if self._frame:
            import pandas as pd

            table = first if len(tables) == 1 else pd.concat(tables, ignore_index=True)
            self.names = [str(name) for name in first.columns]
            self._labels = first.columns
            self._columns = [table.iloc[:, j].array for j in range(table.shape[1])]
        else:
            table = np.concatenate([np.asarray(part, dtype=np.float64) for part in tables])
            if table.ndim != 2:
                raise ValueError(f"TableColumns: a table must have rows and columns; got shape {table.shape}.")
            self.names = [f"x{j}" for j in range(table.shape[1])]
            self._columns = list(table.T)
        self.n_rows = len(table)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, column: int) -> Any:
        return self._columns[column]

    def compose(self, rows: Any) -> Any:
        """The table whose column ``j`` holds the values of the rows ``rows[j]``; of the kind that was given."""
        return self._table([values.take(np.asarray(index)) for values, index in zip(self._columns, rows, strict=True)])

    def with_values(self, values: dict[int, Any]) -> Any:
        """All rows, with one value in each of some columns."""
        return self._table([self._constant(j, values[j]) if j in values else self[j] for j in range(len(self))])

    def over_values(self, column: int, values: Any) -> Any:
        """All rows with the first value in one column, then all with the second, and so on."""
        rows = np.tile(np.arange(self.n_rows), len(values))
        columns = [known.take(rows) for known in self._columns]
        columns[column] = self._as_column(column, values).take(np.repeat(np.arange(len(values)), self.n_rows))
        return self._table(columns)

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers; truth values are labels."""
        return self._columns[column].dtype.kind in "fiu"

    def is_date(self, column: int) -> bool:
        """Whether a column holds points in time."""
        return self._columns[column].dtype.kind == "M"

    def ordered_values(self, column: int) -> np.ndarray | None:
        """Numbers in the order of a column's values, NaN where one is missing; None for labels, which have no order."""
        if self.is_number(column):
            return np.asarray(self._columns[column], dtype=np.float64)
        if not self.is_date(column):
            return None
        times = np.asarray(self._columns[column], dtype="datetime64[us]")
        return np.where(np.isnat(times), np.nan, times.astype(np.int64).astype(np.float64))

    def values_of(self, column: int) -> np.ndarray:
        """The different values of a column that are not missing, the commonest first."""
        import pandas as pd

        return pd.Series(self._columns[column]).value_counts(dropna=True).index.to_numpy()

    def _constant(self, column: int, value: Any) -> Any:
        return self._as_column(column, [value]).take(np.zeros(self.n_rows, dtype=np.intp))

    def _as_column(self, column: int, values: Any) -> Any:
        """Values in the type of a column; numbers as floating point, since a grid lies between integers."""
        if not self._frame or self.is_number(column):
            return np.asarray(values, dtype=np.float64)
        import pandas as pd

        return pd.array(values, dtype=self._columns[column].dtype)

    def _table(self, columns: list[Any]) -> Any:
        if not self._frame:
            return np.column_stack(columns)
        import pandas as pd

        # By position and then named: names may be the same or no strings.
        frame = pd.DataFrame(dict(enumerate(columns)))
        frame.columns = self._labels
        return frame
