"""How losses reduce, and along which axis classes stand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from margin.core.verdict import Verdict, corrected, equal, every, near, raises
from margin.neural import losses
from margin.notes.claims import claim

Case = tuple[Callable[..., Tensor], Callable[..., Tensor], tuple[Tensor, Tensor]]


def cases(seed: int) -> dict[str, Case]:
    """Our loss, torch's, and arguments that both take."""
    rng = np.random.default_rng(seed)
    shape = (2, 1, 4, 4)
    a, b = (torch.from_numpy(rng.normal(size=shape)) for _ in range(2))
    p, q = torch.sigmoid(a), torch.from_numpy(rng.integers(0, 2, shape)).double()
    logits, labels = torch.from_numpy(rng.normal(size=(6, 3))), torch.from_numpy(rng.integers(0, 3, 6))
    law = torch.softmax(torch.from_numpy(rng.normal(size=(6, 3))), dim=1)
    log_p = torch.log_softmax(logits, dim=1)
    return {
        "squared": (losses.mse_loss, functional.mse_loss, (a, b)),
        "absolute": (losses.l1_loss, functional.l1_loss, (a, b)),
        "binary": (losses.bce_loss, functional.binary_cross_entropy, (p, q)),
        "binary_logits": (losses.bce_with_logits, functional.binary_cross_entropy_with_logits, (a, q)),
        "log_likelihood": (losses.nll_loss, functional.nll_loss, (log_p, labels)),
        "cross_entropy": (losses.cross_entropy, functional.cross_entropy, (logits, labels)),
        "divergence": (losses.kl_div_loss, functional.kl_div, (log_p, law)),
        "triplet": (_triplet, _torch_triplet, (logits, log_p)),
    }


def _triplet(a: Tensor, b: Tensor, reduction: str = "mean") -> Tensor:
    return losses.triplet_loss(a, b, a.flip(0), reduction=reduction)


def _torch_triplet(a: Tensor, b: Tensor, reduction: str = "mean") -> Tensor:
    return functional.triplet_margin_with_distance_loss(
        a, b, a.flip(0), distance_function=lambda u, v: (u - v).square().sum(dim=1), reduction=reduction
    )


@claim("loss-reduction-modes")
def losses_reduce_as_none_mean_or_sum(seed: int) -> Verdict:
    parts: dict[str, Verdict] = {}
    for name, (ours, theirs, arguments) in cases(seed).items():
        none, mean, total = (ours(*arguments, reduction=how) for how in ("none", "mean", "sum"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch means to change what its mean divergence divides by
            expected = [theirs(*arguments, reduction=how) for how in ("none", "mean", "sum")]
        for how, reduced, of_torch in zip(("none", "mean", "sum"), (none, mean, total), expected):
            parts[f"{name}_{how}"] = near(reduced.numpy(), of_torch.numpy(), tolerance=1e-12)
        parts[f"{name}_counts"] = near(float(mean) * none.numel(), float(total), tolerance=1e-9)
        parts[f"{name}_default"] = near(float(ours(*arguments)), float(mean), tolerance=0.0)
    a, b = cases(seed)["squared"][2]
    unreduced = losses.mse_loss(a, b, reduction="none")
    truth = every(
        **parts,
        full_shape=equal(tuple(unreduced.shape), (2, 1, 4, 4)),
        unknown=raises(ValueError, lambda: losses.mse_loss(a, b, reduction="median"), match="'none', 'sum' or 'mean'"),
        hinge=near(float(losses.hinge_loss(a, b.sign())), float((1 - b.sign() * a).relu().mean()), tolerance=1e-12),
    )
    per_item = unreduced.flatten(1).sum(dim=1)
    return corrected(
        truth,
        one_loss_per_item_of_the_batch=equal(tuple(unreduced.shape), (2,)),
        mean_over_the_batch_only=near(float(losses.mse_loss(a, b)), float(per_item.mean()), tolerance=1e-6),
    )


@claim("claim-class-dimension-second")
def classes_stand_along_the_second_axis_of_a_batch(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(2, 5, 3, 4)))
    y = torch.from_numpy(rng.integers(0, 5, (2, 3, 4)))
    loss = losses.cross_entropy(x, y)
    flat = losses.cross_entropy(x.permute(0, 2, 3, 1).reshape(-1, 5), y.reshape(-1))
    single = losses.cross_entropy(x[0, :, 0, 0], y[0, 0, 0])
    truth = every(
        flattened=near(float(loss), float(flat), tolerance=1e-12),
        torch=near(float(loss), float(functional.cross_entropy(x, y)), tolerance=1e-12),
        classes_last_is_refused=raises(ValueError, lambda: losses.cross_entropy(x.movedim(1, -1), y)),
        classes_first_is_refused=raises(ValueError, lambda: losses.cross_entropy(x.movedim(1, 0), y)),
        unbatched=near(float(single), float(losses.cross_entropy(x[:1, :, 0, 0], y[:1, 0, 0])), tolerance=1e-12),
    )
    return corrected(truth, second_also_without_a_batch=equal(_has_second_axis(x[0, :, 0, 0]), True))


def _has_second_axis(x: Any) -> bool:
    try:
        x.log_softmax(dim=1)
    except IndexError:
        return False
    return True
