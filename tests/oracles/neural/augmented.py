"""Changes of images pixel by pixel, gradients of replicas, and the loss of a network for tables."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.attention import spread
from tests.oracles.neural.convolution import PATH, normal, same
from torch import nn

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.augmentation import Augmentation
from margin.neural.estimators import MLPRegressor
from margin.neural.losses import mse_loss
from margin.neural.moves import move_boxes, move_images
from margin.neural.training.replicas import replica_gradients


@oracle(f"{PATH}.moves.move_boxes", f"{PATH}.moves.move_images")
def pixels_that_moved(seed: int) -> Verdict:
    """A mirrored image moved by whole pixels, 2 to the right and 1 up of 5 x 8, and the box of one object in it."""
    x = normal(seed, 1, 2, 5, 8)
    move = torch.tensor([[[-1.0, 0.0, 2 * 2 / 8], [0.0, 1.0, 2 * 1 / 5]]], dtype=torch.float64)
    expected = torch.empty_like(x)
    for i in range(5):
        for j in range(8):
            expected[0, :, i, j] = x[0, :, min(i + 1, 4), min(7 - j + 2, 7)]
    boxes = torch.tensor([[2.0, 1.0, 5.0, 4.0], [0.0, 0.0, 3.0, 2.0]], dtype=torch.float64)
    found, left = move_boxes(boxes, move[0], 5, 8)
    # What stood at column c now stands at 8 - c + 2, rows are one less; the second box is cut above and to the right.
    return every(
        pixels=same(move_images(x, move), expected),
        boxes=near(found.numpy(), [[5.0, 0.0, 8.0, 3.0], [7.0, 0.0, 8.0, 1.0]], tolerance=1e-9),
        left=near(left.numpy(), [1.0, 1 / 3 / 2], tolerance=1e-9),
    )


@oracle(f"{PATH}.augmentation.Augmentation")
def changes_of_a_batch(seed: int) -> Verdict:
    """Flipped images are their mirror images or themselves; mixtures lie between partners, which labels follow."""
    x = normal(seed, 40, 3, 4, 7)
    draw = lambda names: Augmentation(names)(x, torch.Generator().manual_seed(seed))  # noqa: E731
    flipped, mixed, cut = draw(["flip"]).x, draw(["mixup 0.4"]), draw(["cutout 3"]).x
    mirrored = [bool(torch.equal(a, b.flip(2))) for a, b in zip(flipped, x)]
    same_as_before = [bool(torch.equal(a, b)) for a, b in zip(flipped, x)]
    by_hand = [p * x[i] + (1 - p) * x[j] for i, (p, j) in enumerate(zip(mixed[2].tolist(), mixed[1].tolist()))]
    gone = cut == 0
    tall, wide = gone.any(dim=3).sum(dim=2), gone.any(dim=2).sum(dim=2)
    return every(
        one_or_the_other=equal([a != b for a, b in zip(mirrored, same_as_before)], [True] * 40),
        both_happen=equal(5 < sum(mirrored) < 35, True),
        mixtures=same(mixed.x, torch.stack(by_hand)),
        partners=equal(sorted(mixed[1].tolist()), list(range(40))),
        squares=equal(
            bool((tall <= 3).all() and (wide <= 3).all() and (gone.sum(dim=(2, 3)) == tall * wide).all()), True
        ),
        some_whole=equal(bool(((tall == 3) & (wide == 3)).any()), True),
        rest=equal(bool(torch.equal(cut[~gone], x[~gone])), True),
    )


@oracle(f"{PATH}.training.replicas.replica_gradients")
def gradients_of_unequal_parts(seed: int) -> Verdict:
    """Parts of 2 and 5 rows: what they give adds up to the loss and gradients of all, which are written out."""
    net: Any = spread(lambda: nn.Linear(3, 2), seed).requires_grad_(True)
    x, y = normal(seed, 7, 3), normal(seed + 1, 7, 2)
    parts = [replica_gradients(net, mse_loss, x[rows], y[rows], 7) for rows in (slice(0, 2), slice(2, 7))]
    gap = x.numpy() @ net.weight.detach().numpy().T + net.bias.detach().numpy() - y.numpy()
    weight, bias = (sum(grads[k] for _, grads in parts).numpy() for k in (0, 1))
    return every(
        loss=near(float(sum(value for value, _ in parts)), np.mean(gap**2), tolerance=1e-10),
        weight=near(weight, 2 * gap.T @ x.numpy() / 14, tolerance=1e-10),
        bias=near(bias, 2 * gap.sum(axis=0) / 14, tolerance=1e-10),
    )


@oracle("margin.neural.estimators.MLPRegressor", f"{PATH}.estimators.MLPRegressor.iterate")
def records_of_a_regressor(seed: int) -> Verdict:
    """One batch per epoch: a loss is half the mean square before the step, in units of the variance of y."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(2.0, 3.0, size=(30, 2)), rng.normal(5.0, 4.0, size=30)
    model = MLPRegressor((6,), alpha=0.0, batch_size=30, max_iter=4, random_state=seed)
    found, after = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # four epochs are few
        for record in model.iterate(X, y):
            found.append(record["train_loss"])
            after.append(float(np.mean((y - model.predict(X)) ** 2) / y.var() / 2))
        powers = 2.0 ** np.arange(20)  # their sum tells which of them are in it
        stops = MLPRegressor((3,), early_stopping=True, validation_fraction=0.2, max_iter=1, random_state=seed)
        center = stops.fit(rng.normal(size=(20, 2)), powers).target_center_[0]
    learned = [i for i in range(20) if round(16 * center) >> i & 1]
    return every(
        losses=near(found[1:], after[:-1], tolerance=1e-5),
        falls=equal(found, sorted(found, reverse=True)),
        scaled_by_rows_that_learn=near((len(learned), powers[learned].mean()), (16, center), tolerance=1e-6),
    )
