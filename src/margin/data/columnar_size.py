"""What a Parquet or Arrow file becomes in memory, found out before it does.

Both repeat a value at next to no cost: eight kilobytes of Parquet can hold a million copies of one long text. Numbers
are counted by the file's own description. Texts of Parquet may be as long as the longest in the dictionary of their
part; where that would be too much they are measured, by reading their codes and not the texts. A batch of Arrow is
counted by the lengths that stand before its packed buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from margin.data.arrow_lengths import unpacked_lengths
from margin.data.unpacking import Allowance

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, FileMetaData

__all__ = ["check_arrow", "check_parquet"]

#: Bytes of a value by Parquet's physical type; of a text its offset.
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8, "BYTE_ARRAY": 8}
#: Texts in these encodings stand in the file one by one.
IN_FULL = {"PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BINARY_PACKED"}
#: Texts that are written as what is new in them are decoded by so many.
FEW_ROWS = 64


def check_parquet(source: Any, allowance: Allowance) -> None:
    """Spend what the Parquet file ``source`` (a path or a buffer) becomes; more than is allowed is an error."""
    from pyarrow import parquet

    metadata = parquet.ParquetFile(source).metadata
    most = 0
    for _, c, chunk in _chunks(metadata):
        width = WIDTHS.get(chunk.physical_type) or metadata.schema.column(c).length
        allowance.spend(chunk.num_values * width)
        most += _longest(chunk)
    if most > allowance.left:
        for part in _text_bytes(source, metadata):
            allowance.spend(part)


def check_arrow(source: Any, allowance: Allowance) -> None:
    """Spend what the Arrow file ``source`` (a path or a buffer) becomes; more than is allowed is an error."""
    import pyarrow as pa

    with nullcontext(source) if isinstance(source, pa.Buffer) else pa.memory_map(str(source)) as file:
        for length in unpacked_lengths(file if isinstance(file, pa.Buffer) else file.read_buffer()):
            allowance.spend(length)


def _chunks(metadata: FileMetaData) -> Iterator[tuple[int, int, ColumnChunkMetaData]]:
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        for c in range(group.num_columns):
            yield g, c, group.column(c)


def _longest(chunk: ColumnChunkMetaData) -> int:
    """The most that the texts of a chunk can come to: each as long as all that is written."""
    if chunk.physical_type != "BYTE_ARRAY":
        return 0
    size = int(chunk.total_uncompressed_size)
    return size if IN_FULL.issuperset(chunk.encodings) else size * int(chunk.num_values)


def _text_bytes(source: Any, metadata: FileMetaData) -> Iterator[int]:
    """Bytes of the texts, chunk by chunk."""
    from pyarrow import parquet

    paths = sorted({chunk.path_in_schema for *_, chunk in _chunks(metadata) if chunk.physical_type == "BYTE_ARRAY"})
    file, as_codes = parquet.ParquetFile(source), parquet.ParquetFile(source, read_dictionary=paths)
    for g, _, chunk in _chunks(metadata):
        if chunk.physical_type != "BYTE_ARRAY":
            continue
        wanted: dict[str, Any] = {"columns": [chunk.path_in_schema]}
        if IN_FULL.issuperset(chunk.encodings):
            yield int(chunk.total_uncompressed_size)
        elif "DELTA_BYTE_ARRAY" in chunk.encodings:
            yield from (b.nbytes for b in file.iter_batches(FEW_ROWS, row_groups=[g], **wanted))
        else:
            for column in as_codes.read_row_group(g, **wanted).columns:
                yield from map(_decoded_bytes, column.chunks)


def _decoded_bytes(array: Any) -> int:
    """Bytes of the texts that codes stand for, in lists and structs too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        return pc.sum(pc.cast(pc.binary_length(array.dictionary), pa.int64()).take(array.indices)).as_py() or 0
    if pa.types.is_struct(array.type):
        return sum(_decoded_bytes(part) for part in array.flatten())
    if pa.types.is_map(array.type):
        return _decoded_bytes(array.keys) + _decoded_bytes(array.items)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _decoded_bytes(array.flatten())
    return int(array.nbytes)
