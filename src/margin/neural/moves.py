r"""Affine moves of images: one is drawn per image, then carried out on its pixels, its mask and its boxes alike.

A move is the matrix :math:`[A\,|\,t]` that says where a pixel of the new image comes from, :math:`p' = A p + t`, in
coordinates that run from -1 to 1 over the image. What stood at :math:`p'` therefore goes to :math:`A^{-1}(p' - t)`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

__all__ = [
    "MOVES",
    "draw_crops",
    "draw_flips",
    "draw_rotations",
    "draw_shifts",
    "draw_vertical_flips",
    "move_boxes",
    "move_images",
]

Shape = tuple[int, int, int]  # number of images, height, width


def _moves(n: int, device: torch.device) -> Tensor:
    """Moves that leave everything where it is."""
    return torch.eye(2, 3, device=device).repeat(n, 1, 1)


def draw_flips(shape: Shape, _: float, generator: torch.Generator) -> Tensor:
    """Left becomes right, with probability 1/2."""
    return _mirror(shape[0], 0, generator)


def draw_vertical_flips(shape: Shape, _: float, generator: torch.Generator) -> Tensor:
    """Top becomes bottom, with probability 1/2."""
    return _mirror(shape[0], 1, generator)


def _mirror(n: int, axis: int, generator: torch.Generator) -> Tensor:
    moves = _moves(n, generator.device)
    moves[:, axis, axis] = 1 - 2 * (torch.rand(n, generator=generator, device=generator.device) < 0.5).float()
    return moves


def draw_shifts(shape: Shape, distance: float, generator: torch.Generator) -> Tensor:
    """Up to ``distance`` pixels in both directions."""
    n, h, w = shape
    down, right = torch.randint(-int(distance), int(distance) + 1, (2, n), generator=generator, device=generator.device)
    moves = _moves(n, generator.device)
    moves[:, 0, 2], moves[:, 1, 2] = 2 * right / w, 2 * down / h
    return moves


def draw_crops(shape: Shape, amount: float, generator: torch.Generator) -> Tensor:
    """A window up to ``amount`` pixels smaller than the image, at a random position, becomes the image."""
    n, h, w = shape
    device = generator.device
    most = torch.tensor([min(amount, w - 1) / w, min(amount, h - 1) / h], device=device)
    part = 1 - torch.rand(n, 1, generator=generator, device=device) * most
    # The middle of the window, in units of half the image.
    middle = (2 * torch.rand(n, 2, generator=generator, device=device) - 1) * (1 - part)
    moves = torch.zeros(n, 2, 3, device=device)
    moves[:, 0, 0], moves[:, 1, 1], moves[:, :, 2] = part[:, 0], part[:, 1], middle
    return moves


def draw_rotations(shape: Shape, degrees: float, generator: torch.Generator) -> Tensor:
    """By up to ``degrees`` in either direction about the middle."""
    n, h, w = shape
    angle = torch.deg2rad((2 * torch.rand(n, generator=generator, device=generator.device) - 1) * degrees)
    moves = torch.zeros(n, 2, 3, device=generator.device)
    moves[:, 0, 0] = moves[:, 1, 1] = angle.cos()
    moves[:, 0, 1], moves[:, 1, 0] = -angle.sin() * h / w, angle.sin() * w / h  # right angles in pixels
    return moves


MOVES: dict[str, Callable[[Shape, float, torch.Generator], Tensor]] = {
    "flip": draw_flips,
    "flip-vertical": draw_vertical_flips,
    "shift": draw_shifts,
    "crop": draw_crops,
    "rotate": draw_rotations,
}


def move_images(x: Tensor, moves: Tensor, mode: str = "bilinear") -> Tensor:
    """The moved images, (N, C, H, W); what comes from beyond the edge repeats the edge. Masks take mode 'nearest'."""
    grid = functional.affine_grid(moves.to(x.dtype), list(x.shape), align_corners=False)
    return functional.grid_sample(x, grid, mode=mode, padding_mode="border", align_corners=False)


def move_boxes(boxes: Tensor, moves: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Boxes (..., n, 4) by their corners in pixels about what they held, cut at the edges, and the part left of each.

    ``moves`` (..., 2, 3) has one move for the boxes of an image. A turned box is no box: the smallest one about its
    four corners is taken. A box that leaves the image has the part 0.
    """
    size = torch.tensor([width, height], dtype=boxes.dtype, device=boxes.device)
    corners = boxes[..., [[0, 1], [2, 1], [0, 3], [2, 3]]] / size * 2 - 1  # (..., n, 4, 2)
    back = torch.linalg.inv(moves[..., :2].to(boxes.dtype)).mT
    moved = (corners - moves[..., None, None, :, 2].to(boxes.dtype)) @ back[..., None, :, :]
    pixels = (moved + 1) / 2 * size
    uncut = torch.cat([pixels.amin(dim=-2), pixels.amax(dim=-2)], dim=-1)
    inside = uncut.clamp(min=torch.zeros(4, dtype=boxes.dtype, device=boxes.device), max=size.repeat(2))
    sides, uncut_sides = inside[..., 2:] - inside[..., :2], uncut[..., 2:] - uncut[..., :2]
    return inside, (sides.prod(dim=-1) / uncut_sides.prod(dim=-1).clamp(min=torch.finfo(boxes.dtype).tiny))
