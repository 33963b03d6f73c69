"""Tables larger than memory: rows of files, frames and Dask partitions, read block by block (:func:`stream`)."""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.data.streams.preparing import fit_preparation
    from margin.data.streams.table_stream import TableStream, stream
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = ["TableStream", "fit_preparation", "stream"]
