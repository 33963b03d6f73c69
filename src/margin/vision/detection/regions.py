r"""Features of a region, brought to one size whatever the size of the region: RoI pooling and RoI align.

Boxes are in the coordinates of the image; ``scale`` brings them to the feature map (1 / 16 behind four halvings).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["roi_align", "roi_pool", "warp_regions"]


def roi_pool(features: Tensor, boxes: Tensor, size: tuple[int, int], image: Tensor | None = None, scale: float = 1.0):
    r"""The maximum (N, C, h, w) of every cell of an h x w grid over each box (Girshick 2015).

    Cell i of a box from y to y + H covers the rows :math:`\lfloor y + iH/h\rfloor` to
    :math:`\lceil y + (i + 1)H/h\rceil`, at least one, within the map. ``image`` (N,) says to which of the maps
    ``features`` (B, C, H, W) each box belongs; without it all belong to the first. Rows and then columns are reduced
    with gathered indices, so the gradient goes to the pixel that was the maximum.

    >>> x = torch.arange(12.0).reshape(1, 1, 3, 4)
    >>> roi_pool(x, torch.tensor([[0.0, 0.0, 4.0, 3.0]]), (1, 1)).item()
    11.0
    """
    _check("roi_pool", features, boxes)
    maps = _maps(features, boxes, image)
    boxes = boxes * scale
    rows = _cell_indices(boxes[:, 1], boxes[:, 3], size[0], features.shape[2])  # (N, h, m)
    columns = _cell_indices(boxes[:, 0], boxes[:, 2], size[1], features.shape[3])  # (N, w, m)
    n, c, _, width = maps.shape
    index = rows.reshape(n, 1, -1, 1).expand(n, c, -1, width)
    maps = maps.gather(2, index).reshape(n, c, *rows.shape[1:], width).max(dim=3).values  # (N, C, h, W)
    index = columns.reshape(n, 1, 1, -1).expand(n, c, size[0], -1)
    return maps.gather(3, index).reshape(n, c, size[0], *columns.shape[1:]).max(dim=4).values


def _cell_indices(low: Tensor, high: Tensor, cells: int, length: int) -> Tensor:
    """Pixel numbers (N, cells, most per cell) along one axis; short cells repeat their last pixel."""
    step = (high - low)[:, None] / cells
    k = torch.arange(cells, device=low.device)
    # Rounding of the last digit must not add a pixel: an edge within 1e-4 of a pixel's edge is that edge.
    first = torch.floor(low[:, None] + k * step + 1e-4).long().clip(0, length - 1)
    last = torch.ceil(low[:, None] + (k + 1) * step - 1e-4).long().clip(1, length) - 1
    last = torch.maximum(last, first)
    most = int((last - first).max()) + 1 if len(low) else 1
    return torch.minimum(first[..., None] + torch.arange(most, device=low.device), last[..., None])


def roi_align(
    features: Tensor,
    boxes: Tensor,
    size: tuple[int, int],
    image: Tensor | None = None,
    scale: float = 1.0,
    samples: int = 2,
) -> Tensor:
    """The mean (N, C, h, w) of samples x samples bilinear values in every cell (He et al. 2017).

    No coordinate is rounded, so the features move with the box and their gradient says how. The value of a pixel
    stands at its middle, (0.5, 0.5) for the first.
    """
    _check("roi_align", features, boxes)
    return functional.avg_pool2d(
        _sample(_maps(features, boxes, image), boxes * scale, (size[0] * samples, size[1] * samples)), samples
    )


def warp_regions(images: Tensor, boxes: Tensor, size: tuple[int, int], image: Tensor | None = None) -> Tensor:
    """Every box cut out of its image and stretched to ``size``, as R-CNN hands it to its network: (N, C, h, w)."""
    _check("warp_regions", images, boxes)
    return _sample(_maps(images, boxes, image), boxes, size)


def _sample(maps: Tensor, boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Bilinear values at the middles of the cells of a grid over each box; the edge of the map continues."""
    y, x = ((torch.arange(n, dtype=maps.dtype, device=maps.device) + 0.5) / n for n in size)
    across = boxes[:, None, 0] + x * (boxes[:, None, 2] - boxes[:, None, 0])  # (N, w)
    down = boxes[:, None, 1] + y * (boxes[:, None, 3] - boxes[:, None, 1])  # (N, h)
    height, width = maps.shape[2:]
    shape = (len(boxes), *size)
    x, y = (2 * across / width - 1)[:, None], (2 * down / height - 1)[..., None]  # -1 and 1 are the edges of the map
    grid = torch.stack([x.expand(shape), y.expand(shape)], dim=-1)
    return functional.grid_sample(maps, grid, padding_mode="border", align_corners=False)


def _maps(features: Tensor, boxes: Tensor, image: Tensor | None) -> Tensor:
    return features[:1].expand(len(boxes), -1, -1, -1) if image is None else features[image]


def _check(owner: str, features: Tensor, boxes: Tensor) -> None:
    if features.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(
            f"{owner}: features must be (B, C, H, W) and boxes (N, 4); "
            f"got {tuple(features.shape)} and {tuple(boxes.shape)}."
        )
