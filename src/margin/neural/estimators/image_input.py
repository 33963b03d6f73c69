"""Pictures as rows of a training."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from margin.core.row_files import is_mapped
from margin.data.image_arrays import CHUNK_VALUES
from margin.neural.training.batches import Batch
from margin.neural.training.rows import ChosenRows, Rows, TensorRows

__all__ = ["ImageRows", "image_tags"]


@dataclass(frozen=True)
class ImageRows(TensorRows):
    """Pictures and targets; evaluated in chunks that are the smaller the larger the pictures are.

    Pictures that may not be written to, or that lie in a file (``mapped``), are shared, not copied: rows are only ever
    gathered from them, and networks write to none of their inputs.
    """

    mapped: bool = False

    @classmethod
    def of(cls, *arrays: np.ndarray, weight: np.ndarray | None = None) -> ImageRows:
        rows = super().of(*arrays, weight=weight)
        return cls(rows.tensors, rows.weight, rows.equal, is_mapped(arrays[0]))

    @staticmethod
    def _tensor(array: np.ndarray) -> torch.Tensor:
        if not is_mapped(array) and (array.flags.writeable or not array.flags.c_contiguous):
            return TensorRows._tensor(array)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(np.asarray(array))

    def chunk_rows(self, size: int) -> int:
        return min(size, max(1, CHUNK_VALUES // self.tensors[0][0].numel()))

    def batch(self, index: torch.Tensor | slice) -> Batch:
        batch = super().batch(index)
        if not self.mapped:
            return batch
        # Channels may come last in the file; kernels choose by that, and their bits differ.
        return batch._replace(tensors=(batch.tensors[0].contiguous(), *batch.tensors[1:]))

    def take(self, index: torch.Tensor) -> Rows:
        if self.mapped:
            return ChosenRows(self, index)
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        return ImageRows(tensors, self.weight.index_select(0, index), self.equal)


def image_tags(tags: Any) -> Any:
    """``tags`` of an estimator for which a table is no input: its targets belong to images."""
    tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
    tags.target_tags.required = True
    return tags
