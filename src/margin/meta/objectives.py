"""What one episode costs: the loss and the accuracy on its queries, method by method."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from margin.meta.inner_loop import adapted_loss, reptile_gradients
from margin.meta.similarity import matching_log_probabilities, pair_logits, prototype_scores
from margin.neural.losses.fused import fused_bce_with_logits, fused_cross_entropy, fused_nll_loss

__all__ = ["EMBEDDING", "METHODS", "episode_loss"]

EMBEDDING = ("prototypical", "matching", "siamese")
METHODS = (*EMBEDDING, "maml", "fomaml", "reptile")
REPTILE_STEPS = 3  # one step would be plain training on all tasks


def episode_loss(
    method: str, module: nn.Module, support: Tensor, labels: Tensor, query: Tensor, wanted: Tensor,
    *, rate: float = 0.1, steps: int = 1,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Loss to be lowered and accuracy of one episode whose labels are 0..k-1."""
    k = int(labels.max()) + 1
    if method in ("maml", "fomaml"):
        with torch.enable_grad():  # the inner loop descends, whether or not the outer one does
            loss, outputs = adapted_loss(
                module, fused_cross_entropy, (support, labels), (query, wanted),
                rate=rate, steps=steps, second_order=method == "maml",
            )  # fmt: skip
    elif method == "reptile":
        query, wanted = torch.cat([support, query]), torch.cat([labels, wanted])
        loss, outputs = _reptile(module, query, wanted, rate, max(REPTILE_STEPS, steps))
    else:
        # In one batch: what batch norm takes away from a few support rows alone is not what it takes from the queries.
        near, far = module(torch.cat([support, query])).split([len(support), len(query)])
        if method == "siamese":
            loss, outputs = _same_or_different(near, labels, far, wanted, k), prototype_scores(near, labels, far, k)
        elif method == "matching":
            outputs = matching_log_probabilities(near, labels, far, k)
            loss = fused_nll_loss(outputs, wanted)
        else:
            outputs = prototype_scores(near, labels, far, k)
            loss = fused_cross_entropy(outputs, wanted)
    return loss, (outputs.detach().argmax(dim=1) == wanted).to(outputs.dtype).mean()


def _same_or_different(near: Tensor, labels: Tensor, far: Tensor, query_labels: Tensor, k: int) -> Tensor:
    same = (query_labels[:, None] == labels).to(far.dtype)
    pairs = pair_logits(far.repeat_interleave(len(near), dim=0), near.repeat(len(far), 1))
    weight = torch.where(same > 0, float(k - 1), 1.0).flatten()  # as many of one class as of two, in weight
    return fused_bce_with_logits(pairs, same.flatten(), weight)


def _reptile(module: nn.Module, x: Tensor, y: Tensor, rate: float, steps: int) -> tuple[Tensor, Tensor]:
    """The task's loss, with the way of the inner loop in place of its gradient."""
    with torch.enable_grad():
        way = reptile_gradients(module, fused_cross_entropy, x, y, rate=rate, steps=steps)
    with torch.no_grad():
        outputs = module(x)
    along = torch.stack([(w * way[name]).sum() for name, w in module.named_parameters()]).sum()
    return fused_cross_entropy(outputs, y) + along - along.detach(), outputs
