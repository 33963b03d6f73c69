r"""Sets of predictions against sets of objects: the cheapest one-to-one matching, and DETR's loss on it.

.. math:: \hat\sigma = \arg\min_\sigma \sum_j C_{\sigma(j), j}, \qquad
          C_{ij} = -p_i(c_j) + \lambda_1 \|b_i - b_j\|_1 - \lambda_g\,\mathrm{GIoU}(b_i, b_j)

(Carion et al. 2020). Every object gets a prediction of its own and all others must say "no object", so nothing is said
twice and nothing has to be suppressed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from margin.neural.activations.fused import fused_softmax
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.losses.regression import l1_loss
from margin.vision.detection.boxes import paired_giou, pairwise_giou, to_corners

__all__ = ["GIOU_WEIGHT", "L1_WEIGHT", "NO_OBJECT_WEIGHT", "batch_set_loss", "match_sets", "matching_cost", "set_loss"]

L1_WEIGHT, GIOU_WEIGHT = 5.0, 2.0  # the paper's
NO_OBJECT_WEIGHT = 0.1  # most predictions have no object; without this they would drown the others


def matching_cost(probabilities: Tensor, boxes: Tensor, labels: Tensor, objects: Tensor) -> Tensor:
    """Cost (predictions, objects); boxes are (x, y, width, height) with the center, as fractions of the image."""
    distance = torch.cdist(boxes, objects, p=1)
    return (
        -probabilities[:, labels]
        + L1_WEIGHT * distance
        - GIOU_WEIGHT * pairwise_giou(to_corners(boxes), to_corners(objects))
    )


def match_sets(cost: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of the cheapest one-to-one matching (the Hungarian algorithm, by SciPy).

    >>> rows, columns = match_sets(torch.tensor([[4.0, 1.0], [2.0, 0.5], [3.0, 2.0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(cost.detach().cpu().numpy())
    return torch.as_tensor(rows, device=cost.device), torch.as_tensor(columns, device=cost.device)


def set_loss(logits: Tensor, boxes: Tensor, labels: Tensor, objects: Tensor) -> Tensor:
    """DETR's loss of one image: cross-entropy of all predictions, L1 and GIoU of the matched ones.

    ``logits`` (Q, classes + 1) have "no object" last; ``boxes`` (Q, 4) and ``objects`` (n, 4) have centers and sides.
    """
    return batch_set_loss(logits[None], boxes[None], [labels], [objects])


def batch_set_loss(logits: Tensor, boxes: Tensor, labels: Sequence[Tensor], objects: Sequence[Tensor]) -> Tensor:
    """The same over a batch, (N, Q, classes + 1) and (N, Q, 4): means over all predictions and over all objects."""
    n_classes = logits.shape[2] - 1
    target_classes = torch.full(logits.shape[:2], n_classes, dtype=torch.int64, device=logits.device)
    weight = torch.ones(n_classes + 1, dtype=logits.dtype, device=logits.device)
    weight[-1] = NO_OBJECT_WEIGHT
    matched: list[tuple[Tensor, Tensor]] = []
    with torch.no_grad():
        p = fused_softmax(logits, dim=2)
        for k in range(len(logits)):
            rows, columns = match_sets(matching_cost(p[k], boxes[k], labels[k], objects[k]))
            target_classes[k, rows] = labels[k][columns]
            matched.append((k * logits.shape[1] + rows, objects[k][columns]))
    entropy = fused_cross_entropy(logits.flatten(0, 1), target_classes.flatten(), weight=weight)
    rows, theirs = (torch.cat(part) for part in zip(*matched))
    if not len(rows):
        return entropy
    mine = boxes.flatten(0, 1)[rows]
    distance = l1_loss(mine, theirs, reduction="none").sum(dim=1).mean()
    overlap = paired_giou(to_corners(mine), to_corners(theirs)).mean()
    return entropy + L1_WEIGHT * distance + GIOU_WEIGHT * (1 - overlap)
