r"""Proposals of boxes from the image alone: segments, and the segments that similar neighbors make together.

*Segments* (Felzenszwalb and Huttenlocher 2004): neighboring pixels are joined in the order of their difference; two
segments join unless the edge between them is steeper than both are inside, by more than k divided by their size.

*Selective search* (Uijlings et al. 2013): the box of every segment is a proposal; then the two most similar neighbors
are merged, their box is a proposal, and so on until one segment is left. The similarity of two segments is

.. math:: s = \underbrace{\textstyle\sum_b \min(c_b, c'_b)}_{\text{color}}
            + \underbrace{\textstyle\sum_b \min(t_b, t'_b)}_{\text{texture}}
            + \underbrace{1 - \tfrac{|r| + |r'|}{|I|}}_{\text{size}}
            + \underbrace{1 - \tfrac{|B| - |r| - |r'|}{|I|}}_{\text{fill}}

with histograms of colors and of gradient orientations that add up to 1, and the box B around both.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Hierarchy", "segment_pixels", "selective_search", "selective_search_hierarchy"]

COLOR_BINS, ORIENTATIONS = 25, 8


class Hierarchy(NamedTuple):
    """Merges of segments: ``segments`` (h, w) are numbers 0 to n - 1; merge k joins ``merges[k]`` to segment n + k.

    ``boxes`` has a box (x_min, y_min, x_max, y_max) for each of the 2n - 1 segments.
    """

    segments: np.ndarray
    merges: np.ndarray
    boxes: np.ndarray

    def level(self, n_regions: int) -> np.ndarray:
        """The map of segments when ``n_regions`` are left, with numbers of merged ones."""
        n = int(self.segments.max()) + 1
        if not 1 <= n_regions <= n:
            raise ValueError(f"Hierarchy: n_regions must lie between 1 and {n}; got {n_regions!r}.")
        owner = np.arange(2 * n - 1)
        for k, pair in enumerate(self.merges[: n - n_regions]):
            owner[np.isin(owner, pair)] = n + k
        return owner[self.segments]


def _channels_last(image: Any) -> np.ndarray:
    image = np.asarray(image, dtype=np.float64)
    if image.ndim not in (2, 3):
        raise ValueError(f"selective_search: image must be (h, w) or (h, w, channels); got shape {image.shape}.")
    return image[:, :, None] if image.ndim == 2 else image


def segment_pixels(image: Any, k: float = 1.0, min_size: int = 8, sigma: float = 0.5) -> np.ndarray:
    """Numbers (h, w) of segments from 0, of at least ``min_size`` pixels; larger ``k`` makes larger segments.

    The image is smoothed by ``sigma`` pixels first. Gray values from 0 to 1 suit the default ``k``.
    """
    from scipy.ndimage import gaussian_filter

    from margin.compiled.vision import join

    image = _channels_last(image)
    smooth = gaussian_filter(image, (sigma, sigma, 0)) if sigma > 0 else image
    h, w = image.shape[:2]
    number = np.arange(h * w).reshape(h, w)
    flat = smooth.reshape(h * w, -1)
    pairs = [
        (number[:, :-1], number[:, 1:]),
        (number[:-1], number[1:]),
        (number[:-1, :-1], number[1:, 1:]),
        (number[:-1, 1:], number[1:, :-1]),
    ]
    first = np.concatenate([a.ravel() for a, _ in pairs])
    second = np.concatenate([b.ravel() for _, b in pairs])
    weight = np.sqrt(((flat[first] - flat[second]) ** 2).sum(axis=1))
    order = np.argsort(weight, kind="stable")
    parent, size = np.arange(h * w), np.ones(h * w, dtype=np.int64)
    join(first[order], second[order], weight[order], parent, size, np.zeros(h * w), float(k), int(min_size))
    return np.unique(parent, return_inverse=True)[1].reshape(h, w)


def selective_search_hierarchy(image: Any, k: float = 1.0, min_size: int = 8, sigma: float = 0.5) -> Hierarchy:
    """All merges, from the first segments to one."""
    image = _channels_last(image)
    segments = segment_pixels(image, k, min_size, sigma)
    n, area = int(segments.max()) + 1, segments.size
    total = 2 * n - 1
    boxes, sizes = np.empty((total, 4)), np.empty(total)
    histograms = np.zeros((total, *_histograms(image, segments).shape[1:]))
    histograms[:n], boxes[:n] = _histograms(image, segments), _boxes(segments)
    sizes[:n] = np.bincount(segments.ravel(), minlength=n)
    neighbors = _neighbors(segments)

    def similarity(a: int, b: int) -> float:
        around = np.concatenate([np.minimum(boxes[a, :2], boxes[b, :2]), np.maximum(boxes[a, 2:], boxes[b, 2:])])
        both = sizes[a] + sizes[b]
        shared = float(np.minimum(histograms[a], histograms[b]).sum())
        return shared + 1 - both / area + 1 - (np.prod(around[2:] - around[:2]) - both) / area

    heap = [(-similarity(a, b), a, b) for a in range(n) for b in sorted(neighbors[a]) if a < b]
    heapq.heapify(heap)
    merges: list[tuple[int, int]] = []
    while len(merges) < n - 1:
        _, a, b = heapq.heappop(heap)
        if a not in neighbors or b not in neighbors:  # merged into another before
            continue
        new = n + len(merges)
        merges.append((a, b))
        sizes[new] = sizes[a] + sizes[b]
        histograms[new] = (sizes[a] * histograms[a] + sizes[b] * histograms[b]) / sizes[new]
        boxes[new, :2], boxes[new, 2:] = np.minimum(boxes[a, :2], boxes[b, :2]), np.maximum(boxes[a, 2:], boxes[b, 2:])
        joined = (neighbors.pop(a) | neighbors.pop(b)) - {a, b}
        for other in sorted(joined):
            neighbors[other] = (neighbors[other] - {a, b}) | {new}
            heapq.heappush(heap, (-similarity(other, new), other, new))
        neighbors[new] = joined
    return Hierarchy(segments, np.array(merges, dtype=np.int64).reshape(-1, 2), boxes)


def selective_search(
    image: Any, k: float = 1.0, min_size: int = 8, sigma: float = 0.5, max_boxes: int | None = 2000
) -> np.ndarray:
    """Different boxes (m, 4) of all segments of the hierarchy, those merged last first.

    >>> image = np.zeros((20, 20))
    >>> image[5:12, 4:10] = 1
    >>> selective_search(image, sigma=0).tolist()
    [[0.0, 0.0, 20.0, 20.0], [4.0, 5.0, 10.0, 12.0]]
    """
    boxes = selective_search_hierarchy(image, k, min_size, sigma).boxes[::-1]
    _, first = np.unique(boxes, axis=0, return_index=True)
    return boxes[np.sort(first)][:max_boxes]


def _boxes(segments: np.ndarray) -> np.ndarray:
    from scipy.ndimage import find_objects

    return np.array([(c.start, r.start, c.stop, r.stop) for r, c in find_objects(segments + 1)], dtype=np.float64)


def _neighbors(segments: np.ndarray) -> dict[int, set[int]]:
    neighbors: dict[int, set[int]] = {number: set() for number in range(int(segments.max()) + 1)}
    sides = ((segments[:, :-1], segments[:, 1:]), (segments[:-1], segments[1:]),
             (segments[:-1, :-1], segments[1:, 1:]), (segments[:-1, 1:], segments[1:, :-1]))  # fmt: skip
    for a, b in sides:
        for i, j in np.unique(np.stack([a.ravel(), b.ravel()], axis=1), axis=0).tolist():
            if i != j:
                neighbors[i].add(j)
                neighbors[j].add(i)
    return neighbors


def _histograms(image: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """(segments, 2, bins): colors and gradient orientations of every segment, each adding up to 1 over all channels."""
    n, c = int(segments.max()) + 1, image.shape[2]
    low, high = image.min(), image.max()
    color = np.minimum((image - low) / (high - low or 1) * COLOR_BINS, COLOR_BINS - 1).astype(np.int64)
    down, across = np.gradient(image, axis=0), np.gradient(image, axis=1)
    length = np.hypot(down, across)
    turn = (np.arctan2(down, across) + np.pi) / (2 * np.pi) * ORIENTATIONS
    turn = np.minimum(turn, ORIENTATIONS - 1).astype(np.int64)
    histograms = np.zeros((n, 2, c * COLOR_BINS))
    for channel in range(c):
        columns = np.s_[channel * COLOR_BINS : (channel + 1) * COLOR_BINS]
        for kind, bins, weight in ((0, color, np.ones_like(length)), (1, turn, length + 1e-9)):
            cell = segments * COLOR_BINS + bins[..., channel]
            counted = np.bincount(cell.ravel(), weight[..., channel].ravel(), minlength=n * COLOR_BINS)
            histograms[:, kind, columns] = counted.reshape(n, COLOR_BINS)
    return histograms / histograms.sum(axis=2, keepdims=True)
