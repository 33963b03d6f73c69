"""Help texts that several commands share."""

from __future__ import annotations

__all__ = ["DATA"]

#: Kinds of inputs that are read as tables.
DATA = (
    "A table: delimited text (CSV, TSV, ...) or JSON (lines), also as .gz, .bz2, .xz or .zip; .xlsx; Parquet, a file or"
    " a folder; Arrow; a folder of images, one subfolder per class; - for stdin; or a named set, e.g. iris or"
    " moons:n_samples=500."
)
