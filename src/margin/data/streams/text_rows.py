"""A delimited text file, parsed block by block; encoding, delimiter and header are judged by its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margin.data.delimited import delimited_layout
from margin.data.dialect import MISSING
from margin.data.streams.files import packing, suffix_of
from margin.data.streams.sources import named_file, with_constants

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TextRows"]

HEAD_BYTES = 2**20  # of a file, by which it is judged
PARSED_BYTES = 2**22  # that PyArrow parses at a time


@dataclass(frozen=True)
class TextRows:
    """A delimited text file whose columns are ``names``, the first line their header or not."""

    path: Path
    names: tuple[str, ...]
    header: bool
    delimiter: str
    quote: str | None
    encoding: str
    constants: Mapping[str, str] = field(default_factory=dict)
    has_rows: bool = True

    @classmethod
    def of(cls, path: Path, constants: Mapping[str, str]) -> TextRows:
        """The file as its first lines show it."""
        import pyarrow as pa

        with named_file(path, "text"), pa.input_stream(str(path), compression=packing(path)) as file:
            head = file.read(HEAD_BYTES + 1)
        cut = head[:HEAD_BYTES].rfind(b"\n") + 1 if len(head) > HEAD_BYTES else len(head)
        try:
            layout = delimited_layout(head[: cut or len(head)], suffix_of(path))
        except ValueError as problem:
            raise ValueError(f"{path}: {str(problem).rstrip('.')}.") from None
        dialect = layout.dialect
        if dialect.skip_space or layout.encoding.startswith("utf-16") or layout.rewritten:
            raise ValueError(
                f"{path}: text that is padded with spaces, has lines above its header or is UTF-16 is not read block "
                "by block; margin.data.read reads it whole."
            )
        return cls(
            path,
            tuple(layout.names),
            layout.header,
            dialect.delimiter,
            dialect.quote,
            layout.encoding,
            constants,
            has_rows=not layout.header or b"\n" in head,
        )

    @property
    def name(self) -> str:
        return str(self.path)

    def tables(self, columns: Sequence[str] | None, types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        import pyarrow as pa
        from pyarrow import csv

        if not self.has_rows:  # PyArrow cannot skip a line that does not end
            return
        wanted = [name for name in (columns or self.names) if name not in self.constants]
        quote = self.quote or False
        with named_file(self.path, "text"), pa.input_stream(str(self.path), compression=packing(self.path)) as file:
            reader = csv.open_csv(
                file,
                csv.ReadOptions(
                    use_threads=False,
                    block_size=PARSED_BYTES,
                    column_names=list(self.names),
                    skip_rows=int(self.header),
                    encoding=self.encoding,
                ),
                csv.ParseOptions(
                    delimiter=self.delimiter, quote_char=quote, newlines_in_values=bool(quote), ignore_empty_lines=True
                ),
                csv.ConvertOptions(
                    column_types={name: types.get(name, pa.string()) for name in wanted},
                    include_columns=wanted,
                    null_values=MISSING,
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                yield with_constants(pa.Table.from_batches([batch]), self.constants)
