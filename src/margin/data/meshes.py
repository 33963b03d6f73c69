"""Shapes in three dimensions: meshes and point clouds from .obj and .off files, and a view of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Mesh", "read_mesh", "render"]

AMBIENT = 0.2  # what a face that looks away from the light still shows
MARGIN = 0.9  # fraction of the picture that the shape fills


@dataclass(frozen=True, eq=False)
class Mesh:
    """``vertices`` (n, 3) and triangles ``faces`` (m, 3) of their numbers; without faces it is a point cloud."""

    vertices: np.ndarray
    faces: np.ndarray

    def __post_init__(self) -> None:
        vertices = np.asarray(self.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.asarray(self.faces, dtype=np.int64).reshape(-1, 3)
        if len(vertices) == 0 or not np.isfinite(vertices).all():
            raise ValueError("Mesh: vertices must be finite numbers, at least one row of three.")
        if faces.size and not (faces.min() >= 0 and faces.max() < len(vertices)):
            raise ValueError(
                f"Mesh: faces must join vertices from 0 to {len(vertices) - 1}; got {faces.min()} to {faces.max()}."
            )
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """A mesh from a .obj or .off file; faces of more than three corners are cut into triangles."""
    path = Path(path)
    readers = {".obj": _obj, ".off": _off}
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path}: must be one of {', '.join(readers)}.")
    lines = [line.split("#")[0].split() for line in path.read_text(encoding="utf-8").splitlines()]
    try:
        return readers[path.suffix.lower()]([line for line in lines if line])
    except (ValueError, IndexError) as error:
        raise ValueError(f"{path}: is no mesh: {error}") from None


def _obj(lines: list[list[str]]) -> Mesh:
    vertices = [[float(value) for value in line[1:4]] for line in lines if line[0] == "v"]
    corners = [[int(part.split("/")[0]) for part in line[1:]] for line in lines if line[0] == "f"]
    # Numbers begin at 1; negative ones count from the last vertex.
    return _mesh(vertices, [[c - 1 if c > 0 else len(vertices) + c for c in face] for face in corners])


def _off(lines: list[list[str]]) -> Mesh:
    if lines[0] != ["OFF"]:
        raise ValueError(f"the first line must be OFF; got {' '.join(lines[0])!r}.")
    n, m = int(lines[1][0]), int(lines[1][1])
    rows = lines[2:]
    vertices = [[float(value) for value in row[:3]] for row in rows[:n]]
    return _mesh(vertices, [[int(value) for value in row[1 : 1 + int(row[0])]] for row in rows[n : n + m]])


def _mesh(vertices: list[list[float]], polygons: list[list[int]]) -> Mesh:
    fans = [[face[0], face[i], face[i + 1]] for face in polygons for i in range(1, len(face) - 1)]
    return Mesh(np.array(vertices), np.array(fans, dtype=np.int64).reshape(-1, 3))


def render(mesh: Mesh, size: int = 64, *, azimuth: float = 0.6, elevation: float = 0.4) -> np.ndarray:
    """A view (size, size) with values from 0 to 1: parallel projection, nearest surface first, lit from the viewer.

    >>> corner = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> picture = render(corner, 16, azimuth=0.0, elevation=0.0)
    >>> picture.shape, float(picture.max())
    ((16, 16), 1.0)
    """
    p = mesh.vertices @ _rotation(azimuth, elevation).T
    low, high = p[:, :2].min(axis=0), p[:, :2].max(axis=0)
    scale = MARGIN * (size - 1) / max(float((high - low).max()), 1e-12)
    flat = (p[:, :2] - (low + high) / 2) * scale + (size - 1) / 2
    columns, rows, depth = flat[:, 0], size - 1 - flat[:, 1], p[:, 2]
    image, nearest = np.zeros((size, size)), np.full((size, size), -np.inf)
    if len(mesh.faces) == 0:
        image[np.rint(rows).astype(int), np.rint(columns).astype(int)] = 1.0
    for face in mesh.faces:
        normal = np.cross(p[face[1]] - p[face[0]], p[face[2]] - p[face[0]])
        length = np.linalg.norm(normal)
        if length > 0:
            shade = AMBIENT + (1 - AMBIENT) * abs(normal[2]) / length
            _fill(image, nearest, np.stack([columns[face], rows[face], depth[face]], axis=1), float(shade))
    return image


def _rotation(azimuth: float, elevation: float) -> np.ndarray:
    """Turns a shape about its vertical axis, then tips it toward the viewer, who looks along -z."""
    (c, s), (d, t) = ((np.cos(angle), np.sin(angle)) for angle in (azimuth, elevation))
    return np.array([[1, 0, 0], [0, d, -t], [0, t, d]]) @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _fill(image: np.ndarray, nearest: np.ndarray, corners: np.ndarray, shade: float) -> None:
    """Pixels of one triangle, by barycentric coordinates, where nothing lies before it."""
    (x0, y0, _), (x1, y1, _), (x2, y2, _) = corners
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if abs(area) < 1e-12:  # seen from the edge
        return
    left, top = np.floor(corners[:, :2].min(axis=0)).astype(int)
    right, bottom = np.ceil(corners[:, :2].max(axis=0)).astype(int)
    y, x = np.mgrid[max(top, 0) : bottom + 1, max(left, 0) : right + 1]
    a = ((x1 - x) * (y2 - y) - (x2 - x) * (y1 - y)) / area
    b = ((x2 - x) * (y0 - y) - (x0 - x) * (y2 - y)) / area
    weights = np.stack([a, b, 1 - a - b])
    inside = (weights >= -1e-9).all(axis=0) & (y < len(image)) & (x < len(image))
    rows, columns, depth = y[inside], x[inside], np.tensordot(corners[:, 2], weights, axes=1)[inside]
    closer = depth > nearest[rows, columns]
    nearest[rows[closer], columns[closer]] = depth[closer]
    image[rows[closer], columns[closer]] = shade
