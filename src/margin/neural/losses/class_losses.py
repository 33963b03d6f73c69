r"""Losses of classes as objects: what classifiers can minimize.

====================  =============================================================================
``"cross_entropy"``   :class:`CrossEntropy`, the negative log-probability of a row's class
``"hinge"``           :class:`MarginLoss`, 0 once the class leads by the margin
====================  =============================================================================
"""

from __future__ import annotations

from torch import Tensor

from margin.core.domains import Number
from margin.core.parameters import parameter
from margin.neural.losses.fused import fused_bce_with_logits, fused_cross_entropy
from margin.neural.losses.margins import hinge_loss, multiclass_hinge_loss
from margin.neural.losses.network_loss import ClassLoss

__all__ = ["CLASS_LOSSES", "CrossEntropy", "MarginLoss"]


class CrossEntropy(ClassLoss):
    """Negative log-probability of each row's class; of several labels, the sum of their own.

    Of several labels each is smoothed between yes and no.

    >>> import torch
    >>> CrossEntropy()(torch.zeros(1, 4), torch.tensor([2]))
    tensor([1.3863])
    """

    label_smoothing: float = parameter(
        0.0,
        Number(low=0, below=1),
        "Fraction of a row's target that is spread evenly over all classes; held-out rows keep theirs.",
    )

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        smoothing = self.label_smoothing if training else 0.0
        return fused_cross_entropy(outputs, target, reduction="none", label_smoothing=smoothing)

    def of_labels(self, scores: Tensor, labels: Tensor, training: bool = True) -> Tensor:
        if self.label_smoothing and training:
            labels = (1 - self.label_smoothing) * labels + self.label_smoothing / 2
        return fused_bce_with_logits(scores, labels, reduction="none").sum(dim=1)


class MarginLoss(ClassLoss):
    """The hinge of how far a class leads the best of the others; of several labels, that of each on its own.

    Scores are then no log-probabilities: only their order is learned.

    >>> import torch
    >>> MarginLoss()(torch.tensor([[3.0, 1.0, 2.5]]), torch.tensor([0]))
    tensor([0.5000])
    """

    margin: float = parameter(1.0, Number(above=0), "Lead from which on a row costs nothing.")

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        return multiclass_hinge_loss(outputs, target, self.margin, reduction="none")

    def of_labels(self, scores: Tensor, labels: Tensor, training: bool = True) -> Tensor:
        # The hinge of a margin m is m times that of margin 1 at scores divided by m.
        return self.margin * hinge_loss(scores / self.margin, 2 * labels - 1, reduction="none").sum(dim=1)


#: Names of losses of classes; a new one is a class above or in a file of its own, and a line here.
CLASS_LOSSES: dict[str, type[ClassLoss]] = {"cross_entropy": CrossEntropy, "hinge": MarginLoss}
