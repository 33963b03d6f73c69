"""Files in, tables out: an immutable table, readers, named sets, generators, splits and the preprocessing of columns.

``read(path)`` gives a :class:`Table`; ``load(name)`` a :class:`Dataset`. Importing this package imports nothing but
NumPy; pandas, PyArrow, Pillow and scikit-learn are imported by the functions that need them.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names
from margin.data.profile import ColumnProfile, Profile, profile

if TYPE_CHECKING:
    from margin.data.folds import group_folds, random_folds, stratified_fold_numbers, stratified_folds, time_folds
    from margin.data.images import read_image, read_image_folder
    from margin.data.named import Dataset, load, names
    from margin.data.preprocessing import frame, preprocessor
    from margin.data.reading import from_arrow, from_pandas, read
    from margin.data.splits import (
        group_split,
        hold_out,
        quantile_bins,
        random_split,
        stratified_split,
        three_way_split,
        time_split,
    )
    from margin.data.table import Table
    from margin.data.tasks import detect_task
    from margin.data.texts import read_lines, read_text
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "ColumnProfile",
    "Dataset",
    "Profile",
    "Table",
    "detect_task",
    "frame",
    "from_arrow",
    "from_pandas",
    "group_folds",
    "group_split",
    "hold_out",
    "load",
    "names",
    "preprocessor",
    "profile",
    "quantile_bins",
    "random_folds",
    "random_split",
    "read",
    "read_image",
    "read_image_folder",
    "read_lines",
    "read_text",
    "stratified_fold_numbers",
    "stratified_folds",
    "stratified_split",
    "three_way_split",
    "time_folds",
    "time_split",
]
