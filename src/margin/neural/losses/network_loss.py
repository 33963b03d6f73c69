r"""What a network minimizes, as objects: ``loss="huber"`` or ``loss=Huber(delta=2.0)``.

A loss gives one number per row from outputs (..., columns) and targets; means over rows, weights and gradients are the
training's. The equations are the functions of this package.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from torch import Tensor

from margin.core.parts import Part

__all__ = ["ClassLoss", "NetworkLoss", "TargetLoss", "locations"]


class NetworkLoss(Part):
    """One number per row."""

    @abstractmethod
    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        """Losses of the rows; ``training`` is False for rows that are held out."""


class TargetLoss(NetworkLoss):
    """A loss of real targets (..., targets), of the outputs of a network for them."""

    outputs_per_target: ClassVar[int] = 1
    of_counts: ClassVar[bool] = False  # targets are not negative, stay as they are, and outputs are log-means

    def prediction(self, outputs: Tensor) -> Tensor:
        """The predicted targets, (..., targets): what the loss calls the most probable."""
        return outputs


class ClassLoss(NetworkLoss):
    """A loss of classes, from their scores (n, classes) and codes (n,)."""

    @abstractmethod
    def of_labels(self, scores: Tensor, labels: Tensor, training: bool = True) -> Tensor:
        """Losses of rows with several labels: scores and labels (n, labels), 0 or 1."""

    def of_targets(self, scores: Tensor, target: Tensor, training: bool = True) -> Tensor:
        """Losses of rows with one class, codes (n,), or with several labels, (n, labels)."""
        return (self.of_labels if target.ndim == 2 else self)(scores, target, training)


def locations(outputs: Any, n_targets: int) -> Any:
    """The first of the outputs of each target, from outputs (n, k targets): where a predicted distribution lies.

    >>> import numpy as np
    >>> locations(np.arange(8).reshape(2, 4), 2).tolist()
    [[0, 2], [4, 6]]
    """
    per_target = outputs.shape[-1] // n_targets
    return outputs if per_target == 1 else outputs[..., ::per_target]
