r"""Sets of predictions against sets of objects: the cheapest one-to-one matching, and DETR's loss on it.

.. math:: \hat\sigma = \arg\min_\sigma \sum_j C_{\sigma(j), j}, \qquad
          C_{ij} = -p_i(c_j) + \lambda_1 \|b_i - b_j\|_1 - \lambda_g\,\mathrm{GIoU}(b_i, b_j)

(Carion et al. 2020). Every object gets a prediction of its own and all others must say "no object", so nothing is said
twice and nothing has to be suppressed.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from margin.detection.boxes import paired_giou, pairwise_giou, to_corners

__all__ = ["GIOU_WEIGHT", "L1_WEIGHT", "NO_OBJECT_WEIGHT", "match_sets", "matching_cost", "set_loss"]

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
    return torch.as_tensor(rows), torch.as_tensor(columns)


def set_loss(logits: Tensor, boxes: Tensor, labels: Tensor, objects: Tensor) -> Tensor:
    """DETR's loss of one image: cross-entropy of all predictions, L1 and GIoU of the matched ones.

    ``logits`` (Q, classes + 1) have "no object" last; ``boxes`` (Q, 4) and ``objects`` (n, 4) have centers and sides.
    """
    n_classes = logits.shape[1] - 1
    wanted = torch.full((len(logits),), n_classes, dtype=torch.int64)
    weight = torch.ones(n_classes + 1, dtype=logits.dtype)
    weight[-1] = NO_OBJECT_WEIGHT
    if not len(objects):
        return functional.cross_entropy(logits, wanted, weight=weight)
    with torch.no_grad():
        rows, columns = match_sets(matching_cost(logits.softmax(dim=1), boxes, labels, objects))
    wanted[rows] = labels[columns]
    mine, theirs = boxes[rows], objects[columns]
    distance = (mine - theirs).abs().sum(dim=1).mean()
    overlap = paired_giou(to_corners(mine), to_corners(theirs)).mean()
    return functional.cross_entropy(logits, wanted, weight=weight) + L1_WEIGHT * distance + GIOU_WEIGHT * (1 - overlap)
