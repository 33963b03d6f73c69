"""A trained model asked with what a request holds: rows of a table, texts, or pictures."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from margin import catalog
from margin.service.pictures import predict_pictures
from margin.service.prediction import last_step, open_model, task_of
from margin.service.requests import BadRequest

__all__ = ["KINDS", "ServedModel"]

#: What a request calls the things that a model is asked about.
KINDS = {"table": "rows", "text": "texts", "images": "images"}
SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"BM": ".bmp"}  # pictures by their first bytes


class ServedModel:
    """A run folder or model file, opened once; it only reads, so that many threads may ask it."""

    def __init__(self, path: str | Path):
        self.path = str(path)
        self.model, self.manifest = open_model(path)
        self.name = type(last_step(self.model)).__name__
        self.task = self.manifest.get("task") or task_of(self.model)
        self.kind = self._kind()
        self.features: list[str] = [str(name) for name in self.manifest.get("features", self._names())]

    @property
    def writes(self) -> bool:
        """Whether it continues texts."""
        return callable(getattr(self.model, "stream", None))

    @property
    def predicts(self) -> bool:
        return callable(getattr(self.model, "predict", None)) and self.kind in KINDS

    @property
    def has_probabilities(self) -> bool:
        return self.predicts and hasattr(self.model, "predict_proba")

    @property
    def classes(self) -> list[Any]:
        return [_plain(label) for label in getattr(self.model, "classes_", ())]

    @property
    def column_kinds(self) -> Mapping[str, str]:
        """What the columns of a table were taken for; numbers where the model reads no columns by name."""
        from margin.data.column_reader import ColumnReader

        for step in _steps(self.model):
            if isinstance(step, ColumnReader):
                return {name: step.kinds[name] for name in self.features if name in step.kinds}
        return dict.fromkeys(self.features, "number")

    def predict(self, questions: Sequence[Any], proba: bool = False) -> list[Any]:
        """An answer for every question: a label, a number, a list of numbers, or probabilities by class."""
        if not self.predicts:
            raise BadRequest(f"{self.name} in {self.path} predicts nothing.")
        if proba and not self.has_probabilities:
            raise BadRequest(f"{self.name} in {self.path} gives no probabilities.")
        if self.kind == "images":
            return self._predict_pictures(questions, proba)
        asked: Any = list(questions) if self.kind == "text" else self._frame(questions)
        try:
            answers = self.model.predict_proba(asked) if proba else self.model.predict(asked)
        except ValueError as error:
            raise BadRequest(str(error)) from None
        if proba:
            return [dict(zip(map(str, self.classes), map(_plain, row), strict=True)) for row in np.asarray(answers)]
        return [_plain(answer) for answer in answers]

    def write(self, prompt: str, max_tokens: int, **options: Any) -> Iterator[str]:
        """Pieces of what follows ``prompt``."""
        if not self.writes:
            raise BadRequest(f"{self.name} in {self.path} writes no text.")
        try:
            yield from self.model.stream(prompt, max_tokens, **options)
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from None

    def _kind(self) -> str:
        known = self.manifest.get("identity", {}).get("model", "")
        class_name = type(last_step(self.model)).__name__
        for entry in catalog.ENTRIES:
            if entry.name == known or (not known and entry.class_name == class_name):
                return entry.data
        return "images" if hasattr(self.model, "predict_files") else "table"

    def _names(self) -> list[str]:
        names = getattr(self.model, "feature_names_in_", None)
        if names is None:
            names = [f"x{i}" for i in range(getattr(self.model, "n_features_in_", 0))]
        return list(names)

    def _frame(self, rows: Sequence[Any]) -> Any:
        import pandas as pd

        if all(isinstance(row, Mapping) for row in rows):
            unknown = sorted({name for row in rows for name in row} - set(self.features))
            absent = [name for name in self.features if not any(name in row for row in rows)]
            if unknown:
                raise BadRequest(f"rows: there is no column {unknown[0]!r}; the model has {', '.join(self.features)}.")
            if absent:
                raise BadRequest(f"rows: the column {absent[0]!r} is missing; where a value is unknown, write null.")
            frame = pd.DataFrame([[row.get(name) for name in self.features] for row in rows], columns=self.features)
        elif all(isinstance(row, Sequence) and not isinstance(row, str) for row in rows):
            wrong = next((len(row) for row in rows if len(row) != len(self.features)), None)
            if wrong is not None:
                raise BadRequest(f"rows: a row must have {len(self.features)} values; got {wrong}.")
            frame = pd.DataFrame([list(row) for row in rows], columns=self.features)
        else:
            raise BadRequest("rows: must all be objects with the names of the columns, or all lists of values.")
        return frame if hasattr(self.model, "feature_names_in_") else frame.to_numpy()

    def _predict_pictures(self, images: Sequence[str], proba: bool) -> list[Any]:
        """Pictures as base64 texts of their files, read by the same code as files on disk."""
        with TemporaryDirectory() as folder:
            for i, text in enumerate(images):
                content = _decode(text, i)
                suffix = next((suffix for start, suffix in SUFFIXES.items() if content.startswith(start)), None)
                if suffix is None:
                    raise BadRequest(f"images: number {i} is no PNG, JPEG or BMP file.")
                (Path(folder) / f"{i:06d}{suffix}").write_bytes(content)
            try:
                found = predict_pictures(self.model, folder, proba, self.manifest)
            except BadRequest as problem:
                raise BadRequest(str(problem).replace(folder, "images")) from None
        if found is None:
            raise BadRequest(f"{self.name} in {self.path} does not know the size of its pictures.")
        if not proba:
            return [_plain(answer) for answer in found["prediction"]]
        columns = {name: values for name, values in found.items() if name != "file"}
        return [{name: _plain(values[i]) for name, values in columns.items()} for i in range(len(images))]


def _steps(model: Any) -> Iterator[Any]:
    """The models and preparations inside one another."""
    inner = getattr(model, "regressor_", None) or getattr(model, "regressor", None)
    for part in (*(step for _, step in getattr(model, "steps", ())), *([] if inner is None else [inner])):
        yield part
        yield from _steps(part)


def _decode(text: Any, i: int) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise BadRequest(f"images: number {i} must be a file in base64.") from None


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers, strings, lists; null for what is not finite."""
    if isinstance(value, np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
