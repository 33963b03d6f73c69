"""Files in, tables out: an immutable table, readers, named sets, generators, splits and the preprocessing of columns.

``read(path)`` gives a :class:`Table`; ``load(name)`` a :class:`Dataset`. Importing this package imports nothing but
NumPy; pandas, PyArrow, Pillow and scikit-learn are imported by the functions that need them.
"""

from margin.data.named import Dataset, load, names
from margin.data.reading import from_arrow, from_pandas, read
from margin.data.table import Table

__all__ = ["Dataset", "Table", "from_arrow", "from_pandas", "load", "names", "read"]
