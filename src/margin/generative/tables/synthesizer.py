"""Synthetic rows of a table with numbers and categories, drawn by a generative model of its coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Either, Flag, Integer, Nested, Optional, Seed
from margin.core.estimator import RUNNING, IterativeEstimator
from margin.core.invariants import ModelWith, TrueOrFalse
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, seed_from
from margin.core.records import Record
from margin.generative.diffusion.model import DiffusionModel
from margin.generative.stored import COLUMNS, columns_are_stored
from margin.generative.tables.columns import ColumnCode, decode_column, encode_column, learn_column, width
from margin.generative.tables.privacy import PrivacyCheck, nearest_neighbor_privacy
from margin.neural.estimators.device_inside import DeviceInside

__all__ = ["TableSynthesizer"]


class TableSynthesizer(DeviceInside, IterativeEstimator):
    r"""Draw synthetic rows that look like those of a table.

    Numbers become normal scores, categories one coordinate per label, missing values one more; a generative model
    learns the coordinates, and what it draws is turned back. Columns of numbers with few distinct values and all
    categories give back only values of training; other numbers lie between the smallest and the largest.

    Synthetic rows are not private by being synthetic: :meth:`privacy` tells whether they are nearer to the rows that
    were learned from than to others.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.integers(18, 80, 200), "town": rng.choice(["Bonn", "Ulm"], 200)})
    >>> model = TableSynthesizer(DiffusionModel((32,), n_steps=20, max_iter=5), random_state=0).fit(table)
    >>> made = model.sample(3, random_state=0)
    >>> made.columns.tolist(), set(made["town"]) <= {"Bonn", "Ulm"}
    (['age', 'town'], True)
    """

    log_density_kind = "none"

    model: Any = parameter(
        None,
        Optional(Nested("fit", "sample", "iterate")),
        "Generative model of the coordinates, such as a GAN or a FlowMatching; None: DiffusionModel().",
    )
    _: KW_ONLY
    random_state: RandomLike = parameter(None, Seed(), "Draws what the model draws while it learns.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    model_: Any = attribute(ModelWith(["sample"]), "The fitted model of the coordinates.")
    columns_: list[dict[str, Any]] = attribute(
        COLUMNS, "What is kept of every column: kind, values or labels, and dtype."
    )
    is_frame_: bool = attribute(TrueOrFalse(), "Whether rows were given as a DataFrame, and are drawn as one.")
    _stored_rules = (columns_are_stored,)

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X`` (``y`` goes to a conditional model), yielding the model's records."""
        self._check_parameters()
        self.is_frame_, arrays = self._arrays(X, reset=True)
        self.columns_ = [{**learn_column(column)._asdict(), "dtype": str(column.dtype)} for column in arrays]
        seed = seed_from(self.random_state) if state is None else int(state["seed"])
        model = clone(DiffusionModel() if self.model is None else self.model)
        self._place_inside(model)
        self.model_ = model.set_params(random_state=seed)
        records = model.iterate(self._coordinates(arrays), y, state=state)
        try:
            for record in records:
                self._loop = model._loop
                yield record
            self._loop = model._loop
        finally:
            records.close()
            for name in RUNNING:
                model.__dict__.pop(name, None)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, **options: Any) -> Any:
        """New rows, as a DataFrame if the model was fitted to one; ``options`` are those of the model's ``sample``."""
        check_is_fitted(self)
        return self.decode(self.model_.sample(n_samples, random_state, **options))

    def encode(self, X: MatrixLike) -> np.ndarray:
        """The coordinates of rows."""
        check_is_fitted(self)
        return self._coordinates(self._arrays(X, reset=False)[1])

    def decode(self, coordinates: Any) -> Any:
        """Rows for coordinates."""
        check_is_fitted(self)
        coordinates, codes = np.asarray(coordinates), self._codes()
        ends = np.cumsum([width(code) for code in codes])
        if coordinates.ndim != 2 or coordinates.shape[1] != ends[-1]:
            raise ValueError(
                f"TableSynthesizer: coordinates must have {ends[-1]} columns; got shape {coordinates.shape}."
            )
        columns = [decode_column(*pair) for pair in zip(codes, np.split(coordinates, ends[:-1], axis=1))]
        if not self.is_frame_:
            return np.column_stack(columns).astype(np.float64)
        import pandas as pd

        typed = {k: _restore_dtype(column, stored) for k, (column, stored) in enumerate(zip(columns, self.columns_))}
        made = pd.DataFrame(typed)
        made.columns = list(getattr(self, "feature_names_in_", range(len(columns))))
        return made

    def privacy(self, made: Any, training: Any, held_out: Any, *, random_state: RandomLike = None) -> PrivacyCheck:
        """Whether ``made`` rows are nearer to ``training`` rows than to ``held_out`` rows, by their coordinates."""
        rows = (self.encode(table) for table in (made, training, held_out))
        return nearest_neighbor_privacy(*rows, random_state=random_state)

    def _codes(self) -> list[ColumnCode]:
        return [ColumnCode(**{name: stored[name] for name in ColumnCode._fields}) for stored in self.columns_]

    def _coordinates(self, arrays: list[np.ndarray]) -> np.ndarray:
        return np.hstack([encode_column(*pair) for pair in zip(self._codes(), arrays)])

    def _arrays(self, X: Any, *, reset: bool) -> tuple[bool, list[np.ndarray]]:
        """Whether ``X`` is a DataFrame, and its columns."""
        if hasattr(X, "to_pandas"):
            X = X.to_pandas()
        if not (hasattr(X, "iloc") and hasattr(X, "columns")):
            X = validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", reset=reset)
            return False, list(X.T)
        validate_data(self, X, skip_check_array=True, reset=reset)
        if not len(X):
            raise ValueError("TableSynthesizer: X must have at least one row; got none.")
        return True, [_plain(X.iloc[:, k]) for k in range(X.shape[1])]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _plain(column: Any) -> np.ndarray:
    """A pandas column as an array of numbers (missing: NaN) or of objects (missing: None or NaN)."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):
        extended = not isinstance(column.dtype, np.dtype)  # such as Int64, which may hold missing values
        if extended or column.isna().any():
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        return column.to_numpy()
    values: np.ndarray = column.to_numpy(dtype=object, copy=True)
    values[column.isna().to_numpy()] = None
    return values


def _restore_dtype(column: np.ndarray, stored: dict[str, Any]) -> np.ndarray:
    """Values in the dtype that the column had; numbers with missing ones stay floating."""
    dtype = np.dtype(stored["dtype"])
    return column.astype(dtype) if dtype.kind in "biuf" and not stored["missing"] else column
