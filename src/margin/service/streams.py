"""Many files as one table that is never read whole: which data are streams, and what is known before a fit."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from margin import catalog, data
from margin.core.streaming import RowBlock, Stream
from margin.core.summaries import takes_streams
from margin.data.streams.files import FORMATS
from margin.service.requests import BadRequest

__all__ = [
    "SAMPLED", "AllRows", "count_rows", "is_too_large", "names_stream", "open_stream", "refuse_as_one_table",
    "refuse_unstreamable", "sampled_table", "stem_of",
]  # fmt: skip

#: Rows by which columns are judged, drawn from all.
SAMPLED = 50_000
#: Packages whose models may take streams.
FAMILIES = ("linear", "kernels", "bayes", "trees", "cluster", "mixture", "reduction", "neural")


class AllRows(NamedTuple):
    """A stream, how many rows it has, and whether any feature lacks a value in any of them."""

    stream: Any
    n_rows: int
    lacking: bool


class Counted(NamedTuple):
    """Rows, and those of them in which a feature has no value."""

    n_rows: int
    lacking: int

    def merge(self, other: Counted) -> Counted:
        return Counted(self.n_rows + other.n_rows, self.lacking + other.lacking)


def names_stream(spec: str) -> bool:
    """Whether ``spec`` is a pattern of files, or a folder of Parquet, Arrow or delimited text files."""
    from margin.data.image_folder import SUFFIXES

    if not spec:
        return False  # as a path it would be the folder one is in
    path = Path(spec)
    if glob.has_magic(spec) and not path.exists():
        return spec.partition(":")[0] not in data.names() and "://" not in spec
    if not path.is_dir():
        return False
    names = [file.name.lower().removesuffix(".gz").removesuffix(".bz2") for file in path.rglob("[!._]*")]
    return any(name.endswith(tuple(FORMATS)) for name in names) and not any(
        name.endswith(tuple(SUFFIXES)) for name in names
    )


def stem_of(spec: str) -> str:
    """What a run folder is called after its data: the file, or of a pattern such as rows/*.parquet the folder."""
    path = Path(spec.partition(":")[0])
    plain = next((part for part in (path, *path.parents) if not glob.has_magic(str(part))), path)
    return plain.stem or "rows"


def is_too_large(spec: str) -> bool:
    """Whether ``spec`` names many files that are no one table: a folder of Parquet files is one while it fits."""
    return names_stream(spec) and (not _is_one_table(spec) or _bytes_in_memory(Path(spec)) > memory_bytes())


def refuse_as_one_table(spec: str) -> None:
    """For commands that read a table whole: many files, or more than memory holds, are refused with what to do."""
    if not is_too_large(spec):
        return
    whole = f"margin.stream({spec!r}).sample(100_000).X is a table of rows drawn from all"
    if not _is_one_table(spec):
        raise BadRequest(f"{spec} names many files, and this command reads one table whole; in Python {whole}.")
    raise BadRequest(
        f"{spec} would need about {_bytes_in_memory(Path(spec)) / 1e9:.0f} GB, more than this machine has, and this"
        f" command reads a table whole; in Python {whole}."
    )


def _is_one_table(spec: str) -> bool:
    return not glob.has_magic(spec) and any(Path(spec).rglob("*.parquet"))


def memory_bytes() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else sys.maxsize


def _bytes_in_memory(folder: Path) -> int:
    """What the values of a folder of Parquet files take: eight bytes each at least, and as much again to build them."""
    from pyarrow import ArrowException, parquet

    total = 0
    for path in folder.rglob("*.parquet"):
        try:
            metadata = parquet.read_metadata(path)
        except (ArrowException, OSError):
            continue  # whoever reads the file says what is wrong with it
        total += 2 * 8 * metadata.num_rows * metadata.num_columns
    return total


def open_stream(
    spec: str, target: str | None, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None
) -> Any:
    """The stream of the rows of many files; what is wrong with them is one sentence."""
    from margin.data.streams import stream

    try:
        return stream(spec, target, columns=columns, kinds=kinds)
    except (KeyError, TypeError) as error:
        raise BadRequest(str(error.args[0])) from None


def count_rows(rows: Stream) -> Counted:
    """One pass: how many rows there are, and whether values are missing."""
    return rows.reduce(_count, Counted.merge)


def _count(block: RowBlock) -> Counted:
    return Counted(len(block.X), int(block.X.isna().to_numpy().any(axis=1).sum()))


def sampled_table(rows: Any, n: int | None = None) -> tuple[Any, np.ndarray | None]:
    """Rows drawn from all (all, if they are few) as a table of the columns as the stream reads them, and targets."""
    drawn = rows.sample(SAMPLED if n is None else n)
    kinds = {name: rows.kinds[name] for name in rows.names}
    table = data.from_pandas(drawn.X)
    for name, kind in kinds.items():
        table = table if table.kinds[name] == kind else table.as_kind(name, kind)
    return table, drawn.y


def refuse_unstreamable(entry: catalog.Entry, estimator: Any, spec: str) -> None:
    """A sentence that names the model and those of its task that take a stream."""
    if takes_streams(estimator):
        return
    able = [other.name for other in catalog.ENTRIES if other.task == entry.task and _may_stream(other)]
    which = f"of {entry.task} {_list(able)} do" if able else f"no model of {entry.task} does"
    raise BadRequest(
        f"{entry.name} needs all rows at once and takes no stream, as {spec} is; {which}, and any model takes a sample:"
        f" margin.stream({spec!r}).sample(n) in Python."
    )


def _may_stream(entry: catalog.Entry) -> bool:
    return entry.path.split(".")[1] in FAMILIES and takes_streams(catalog.class_of(entry.name))


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
