"""Tables larger than memory: rows of files, frames and Dask partitions, read block by block (:func:`stream`)."""

from margin.data.streams.preparing import fit_preparation
from margin.data.streams.table_stream import TableStream, stream

__all__ = ["TableStream", "fit_preparation", "stream"]
