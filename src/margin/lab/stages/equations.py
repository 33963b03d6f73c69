"""Equations of the field stage, written so that the exported code can hold their source."""

from __future__ import annotations

__all__ = ["plate_edges", "plate_residual"]


def plate_residual(u, x):
    """What Laplace's equation leaves: the curvatures of the temperature add up to zero."""
    from margin.physics.derivatives import laplacian

    return laplacian(u, x)


def plate_edges():
    """A hot arc on the upper edge of the plate, zero on the others."""
    import numpy as np

    from margin.physics import Condition

    s = np.linspace(0, 1, 25)
    edges = [np.stack(edge, axis=1) for edge in ((s, 0 * s), (0 * s, s), (1 + 0 * s, s), (s, 1 + 0 * s))]
    return Condition(np.concatenate(edges), np.concatenate([0 * s, 0 * s, 0 * s, np.sin(np.pi * s)]))
