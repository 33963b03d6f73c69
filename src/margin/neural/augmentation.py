r"""Random changes of a batch of images that keep their class, each one tensor operation over the whole batch.

| name | what it does to each image |
|---|---|
| ``flip`` | mirrors it left to right, half of the time |
| ``shift 2`` | moves it by up to 2 pixels in both directions; edge pixels continue |
| ``crop 4`` | takes a window up to 4 pixels smaller at a random position and enlarges it to the old size |
| ``cutout 4`` | replaces a square of 4 x 4 pixels by 0, the mean of standardized images |
| ``mixup 0.2`` | :math:`\lambda x_i + (1-\lambda)x_j`, :math:`\lambda\sim\mathrm{Beta}(0.2, 0.2)`; losses mix alike |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["AUGMENTATIONS", "Augmentation", "crop", "cutout", "flip", "mixup", "parse_augmentation", "shift_images"]


def flip(x: Tensor, generator: torch.Generator) -> Tensor:
    """Each image mirrored left to right with probability 1/2."""
    chosen = torch.rand(len(x), 1, 1, 1, generator=generator) < 0.5
    return torch.where(chosen, x.flip(3), x)


def shift_images(x: Tensor, distance: int, generator: torch.Generator) -> Tensor:
    """Each image moved by up to ``distance`` pixels, its edge continued."""
    n, _, h, w = x.shape
    moves = torch.randint(-distance, distance + 1, (2, n, 1), generator=generator)
    rows = (torch.arange(h) + moves[0]).clamp_(0, h - 1)
    columns = (torch.arange(w) + moves[1]).clamp_(0, w - 1)
    images = torch.arange(n)[:, None, None]
    moved = x.permute(0, 2, 3, 1)[images, rows[:, :, None], columns[:, None, :]]  # (N, H, W, C)
    return moved.permute(0, 3, 1, 2)


def crop(x: Tensor, amount: int, generator: torch.Generator) -> Tensor:
    """A window up to ``amount`` pixels smaller, at a random position, enlarged to the old size."""
    n, _, h, w = x.shape
    part = 1 - torch.rand(n, 1, generator=generator) * torch.tensor([min(amount, w - 1) / w, min(amount, h - 1) / h])
    middle = (2 * torch.rand(n, 2, generator=generator) - 1) * (1 - part)  # of the window, in units of half the image
    transform = torch.zeros(n, 2, 3)
    transform[:, 0, 0], transform[:, 1, 1], transform[:, :, 2] = part[:, 0], part[:, 1], middle
    grid = functional.affine_grid(transform.to(x.dtype), list(x.shape), align_corners=False)
    return functional.grid_sample(x, grid, padding_mode="border", align_corners=False)


def cutout(x: Tensor, side: int, generator: torch.Generator) -> Tensor:
    """A square of each image, centered anywhere in it, set to 0."""
    n, _, h, w = x.shape
    top = torch.randint(0, h, (n, 1), generator=generator) - side // 2
    left = torch.randint(0, w, (n, 1), generator=generator) - side // 2
    rows, columns = torch.arange(h) - top, torch.arange(w) - left
    inside = ((rows >= 0) & (rows < side))[:, :, None] & ((columns >= 0) & (columns < side))[:, None, :]
    return x.masked_fill(inside[:, None], 0.0)


def mixup(x: Tensor, strength: float, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Each image mixed with a partner: the mixture, the numbers of the partners, and the part of the image itself."""
    gammas = torch._standard_gamma(torch.full((2, len(x)), strength, dtype=torch.float64), generator)
    part = (gammas[0] / gammas.sum(dim=0)).nan_to_num(0.5).to(x.dtype)
    partner = torch.randperm(len(x), generator=generator)
    weight = part.view(-1, 1, 1, 1)
    return weight * x + (1 - weight) * x[partner], partner, part


# What each takes: None, or the least number.
AUGMENTATIONS: dict[str, float | None] = {"flip": None, "shift": 1, "crop": 1, "cutout": 1, "mixup": 0}
_FUNCTIONS: dict[str, Callable[[Tensor, int, torch.Generator], Tensor]] = {
    "flip": lambda x, _, generator: flip(x, generator),
    "shift": shift_images,
    "crop": crop,
    "cutout": cutout,
}


def parse_augmentation(text: str) -> tuple[str, float]:
    """Name and number of one augmentation.

    >>> parse_augmentation("shift 2"), parse_augmentation("flip")
    (('shift', 2.0), ('flip', 0.0))
    """
    name, *numbers = text.split() or [""]
    if name not in AUGMENTATIONS:
        raise ValueError(f"one of {', '.join(AUGMENTATIONS)}; got {text!r}")
    low = AUGMENTATIONS[name]
    if low is None:
        if numbers:
            raise ValueError(f"{name!r} without a number; got {text!r}")
        return name, 0.0
    try:
        (value,) = (float(number) for number in numbers)
    except ValueError:
        value = float("nan")
    allowed = value > 0 if name == "mixup" else value >= low and value == int(value)
    if not allowed:
        kind = "a number above 0" if name == "mixup" else "an integer of at least 1"
        raise ValueError(f"{name!r} with {kind}, as in '{name} {'0.2' if name == 'mixup' else 2}'; got {text!r}")
    return name, value


class Augmented(NamedTuple):
    """A changed batch; with mixup the partner of every image and the part of the image itself."""

    x: Tensor
    partner: Tensor | None = None
    part: Tensor | None = None


class Augmentation:
    """Augmentations in the order in which they are named; mixup comes last, whatever its place.

    >>> change = Augmentation(["flip", "shift 2"])
    >>> change(torch.zeros(4, 3, 8, 8), torch.Generator().manual_seed(0)).x.shape
    torch.Size([4, 3, 8, 8])
    """

    def __init__(self, names: Sequence[str]):
        chosen = [parse_augmentation(name) for name in names]
        self.steps = [(_FUNCTIONS[name], int(value)) for name, value in chosen if name != "mixup"]
        self.mixups = [value for name, value in chosen if name == "mixup"]

    def __call__(self, x: Tensor, generator: torch.Generator) -> Augmented:
        for step, value in self.steps:
            x = step(x, value, generator)
        if not self.mixups:
            return Augmented(x)
        return Augmented(*mixup(x, self.mixups[-1], generator))
