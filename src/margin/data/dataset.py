"""A set of examples with what is worth knowing about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from margin.data.table import Table

__all__ = ["TASKS", "Dataset"]

TASKS = ("classification", "regression", "clustering", "density")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples ``X`` with targets ``y`` (None where there are none).

    ``X`` is an array of shape (n, features); for sets with labels, text or missing categories among the features it is
    a :class:`Table`. ``target_names`` are the names of the classes (in the order of the integers in ``y`` where ``y``
    holds integers) or the one name of a response. ``split`` holds (train, test) row positions where the set comes
    with a fixed split. ``image_shape`` is (height, width) or (height, width, channels) where a row is an image.
    """

    name: str
    X: np.ndarray | Table
    y: np.ndarray | None
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    task: str
    description: str
    target: str = "target"
    image_shape: tuple[int, ...] | None = None
    split: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"Dataset: task must be one of {', '.join(TASKS)}; got {self.task!r}.")
        width = len(self.X.names) if isinstance(self.X, Table) else self.X.shape[1]
        if width != len(self.feature_names):
            raise ValueError(f"Dataset: {self.name} has {width} columns but {len(self.feature_names)} feature names.")
        if self.y is not None and len(self.y) != len(self.X):
            raise ValueError(f"Dataset: {self.name} has {len(self.X)} rows but {len(self.y)} targets.")

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self)} rows, {len(self.feature_names)} features, {self.task})"

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and targets as two arrays; a set with labels among its features, or without targets, has none."""
        if isinstance(self.X, Table):
            raise ValueError(f"Dataset: {self.name} has columns that are not numbers; use table() and a preprocessor.")
        if self.y is None:
            raise ValueError(f"Dataset: {self.name} has no targets.")
        return self.X, self.y

    def table(self) -> Table:
        """Features and target as one table; the target is the column called ``target``, classes by their names."""
        if isinstance(self.X, Table):
            features = {name: (self.X.kinds[name], self.X.columns[name]) for name in self.X.names}
        else:
            features = {
                name: ("number", np.array(column, dtype=np.float64))
                for name, column in zip(self.feature_names, self.X.T)
            }
        table = Table.from_stored(features, len(self))
        if self.y is None:
            return table
        y: np.ndarray = self.y
        if self.task != "regression" and y.dtype.kind in "iu" and self.target_names:
            y = np.array(self.target_names, dtype=object)[y]
        kind = {"regression": "number"}.get(self.task, "category")
        return Table.from_stored({**features, **_pair(self.target, y, kind)}, len(self))


def _pair(name: str, values: np.ndarray, kind: str) -> dict[str, tuple[str, np.ndarray]]:
    only = Table({name: values}, {name: kind})
    return {name: (kind, only.columns[name])}
