"""Help texts that several commands share."""

from __future__ import annotations

__all__ = ["DATA"]

#: Kinds of inputs that are read as tables.
DATA = (
    "A table: delimited text (CSV, TSV, ...) or JSON (lines), also as .gz, .bz2, .xz or .zip; .xlsx, also"
    " book.xlsx:sheet=NAME; Parquet, a file or a folder; Arrow; for fit, predict and compare also a folder or a pattern"
    " such as 'rows/*.csv' of many files, read block by block; a folder of images, one subfolder per class; - for"
    " stdin; or a named set, e.g. iris or moons:n_samples=500."
)
