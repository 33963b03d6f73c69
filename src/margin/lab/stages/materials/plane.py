"""Points of the plane, with classes and without."""

from __future__ import annotations

__all__ = [
    "cells",
    "circles",
    "clouds",
    "counts",
    "few_labels",
    "mixed_sources",
    "moons",
    "ring",
    "separable",
    "slanted",
    "spirals",
    "three_blobs",
    "two_instruments",
    "two_sets",
    "xor",
]


def moons(seed):
    """Two interleaved half circles."""
    from margin.data import load

    return load("moons", n_samples=160, noise=0.18, seed=seed).arrays()


def spirals(seed):
    """Two interleaved spiral arms."""
    from margin.data import load

    return load("spirals", n_samples=200, noise=0.03, turns=1.2, seed=seed).arrays()


def circles(seed):
    """A ring around a disk."""
    from margin.data import load

    return load("circles", n_samples=160, noise=0.1, factor=0.4, seed=seed).arrays()


def xor(seed):
    """Four squares, equal across the diagonals."""
    from margin.data import load

    return load("xor", n_samples=160, noise=0.05, seed=seed).arrays()


def three_blobs(seed):
    """Three round clouds with names."""
    import numpy as np

    rng = np.random.default_rng(seed)
    centers, y = np.array([[-1.6, -0.6], [0.2, 1.3], [1.6, -0.8]]), np.repeat([0, 1, 2], 50)
    return centers[y] + 0.65 * rng.standard_normal((150, 2)), y


def separable(seed):
    """Two clouds with a gap between them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 30)
    X = rng.uniform(-1, 1, (60, 2)) * [1.2, 0.8] + np.where(y[:, None] == 0, [-0.9, -1.1], [0.9, 1.1])
    return X, y


def counts(seed):
    """How often two words occur in texts of two subjects."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 60)
    return rng.poisson(np.where(y[:, None] == 0, [9, 4], [4, 8])).astype(float), y


def cells(seed):
    """Two columns of categories, and a class that depends on both."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (160, 2))
    likely = (X[:, 0] >= 3) | (X[:, 1] <= 1)
    return X, np.where(rng.random(160) < 0.9, likely, ~likely).astype(int)


def few_labels(seed):
    """Two half circles of which only eight points, spread along them, have a label; -1 is none."""
    import numpy as np

    from margin.data import load

    X, y = load("moons", n_samples=160, noise=0.1, seed=seed).arrays()
    along = [np.flatnonzero(y == label)[np.argsort(X[y == label, 0])] for label in (0, 1)]
    known = [rows[round(part * (len(rows) - 1))] for rows in along for part in (0.05, 0.35, 0.65, 0.95)]
    return X, np.where(np.isin(np.arange(len(y)), known), y, -1)


def two_instruments(seed):
    """Two classes by one instrument, and rows without labels (-1) by another of other scales."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], 60)
    X = rng.standard_normal((120, 2)) * [0.5, 0.9] + np.where(y[:, None] == 0, [-1.0, 0.4], [1.0, -0.4])
    X[60:] = X[60:] * [0.6, 2.0] + [2.4, 1.0]
    return X, np.where(np.arange(120) < 60, y, -1)


def clouds(seed):
    """Four clouds of different size and direction, without names."""
    import numpy as np

    rng = np.random.default_rng(seed)
    shapes = [((-2, -1), (0.5, 0.5)), ((0.3, 1.6), (1.0, 0.3)), ((2.2, -0.6), (0.35, 0.9)), ((0, -2.2), (0.7, 0.25))]
    X = np.concatenate([np.array(center) + rng.standard_normal((60, 2)) * size for center, size in shapes])
    return X[rng.permutation(len(X))], None


def ring(seed):
    """Points of a ring with two thick ends, without names."""
    import numpy as np

    rng = np.random.default_rng(seed)
    angle = np.pi * np.concatenate([rng.uniform(0, 2, 300), rng.normal(0.5, 0.08, 60), rng.normal(1.5, 0.08, 60)])
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.09 * rng.standard_normal((420, 2)), None


def two_sets(seed):
    """A flat cloud, and fewer points of a slanted one elsewhere: no point of one belongs to one of the other."""
    import numpy as np

    rng = np.random.default_rng(seed)
    flat = rng.standard_normal((240, 2)) * [1.0, 0.4]
    return flat, rng.standard_normal((160, 2)) @ np.array([[0.9, 0.5], [0.0, 0.4]]) + [4.0, 1.5]


def slanted(seed):
    """One long slanted cloud."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return rng.standard_normal((150, 2)) @ np.array([[1.5, 0.9], [0.0, 0.45]]), None


def mixed_sources(seed):
    """Two independent sources with flat densities, mixed."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (300, 2)) @ np.array([[1.0, 0.5], [0.6, 1.2]]), None
