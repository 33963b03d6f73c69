r"""Random changes of a batch of images that keep their class, each one tensor operation over the whole batch.

| name | what it does to each image |
|---|---|
| ``flip`` | mirrors it left to right, half of the time |
| ``flip-vertical`` | mirrors it top to bottom, half of the time |
| ``shift 2`` | moves it by up to 2 pixels in both directions; edge pixels continue |
| ``crop 4`` | takes a window up to 4 pixels smaller at a random position and enlarges it to the old size |
| ``rotate 15`` | turns it about its middle by up to 15 degrees; edge pixels continue |
| ``noise 0.1`` | adds normal noise of standard deviation 0.1 to every pixel |
| ``color 0.2`` | stretches each channel by up to 20 % and moves it by up to 0.2 |
| ``cutout 4`` | replaces a square of 4 x 4 pixels by 0, the mean of standardized images |
| ``mixup 0.2`` | :math:`\lambda x_i + (1-\lambda)x_j`, :math:`\lambda\sim\mathrm{Beta}(0.2, 0.2)`; losses mix alike |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from margin.neural.moves import draw_crops, draw_flips, draw_rotations, draw_shifts, draw_vertical_flips, move_images

__all__ = [
    "AUGMENTATIONS",
    "Augmentation",
    "add_noise",
    "change_colors",
    "crop",
    "cutout",
    "flip",
    "flip_vertical",
    "mixup",
    "parse_augmentation",
    "rotate",
    "shift_images",
]


def flip(x: Tensor, generator: torch.Generator) -> Tensor:
    """Each image mirrored left to right with probability 1/2."""
    moves = draw_flips((len(x), x.shape[2], x.shape[3]), 0, generator)
    return torch.where(moves[:, 0, 0].view(-1, 1, 1, 1) < 0, x.flip(3), x)


def flip_vertical(x: Tensor, generator: torch.Generator) -> Tensor:
    """Each image mirrored top to bottom with probability 1/2."""
    moves = draw_vertical_flips((len(x), x.shape[2], x.shape[3]), 0, generator)
    return torch.where(moves[:, 1, 1].view(-1, 1, 1, 1) < 0, x.flip(2), x)


def shift_images(x: Tensor, distance: float, generator: torch.Generator) -> Tensor:
    """Each image moved by up to ``distance`` pixels, its edge continued."""
    n, _, h, w = x.shape
    moves = draw_shifts((n, h, w), distance, generator)
    down, right = (moves[:, 1, 2:] * h / 2).round().long(), (moves[:, 0, 2:] * w / 2).round().long()
    rows = (torch.arange(h, device=x.device) + down).clamp_(0, h - 1)
    columns = (torch.arange(w, device=x.device) + right).clamp_(0, w - 1)
    images = torch.arange(n, device=x.device)[:, None, None]
    moved = x.permute(0, 2, 3, 1)[images, rows[:, :, None], columns[:, None, :]]  # (N, H, W, C), without interpolation
    return moved.permute(0, 3, 1, 2)


def crop(x: Tensor, amount: float, generator: torch.Generator) -> Tensor:
    """A window up to ``amount`` pixels smaller, at a random position, enlarged to the old size."""
    return move_images(x, draw_crops((len(x), x.shape[2], x.shape[3]), amount, generator))


def rotate(x: Tensor, degrees: float, generator: torch.Generator) -> Tensor:
    """Each image turned about its middle by up to ``degrees``, its edge continued."""
    return move_images(x, draw_rotations((len(x), x.shape[2], x.shape[3]), degrees, generator))


def add_noise(x: Tensor, deviation: float, generator: torch.Generator) -> Tensor:
    """Independent normal noise on every pixel."""
    return x + deviation * torch.randn(x.shape, generator=generator, device=generator.device).to(x.dtype)


def change_colors(x: Tensor, strength: float, generator: torch.Generator) -> Tensor:
    r"""Each channel of each image stretched by a factor within :math:`1\pm s` and moved by up to s."""
    shape = (len(x), x.shape[1], 1, 1)
    drawn = torch.rand(2, *shape, generator=generator, device=generator.device)
    factor, offset = (strength * (2 * drawn - 1)).to(x.dtype)
    return x * (1 + factor) + offset


def cutout(x: Tensor, side: float, generator: torch.Generator) -> Tensor:
    """A square of each image, centered anywhere in it, set to 0."""
    n, _, h, w = x.shape
    side = int(side)
    top = torch.randint(0, h, (n, 1), generator=generator, device=generator.device) - side // 2
    left = torch.randint(0, w, (n, 1), generator=generator, device=generator.device) - side // 2
    rows, columns = torch.arange(h, device=x.device) - top, torch.arange(w, device=x.device) - left
    inside = ((rows >= 0) & (rows < side))[:, :, None] & ((columns >= 0) & (columns < side))[:, None, :]
    return x.masked_fill(inside[:, None], 0.0)


def mixup(x: Tensor, strength: float, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Each image mixed with a partner: the mixture, the numbers of the partners, and the part of the image itself."""
    shape = torch.full((2, len(x)), strength, dtype=_widest(x.device), device=x.device)
    gammas = torch._standard_gamma(shape, generator)
    part = (gammas[0] / gammas.sum(dim=0)).nan_to_num(0.5).to(x.dtype)
    partner = torch.randperm(len(x), generator=generator, device=generator.device)
    weight = part.view(-1, 1, 1, 1)
    return weight * x + (1 - weight) * x[partner], partner, part


def _widest(device: torch.device) -> torch.dtype:
    return torch.float32 if device.type == "mps" else torch.float64


class Kind(NamedTuple):
    """What carries an augmentation out on a batch of images, and the number that it takes."""

    function: Callable[[Tensor, float, torch.Generator], Tensor] | None
    number: str | None  # what its number is, or None where it takes none
    example: str = ""


INTEGER, POSITIVE = "an integer of at least 1", "a number above 0"
AUGMENTATIONS: dict[str, Kind] = {
    "flip": Kind(lambda x, _, generator: flip(x, generator), None),
    "flip-vertical": Kind(lambda x, _, generator: flip_vertical(x, generator), None),
    "shift": Kind(shift_images, INTEGER, "2"),
    "crop": Kind(crop, INTEGER, "2"),
    "rotate": Kind(rotate, POSITIVE, "15"),
    "noise": Kind(add_noise, POSITIVE, "0.1"),
    "color": Kind(change_colors, POSITIVE, "0.2"),
    "cutout": Kind(cutout, INTEGER, "2"),
    "mixup": Kind(None, POSITIVE, "0.2"),  # changes the targets too, so the loss has to know
}


def parse_augmentation(text: str) -> tuple[str, float]:
    """Name and number of one augmentation.

    >>> parse_augmentation("shift 2"), parse_augmentation("flip")
    (('shift', 2.0), ('flip', 0.0))
    """
    name, *numbers = text.split() or [""]
    if name not in AUGMENTATIONS:
        raise ValueError(f"one of {', '.join(AUGMENTATIONS)}; got {text!r}")
    kind = AUGMENTATIONS[name]
    if kind.number is None:
        if numbers:
            raise ValueError(f"{name!r} without a number; got {text!r}")
        return name, 0.0
    try:
        (value,) = (float(number) for number in numbers)
    except ValueError:
        value = float("nan")
    if not (0 < value < float("inf")) or (kind.number == INTEGER and value != int(value)):
        raise ValueError(f"{name!r} with {kind.number}, as in '{name} {kind.example}'; got {text!r}")
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
        steps = [(AUGMENTATIONS[name].function, value) for name, value in chosen]
        self.steps = [(function, value) for function, value in steps if function is not None]
        self.mixups = [value for name, value in chosen if name == "mixup"]

    def __call__(self, x: Tensor, generator: torch.Generator) -> Augmented:
        for step, value in self.steps:
            x = step(x, value, generator)
        if not self.mixups:
            return Augmented(x)
        return Augmented(*mixup(x, self.mixups[-1], generator))
