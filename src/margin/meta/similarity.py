r"""Classes from a support set by similarity of embeddings.

Prototypical: :math:`p(c \mid x) \propto e^{-\|z - \bar z_c\|^2}` with :math:`\bar z_c` the mean of the class's support.
Matching: :math:`p(c \mid x) = \sum_{i: y_i = c} \mathrm{softmax}_i \cos(z, z_i)`.
Siamese: two rows are of one class with probability :math:`\sigma(b - a \|z - z'\|^2)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from margin.neural.activations.fused import fused_softmax

__all__ = [
    "matching_log_probabilities",
    "nearest_support",
    "one_shot_classify",
    "pair_logits",
    "prototype_scores",
    "prototypes",
]


def prototypes(embedding: Tensor, labels: Tensor, k: int) -> Tensor:
    """Mean embedding of each class 0..k-1, (k, d)."""
    total = embedding.new_zeros((k, embedding.shape[1])).index_add(0, labels, embedding)
    return total / torch.bincount(labels, minlength=k).to(embedding.dtype)[:, None]


def prototype_scores(support: Tensor, labels: Tensor, query: Tensor, k: int) -> Tensor:
    """Minus the squared distances of queries to prototypes, (queries, k): logits of the prototypical network.

    >>> support = torch.tensor([[0.0], [2.0], [10.0]])
    >>> prototype_scores(support, torch.tensor([0, 0, 1]), torch.tensor([[1.0]]), 2).tolist()
    [[-0.0, -81.0]]
    """
    centers = prototypes(support, labels, k)
    return -(query[:, None] - centers).square().sum(dim=2)


def matching_log_probabilities(support: Tensor, labels: Tensor, query: Tensor, k: int, scale: float = 10.0) -> Tensor:
    """Log-probabilities of the classes by attention over the support, cosines being multiplied by ``scale``."""
    cosine = functional.normalize(query, dim=1) @ functional.normalize(support, dim=1).T
    attention = fused_softmax(scale * cosine, dim=1)  # (queries, support)
    return torch.log(attention @ functional.one_hot(labels, k).to(attention.dtype) + 1e-12)


def pair_logits(a: Tensor, b: Tensor, scale: Tensor | float = 1.0, offset: Tensor | float = 1.0) -> Tensor:
    """Logits of 'the same class' for pairs of rows, falling with their squared distance."""
    return offset - scale * (a - b).square().sum(dim=1)


def nearest_support(support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
    """The label of the nearest support row: one-shot classification where there is one per class."""
    return labels[torch.cdist(query, support).argmin(dim=1)]


def one_shot_classify(embed: Callable[[Any], np.ndarray], support: Any, support_labels: Any, query: Any) -> np.ndarray:
    """The label of every query from one labeled row per class: that of the nearest embedding.

    >>> one_shot_classify(np.asarray, [[0.0], [4.0]], ["low", "high"], [[1.0], [3.0]]).tolist()
    ['low', 'high']
    """
    labels = np.asarray(support_labels)
    if len(np.unique(labels)) != len(labels) or len(labels) < 2 or len(labels) != len(support):
        raise ValueError(
            f"one_shot_classify: support must have one row per class and 2 classes or more; got {len(support)} rows "
            f"with {len(np.unique(labels))} different labels."
        )
    near, far = (torch.from_numpy(np.asarray(embed(rows))) for rows in (support, query))
    return labels[nearest_support(near, torch.arange(len(labels)), far).numpy(force=True)]
