"""Where data come from: a file, stdin (``-``), a folder of pictures, or a named set with options.

Options stand behind a colon: ``moons:n_samples=500,noise=0.2``, ``photos:resize=32x32,color=gray,unreadable=skip``,
``book.xlsx:sheet=2024``.
"""

from __future__ import annotations

import ast
import difflib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from margin import data
from margin.core.notices import warn_user
from margin.data.kinds import missing_mask
from margin.data.table import Table
from margin.service.requests import BadRequest
from margin.service.streams import (
    AllRows,
    count_rows,
    names_stream,
    open_stream,
    refuse_as_one_table,
    sampled_table,
)

__all__ = [
    "Source", "folder_options", "image_folder", "open_source", "open_streamed", "open_table", "picture_facts",
    "picture_files", "table_of_frame",
]  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Rows to learn from or to predict: ``X`` as a model sees it, ``y`` if there is a target.

    ``given`` is X where it is no table, or None. ``untargeted`` rows had no value of the target and were left out,
    where that was asked for. Of a ``streamed`` table they are a sample, by which columns are judged.
    """

    name: str
    given: Any
    y: np.ndarray | None
    features: tuple[str, ...]
    target: str
    task: str
    hash: str
    table: Table | None = None
    image_shape: tuple[int, ...] | None = None
    untargeted: int = 0
    streamed: AllRows | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are to learn from; ``X`` holds only some of those of a stream."""
        return len(self.X) if self.streamed is None else self.streamed.n_rows

    @cached_property
    def X(self) -> Any:
        """A table as a data frame, made when it is asked for: pandas costs more than many a prediction."""
        return self.table.to_pandas() if self.given is None and self.table is not None else self.given

    @property
    def needs_preparation(self) -> bool:
        """Whether columns must be imputed or encoded before a model can take them."""
        if self.table is None:
            return False
        lacking = any(self.table.missing().values()) if self.streamed is None else self.streamed.lacking
        return lacking or any(kind != "number" for kind in self.table.kinds.values())


#: What happens to rows of a file that have no value of the target: an error, they are left out, or no target is read.
UNTARGETED = ("refuse", "drop", "predict")


def open_source(spec: str, target: str | None = None, task: str | None = None, untargeted: str = "refuse") -> Source:
    """Open a file, a folder of pictures or a named set. A file's target must be named; the others bring their own.

    ``untargeted`` says what happens to rows of a file without a target, one of ``UNTARGETED``.
    """
    name, _, options = spec.partition(":")
    if name in data.names() and not Path(spec).exists():
        return _from_named(name, options, target, task)
    folder = None if names_stream(spec) else image_folder(spec)
    if folder is not None:
        return _from_folder(folder, spec)
    return _from_table(spec, _read(spec), target, task, untargeted)


def open_streamed(spec: str, target: str | None, ignore: Sequence[str] = ()) -> Source:
    """The source of many files: a sample of their rows stands for the columns, and all rows are ``streamed``."""
    rows = open_stream(spec, target)
    if ignore:
        unknown = next((name for name in ignore if name not in rows.names), None)
        if unknown is not None:
            raise BadRequest(f"{spec} has no column {unknown!r}; its columns are {', '.join(rows.names)}.")
        rows = rows.select([name for name in rows.names if name not in ignore])
    table, y = sampled_table(rows)
    counted = count_rows(rows)
    task = "density" if y is None else data.detect_task(y)
    streamed = AllRows(rows, counted.n_rows, counted.lacking > 0)
    return Source(spec, table.to_pandas(), y, table.names, target or "", task, rows.hash(), table, streamed=streamed)


def image_folder(spec: str) -> Path | None:
    """The folder of pictures that ``spec`` names, with or without options, or None; a folder may also be a table."""
    named = [part for part in (spec, spec.partition(":")[0]) if part.strip()]  # "" would be the folder we are in
    folder = next((path for path in map(Path, named) if path.is_dir()), None)
    if folder is None or any(folder.glob("*.parquet")):
        return None
    from margin.data.image_folder import SUFFIXES

    # A folder of tables is not of pictures, which have suffixes of their own or stand in a subfolder for each class.
    parts = list(folder.iterdir())
    return folder if not parts or any(part.is_dir() or part.suffix.lower() in SUFFIXES for part in parts) else None


def open_table(spec: str) -> tuple[Table, str | None]:
    """The whole table of a file or a named set, and the target that a named set brings."""
    name, _, options = spec.partition(":")
    if name not in data.names() or Path(spec).exists():
        return _read(spec), None
    dataset = _load(name, options)
    return dataset.table(), dataset.target if dataset.y is not None else None


def table_of_frame(frame: Any) -> Table | None:
    """The table of a data frame of pandas, polars (a lazy one is collected) or Arrow; None for anything else."""
    if not hasattr(frame, "to_pandas") and hasattr(frame, "collect"):
        frame = frame.collect()
    found = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    is_frame = type(found).__module__.split(".")[0] == "pandas" and hasattr(found, "iloc") and found.ndim == 2
    return data.from_pandas(found, read_strings=True) if is_frame else None


def _read(spec: str) -> Table:
    if not spec.strip():
        raise BadRequest("The name of the data is empty; give a file, - for stdin, or a named data set.")
    file, mark, sheet = spec.rpartition(":sheet=")
    if mark and not Path(spec).exists() and Path(file).is_file():
        return data.read(file, sheet=sheet)
    refuse_as_one_table(spec)
    if spec != "-" and not Path(spec).exists():
        if "://" in spec:
            raise BadRequest(
                f"{spec} is an address, and nothing is loaded from anywhere: download it and name the file."
            )
        if Path(spec).is_symlink():
            raise BadRequest(f"{spec} is a link to {os.readlink(spec)!r}, which is not there.")
        raise BadRequest(f"There is neither a file nor a named data set {spec!r}; {_what_there_is(spec)}")
    return _standard_input(sys.stdin) if spec == "-" else data.read(spec)


def _what_there_is(spec: str) -> str:
    """Names like the one that was asked for, of sets and of the files beside it; else the sets, unless it is a path."""
    path = Path(spec)
    beside = sorted(file.name for file in path.parent.iterdir()) if path.parent.is_dir() else []
    close = [*difflib.get_close_matches(spec, data.names(), n=2)]
    close += [str(path.parent / name) for name in difflib.get_close_matches(path.name, beside, n=2)]
    if close:
        return f"did you mean {' or '.join(close)}?"
    if path.suffix or path.parent != Path():
        return (
            f"the folder {str(path.parent)!r} has no such file."
            if path.parent.is_dir()
            else (f"there is no folder {str(path.parent)!r}.")
        )
    return f"named sets: {', '.join(data.names())}."


@lru_cache(maxsize=1)
def _standard_input(_: Any) -> Table:
    """The table on stdin, which can be read once, however often it is opened."""
    return data.read("-")


def _load(name: str, options: str) -> data.Dataset:
    try:
        return data.load(name, **_parsed_options(options))
    except (TypeError, ValueError) as error:
        raise BadRequest(f"Data set {name!r}: {str(error).rstrip('.')}.") from None


def _from_named(name: str, options: str, target: str | None, task: str | None) -> Source:
    dataset = _load(name, options)
    if target is not None and target != dataset.target:
        return _from_table(name, dataset.table(), target, task)
    if isinstance(dataset.X, Table):
        return _from_table(
            name, dataset.table(), dataset.target if dataset.y is not None else None, task or dataset.task
        )
    from margin.runs import data_hash

    X = np.asarray(dataset.X)
    y = dataset.y
    return Source(
        name,
        X,
        y,
        dataset.feature_names,
        dataset.target,
        task or dataset.task,
        data_hash(X, y),
        image_shape=dataset.image_shape,
    )


def picture_facts(source: Source) -> dict[str, Any]:
    """What a run must remember of pictures, so that new ones can be brought to their size; nothing for other data."""
    return {} if source.image_shape is None else {"image_shape": list(source.image_shape)}


def folder_options(spec: str) -> dict[str, Any]:
    """Options of a folder of pictures, ``photos:resize=32x48``, with ``resize`` as (height, width)."""
    path = image_folder(spec)
    chosen = _parsed_options("" if path is None or path == Path(spec) else spec.partition(":")[2])
    if "resize" in chosen:
        sides = str(chosen["resize"]).split("x")
        if len(sides) > 2 or not all(side.isdigit() for side in sides):
            raise BadRequest(f"Folder {str(path)!r}: resize is written resize=32x48 (height x width); got {spec!r}.")
        chosen["resize"] = (int(sides[0]), int(sides[-1]))
    return chosen


def picture_files(spec: str) -> list[Path]:
    """The pictures of a folder: of the subset that is named, or all below it."""
    from margin.data.detection_folder import is_detection_folder, listed_files
    from margin.data.image_folder import SUFFIXES

    path = image_folder(spec)
    if path is None:
        raise BadRequest(f"There is no folder of pictures {spec!r}.")
    if is_detection_folder(path):
        return listed_files(path, folder_options(spec).get("subset"))
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        raise BadRequest(f"Folder {str(path)!r} holds no pictures ({' '.join(SUFFIXES)}).")
    return files


def _from_folder(path: Path, spec: str) -> Source:
    """Pictures in one subfolder per class, or with boxes, as flat rows of bytes."""
    from margin.data.detection_folder import is_detection_folder, open_detection_folder
    from margin.data.image_folder import open_image_folder

    chosen, boxes = folder_options(spec), is_detection_folder(path)
    known = ("resize", "color", "subset") if boxes else ("resize", "color", "unreadable")
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        options = f"{', '.join(known[:-1])} and {known[-1]}"
        raise BadRequest(f"Folder {str(path)!r}: options are {options}; got {unknown[0]!r}.")
    try:
        if boxes:
            return _scenes(str(path), open_detection_folder(path, **chosen))
        folder = open_image_folder(path, **chosen)
    except ValueError as error:
        hint = f" Write {path}:resize=64x64 to bring them to one." if "unless resize" in str(error) else ""
        raise BadRequest(f"{error}{hint}") from None
    if folder.skipped:
        more = f" (and {len(folder.skipped) - 1} more)" if len(folder.skipped) > 1 else ""
        warn_user(
            f"{path}: {len(folder.skipped)} of {len(folder.skipped) + len(folder.files)} pictures are left out: "
            f"{folder.skipped[0]}{more}"
        )
    from margin.runs import data_hash

    X, names = _pixels(folder.images)
    digest = data_hash(X, folder.labels)
    return Source(str(path), X, folder.labels, names, "class", "classification", digest,
                  image_shape=folder.images.shape[1:])  # fmt: skip


def _scenes(name: str, folder: Any) -> Source:
    from margin.runs import data_hash

    X, names = _pixels(folder.images)
    y = np.empty(len(folder.boxes), dtype=object)
    y[:] = folder.boxes
    corners = np.concatenate([boxes.xyxy for boxes in folder.boxes])
    owner = np.repeat(np.arange(len(y)), [len(boxes) for boxes in folder.boxes])
    digest = data_hash(np.column_stack([owner, corners]), np.concatenate([boxes.labels for boxes in folder.boxes]))
    digest = data_hash(X, np.full(len(X), digest))
    return Source(name, X, y, names, "boxes", "detection", digest, image_shape=folder.images.shape[1:])


def _pixels(images: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    X = images.reshape(len(images), -1)
    return X, tuple(f"pixel_{i}" for i in range(X.shape[1]))


def _from_table(name: str, table: Table, target: str | None, task: str | None, untargeted: str = "refuse") -> Source:
    rows = len(table)
    if target is None:
        X, y = table, None
    else:
        try:
            if untargeted == "drop":
                table = table.take(~missing_mask(table[target]))
            X, y = (table.drop(target), None) if untargeted == "predict" else table.split_target(target)
        except KeyError as error:
            raise BadRequest(str(error)) from None
    detected_task = task or ("density" if y is None or not len(y) else data.detect_task(y))
    left_out = rows - len(table)
    return Source(name, None, y, X.names, target or "", detected_task, table.hash(), table=X, untargeted=left_out)


def _parsed_options(text: str) -> dict[str, Any]:
    """``n_samples=500,noise=0.2`` as keyword arguments; values are Python literals or plain strings."""
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, sign, value = part.partition("=")
        if not sign or not key.isidentifier():
            raise BadRequest(f"Options of a data set are written name:key=value,key=value; got {part!r}.")
        try:
            options[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[key] = value
    return options
