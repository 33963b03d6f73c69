"""What may stand on a board: models of the catalog for the kind of data, some of them under more than one name.

A model of tables sees the columns; of images it sees the pixels, and a few see handcrafted features instead (rows such
as ``hog-linear-svc``). A few learn the logarithm of a skewed target, too (``log-ridge``). Models of images and of texts
join in where there are such. A catalog entry with variants has a row for each (``text-classifier-cnn``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from margin import catalog
from margin.data import Profile
from margin.data.log_target import is_skewed
from margin.service.preparation import preparation
from margin.service.sources import Source

__all__ = ["BoardRow", "Preparations", "board_rows"]

#: Handcrafted features of images, and the models that are tried on them: the usual ones, and one of each family.
HANDCRAFTED = {
    "hog": ("logistic-regression", "linear-svc", "svc", "k-neighbors-classifier", "random-forest-classifier"),
    "visual-words": ("svc", "random-forest-classifier"),
}
#: Where a target is skewed, these learn its logarithm, too: one of each family that wins most often.
ON_LOG_TARGET = ("ridge", "hist-gradient-boosting-regressor", "random-forest-regressor")
#: An image has about so many cells of HOG along its shorter side, of at least and at most so many pixels.
HOG_CELLS, SMALLEST_CELL, LARGEST_CELL = 8, 2, 8
#: Terms of a text for models that take a sparse table of so many columns.
WIDE_TERMS = 20_000


@dataclass(frozen=True)
class BoardRow:
    """A row of the board: a catalog entry, the handcrafted features it sees (if any), what is set on it, and whether it
    learns the logarithm of the target."""

    name: str
    entry: catalog.Entry
    features: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    log_target: bool = False


def board_rows(source: Source, profile: Profile | None) -> dict[str, BoardRow]:
    """Every row that the data allow, by name, in the order of the catalog; also of models that are not compared."""
    kinds = {"table"}
    kinds |= {"images"} if source.image_shape is not None else set()
    kinds |= {"text"} if text_columns(profile) else set()
    entries = [entry for entry in catalog.ENTRIES if entry.task == source.task and entry.data in kinds]
    rows = []
    for entry in entries:
        rows.append(BoardRow(entry.name, entry, settings=entry.settings))
        rows += [
            BoardRow(f"{entry.name}-{name}", entry, settings={**entry.settings, **settings})
            for name, settings in entry.variants.items()
        ]
    if source.image_shape is not None:
        by_name = {entry.name: entry for entry in entries}
        rows += [
            BoardRow(f"{features}-{name}", by_name[name], features, by_name[name].settings)
            for features, names in HANDCRAFTED.items()
            for name in names
            if name in by_name
        ]
    if source.task == "regression" and source.y is not None and is_skewed(np.asarray(source.y)):
        rows += [
            BoardRow(f"log-{entry.name}", entry, settings=entry.settings, log_target=True)
            for entry in entries
            if entry.name in ON_LOG_TARGET
        ]
    return {row.name: row for row in rows}


def text_columns(profile: Profile | None) -> list[str]:
    """Names of the columns that are read as texts."""
    return [] if profile is None else [name for name, kind in profile.kinds.items() if kind == "text"]


class Preparations:
    """What stands before the models of a board, each made once: rows that see the same columns share it."""

    def __init__(self, source: Source, profile: Profile | None, seed: int):
        self.source, self.profile, self.seed = source, profile, seed
        self._made: dict[tuple[Any, ...], Any] = {}

    def of(self, row: BoardRow) -> Any:
        """The unfitted first step of a pipeline, or None for a model that takes the pixels as they are."""
        if row.entry.data == "images":
            return None
        wide = row.entry.wide and bool(text_columns(self.profile))
        key = row.entry.data, row.entry.takes, row.features, wide
        if key not in self._made:
            self._made[key] = self._make(row, wide)
        return self._made[key]

    def _make(self, row: BoardRow, wide: bool) -> Any:
        if row.entry.data == "text":
            return _texts(text_columns(self.profile))
        if row.features:
            return _image_features(row.features, self.source.image_shape, self.seed)
        return preparation(self.source, row.entry.takes, self.profile, WIDE_TERMS if wide else None)


def _texts(names: list[str]) -> Any:
    """All texts of a row as one string."""
    from sklearn.pipeline import Pipeline

    from margin.data.column_reader import ColumnReader
    from margin.data.joined_texts import JoinedTexts

    return Pipeline([("read", ColumnReader(dict.fromkeys(names, "text"))), ("join", JoinedTexts())])


def _image_features(name: str, shape: tuple[int, ...] | None, seed: int) -> Any:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from margin.vision.features import HOG, VisualWords

    assert shape is not None
    if name == "hog":
        cell = min(max(min(shape[:2]) // HOG_CELLS, SMALLEST_CELL), LARGEST_CELL)
        features: Any = HOG(cell, image_shape=shape)
    else:
        features = VisualWords(image_shape=shape, random_state=seed)
    return Pipeline([("features", features), ("scale", StandardScaler())])
