r"""Two views of every image: the same family of random changes, drawn twice.

| name | what it does to each image |
|---|---|
| ``contrast 0.5`` | multiplies by a number from 1 - 0.5 to 1 + 0.5: brightness and color of standardized images |
| ``blur 1`` | a Gaussian of a deviation up to 1 pixel, half of the time |

and those of :mod:`margin.neural.augmentation` that change one image at a time: ``flip``, ``shift``, ``crop``,
``rotate``, ``cutout``, ``noise``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from margin.neural.augmentation import add_noise, crop, cutout, flip, rotate, shift_images

__all__ = ["VIEW_CHANGES", "parse_view_change", "two_views", "view"]


def contrast(x: Tensor, strength: float, generator: torch.Generator) -> Tensor:
    """Each channel of each image times a number of its own."""
    drawn = torch.rand(*x.shape[:2], 1, 1, generator=generator, dtype=x.dtype, device=x.device)
    return x * (1 + strength * (2 * drawn - 1))


def blur(x: Tensor, deviation: float, generator: torch.Generator) -> Tensor:
    """Half of the images smoothed, each by a Gaussian of its own deviation."""
    n, c, h, w = x.shape
    sigma = deviation * torch.rand(n, 1, generator=generator, dtype=x.dtype, device=x.device) + 1e-3
    reach = max(1, round(3 * deviation))
    offsets = torch.arange(-reach, reach + 1, dtype=x.dtype, device=x.device)
    kernel = torch.exp(-offsets.square() / (2 * sigma.square()))
    kernel = (kernel / kernel.sum(dim=1, keepdim=True)).repeat_interleave(c, dim=0)  # (N C, width)
    flat = functional.pad(x.reshape(1, n * c, h, w), (reach,) * 4, mode="replicate")
    flat = functional.conv2d(flat, kernel[:, None, None, :], groups=n * c)
    smooth = functional.conv2d(flat, kernel[:, None, :, None], groups=n * c).reshape(x.shape)
    chosen = torch.rand(n, 1, 1, 1, generator=generator, device=generator.device) < 0.5
    return torch.where(chosen, smooth, x)


VIEW_CHANGES: dict[str, tuple[Callable[..., Tensor], float | None]] = {  # the change and its usual strength
    "flip": (flip, None),
    "shift": (shift_images, 2),
    "crop": (crop, 2),
    "rotate": (rotate, 15.0),
    "cutout": (cutout, 2),
    "noise": (add_noise, 0.1),
    "contrast": (contrast, 0.5),
    "blur": (blur, 1.0),
}


def parse_view_change(text: str) -> tuple[Callable[..., Tensor], float | None]:
    """The change that a text such as "crop 2" names, and its strength.

    >>> parse_view_change("noise 0.3")[1], parse_view_change("flip")[1]
    (0.3, None)
    """
    name, *rest = text.split()
    if name not in VIEW_CHANGES or len(rest) > 1 or (rest and VIEW_CHANGES[name][1] is None):
        raise ValueError(f"one of {', '.join(VIEW_CHANGES)}, with a strength where it has one; got {text!r}")
    change, usual = VIEW_CHANGES[name]
    if not rest:
        return change, usual
    is_integer = isinstance(usual, int)
    try:
        strength = int(rest[0]) if is_integer else float(rest[0])
    except ValueError:
        raise ValueError(f"a number behind {name}; got {text!r}") from None
    if strength <= 0:
        raise ValueError(f"a strength above 0; got {text!r}")
    return change, strength


def view(x: Tensor, changes: Sequence[str], generator: torch.Generator) -> Tensor:
    """Images (N, C, H, W) after all ``changes``, in their order."""
    for text in changes:
        change, strength = parse_view_change(text)
        x = change(x, generator) if strength is None else change(x, strength, generator)
    return x


def two_views(x: Tensor, changes: Sequence[str], seed: int | torch.Generator) -> tuple[Tensor, Tensor]:
    """Two draws of the changes for every image; the same seed gives the same views.

    >>> a, b = two_views(torch.rand(3, 1, 8, 8), ["crop 2", "noise"], seed=0)
    >>> a.shape == b.shape, bool((a == b).all())
    (True, False)
    """
    generator = seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)
    return view(x, changes, generator), view(x, changes, generator)
