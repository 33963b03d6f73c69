r"""Euclidean candidates by matrix products in single precision, with a bound on what the rounding may have hidden.

.. math:: \tfrac12 \lVert x - q \rVert^2 = s(x, q) + \tfrac12 \lVert q \rVert^2,\qquad
          s(x, q) = \tfrac12 \lVert x \rVert^2 - x^\top q .

A product in float32 costs half of one in float64. With rows centered and :math:`R = \max \lVert x \rVert` its score is
wrong by at most

.. math:: E(q) = \frac{(d + 6)u}{1 - (d + 6)u} R \lVert q \rVert + 3uR^2,\qquad u = 2^{-24},

whatever the order of the sums: rounding both rows, d sums in the product and the difference make d + 3 roundings of
:math:`R \lVert q \rVert`, rounding the squares and the difference one of :math:`R^2`; the rest covers what is
computed in float64. So every point that was left out has a true score of at least the largest kept one minus E, and
the search that follows can prove that it missed nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["ball_pairs", "candidates"]

UNIT = 2.0**-24  # largest relative error of rounding to float32
QUERIES, POINTS = 1024, 256  # sides of a block of products: 1 MB in float32, half of a second-level cache
TOGETHER = 64  # points that a compiled loop looks at together
SHORT = 64  # numbers kept up to which a sorted list is at least as fast as a heap (measured)
SAMPLE = 1024  # rows from which center and scale are taken; any near the points will do


def candidates(points: np.ndarray, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """``m`` likely nearest points of every query, (len(queries), m), and a lower bound on the power of all others."""
    from margin.compiled.neighbors import keep_in_heap, keep_in_list

    keep = keep_in_list if m <= SHORT else keep_in_heap
    frame = _frame(points, queries)
    scores = np.full((len(queries), m), np.inf, dtype=np.float32)
    index = np.zeros((len(queries), m), dtype=np.int64)
    flags, radius = np.zeros(TOGETHER, dtype=np.uint8), 0.0
    for block in _blocks(points, frame):
        radius = max(radius, block.radius)
        for part, products in _products(block, frame):
            products, half_squares = _pad(products, block.half_squares)
            if block.first == 0 and m <= SHORT:
                scores[part] = _start(products, half_squares, m)
            keep(products, half_squares, block.first, scores[part], index[part], flags, flags.view(np.int64))
    if m == len(points):
        return index, np.full(len(queries), np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        least = scores.max(axis=1) - frame.error(radius)
        return index, (2.0 * least + frame.query_squares) / frame.scale**2


def ball_pairs(points: np.ndarray, queries: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs (query, point) whose power may be at most ``powers`` (one per query), and few others."""
    frame = _frame(points, queries)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for block in _blocks(points, frame):
        with np.errstate(invalid="ignore", over="ignore"):
            bound = 0.5 * (powers * frame.scale**2 - frame.query_squares) + frame.error(block.radius)
            bound = np.nextafter(bound.astype(np.float32), np.float32(np.inf))
        for part, products in _products(block, frame):
            with np.errstate(invalid="ignore", over="ignore"):
                # Written as "not above": where rounding ended in NaN, the pair stays.
                near = ~(block.half_squares - products > bound[part, None])
            of_query, of_point = np.nonzero(near)
            pairs.append((of_query + part.start, of_point + block.first))
    of_query, of_point = (np.concatenate(side) for side in zip(*pairs))
    return of_query, of_point


def _start(products: np.ndarray, half_squares: np.ndarray, m: int) -> np.ndarray:
    """A number (len(products), 1) just above the m-th of the smallest scores of 64 lanes: at least m points are below
    it, and of the others few. Rows of scores that begin with infinity let many in, to throw them out again."""
    with np.errstate(invalid="ignore", over="ignore"):
        least = (half_squares - products).reshape(len(products), -1, TOGETHER).min(axis=1)
        bound = np.partition(least, m - 1, axis=1)[:, m - 1 : m]
    return np.where(np.isnan(bound), np.float32(np.inf), np.nextafter(bound, np.float32(np.inf)))


def _pad(products: np.ndarray, half_squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both with columns up to a multiple of the points that are looked at together; the new ones are infinitely far."""
    missing = -len(half_squares) % TOGETHER
    if not missing:
        return products, half_squares
    # By hand: np.pad takes as long as the products of a small table.
    wide, far = np.zeros((len(products), products.shape[1] + missing), products.dtype), np.full(missing, np.inf)
    wide[:, : products.shape[1]] = products
    return wide, np.append(half_squares, far.astype(half_squares.dtype))


@dataclass(frozen=True)
class _Frame:
    """Where the rows are looked at: minus ``center``, times ``scale``, rounded to float32."""

    center: np.ndarray
    scale: float
    queries: np.ndarray  # (m, d) float32
    query_squares: np.ndarray  # (m,)

    def error(self, radius: float) -> np.ndarray:
        roundings = (self.queries.shape[1] + 6) * UNIT
        growth = roundings / (1 - roundings) if roundings < 0.5 else np.inf
        return growth * radius * np.sqrt(self.query_squares) + 3 * UNIT * radius**2


@dataclass(frozen=True)
class _Block:
    first: int
    rows: np.ndarray  # (b, d) float32
    half_squares: np.ndarray  # (b,) float32
    radius: float


def _frame(points: np.ndarray, queries: np.ndarray) -> _Frame:
    sample = points[:: max(1, len(points) // SAMPLE)].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        center = sample.mean(axis=0)
        spread = float(np.abs(sample - center).max())
        # A power of two changes no digit and keeps squares inside the narrow range of float32.
        scale = 2.0 ** -np.frexp(spread)[1] if 0 < spread < np.inf else 1.0
        moved = (queries - center) * scale
        return _Frame(center, scale, moved.astype(np.float32), np.einsum("ij,ij->i", moved, moved))


def _blocks(points: np.ndarray, frame: _Frame) -> Iterator[_Block]:
    exact = np.empty((POINTS, points.shape[1]))
    rounded = np.empty((POINTS, points.shape[1]), dtype=np.float32)
    for first in range(0, len(points), POINTS):
        part = points[first : first + POINTS]
        rows, out = exact[: len(part)], rounded[: len(part)]
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(part, frame.center, out=rows)
            rows *= frame.scale
            squares = np.einsum("ij,ij->i", rows, rows)
            out[:] = rows
            yield _Block(first, out, (0.5 * squares).astype(np.float32), float(np.sqrt(squares.max())))


def _products(block: _Block, frame: _Frame) -> Iterator[tuple[slice, np.ndarray]]:
    buffer = np.empty((QUERIES, len(block.rows)), dtype=np.float32)
    for start in range(0, len(frame.queries), QUERIES):
        part = frame.queries[start : start + QUERIES]
        with np.errstate(over="ignore", invalid="ignore"):
            yield slice(start, start + len(part)), np.dot(part, block.rows.T, out=buffer[: len(part)])
