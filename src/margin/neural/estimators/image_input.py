"""Pictures as rows of a training."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from margin.data.image_arrays import CHUNK_VALUES
from margin.neural.training import TensorRows

__all__ = ["ImageRows", "image_tags"]


class ImageRows(TensorRows):
    """Pictures and targets; evaluated in chunks that are the smaller the larger the pictures are.

    Pictures that may not be written to, such as a memory map of more than memory holds, are shared, not copied: rows
    are only ever gathered from them, and networks write to none of their inputs.
    """

    @staticmethod
    def _tensor(array: np.ndarray) -> torch.Tensor:
        if array.flags.writeable or not array.flags.c_contiguous:
            return TensorRows._tensor(array)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(array)

    def chunks(self, size: int) -> Any:
        values = self.tensors[0][0].numel()
        return super().chunks(min(size, max(1, CHUNK_VALUES // values)))

    def take(self, index: torch.Tensor) -> ImageRows:
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        return ImageRows(tensors, self.weight.index_select(0, index), self.equal)


def image_tags(tags: Any) -> Any:
    """``tags`` of an estimator for which a table is no input: its targets belong to images."""
    tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
    tags.target_tags.required = True
    return tags
