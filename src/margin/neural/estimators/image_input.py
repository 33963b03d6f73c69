"""Pictures as rows of a training."""

from __future__ import annotations

from typing import Any

import torch

from margin.data.image_arrays import CHUNK_VALUES
from margin.neural.training import TensorRows

__all__ = ["ImageRows", "image_tags"]


class ImageRows(TensorRows):
    """Pictures and targets; evaluated in chunks that are the smaller the larger the pictures are."""

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
