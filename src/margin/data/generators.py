r"""Synthetic sets whose truth is known: each is a pure function of a generator and returns ``(X, y)``.

``X`` has shape (n_samples, n_features). ``y`` holds class labels (int64), a response, or, for the curved sheets, the
position along the sheet. Rows come in random order. ``noise`` is always the standard deviation of added Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = [
    "blobs",
    "circles",
    "friedman",
    "moons",
    "noisy_function",
    "noisy_polynomial",
    "s_curve",
    "shapes",
    "spirals",
    "swiss_roll",
    "two_gaussians",
    "xor",
]

Arrays = tuple[np.ndarray, np.ndarray]


def blobs(
    rng: np.random.Generator, n_samples: int = 300, noise: float = 1.0, n_centers: int = 3, n_features: int = 2
) -> Arrays:
    """Round Gaussian clouds around centers drawn uniformly from a box of side 20; sizes differ by at most one.

    >>> X, y = blobs(np.random.default_rng(0), n_samples=7)
    >>> X.shape, sorted(np.bincount(y).tolist())
    ((7, 2), [2, 2, 3])
    """
    _check("blobs", n_samples, noise)
    _check_count("blobs", "n_centers", n_centers)
    _check_count("blobs", "n_features", n_features)
    centers = rng.uniform(-10, 10, size=(n_centers, n_features))
    y = _balance_labels(rng, n_samples, n_centers)
    return centers[y] + noise * rng.standard_normal((n_samples, n_features)), y


def moons(rng: np.random.Generator, n_samples: int = 300, noise: float = 0.1) -> Arrays:
    r"""Two interleaved half circles.

    Class 0 is :math:`(\cos t, \sin t)` and class 1 :math:`(1 - \cos t,\ 1/2 - \sin t)`,
    with :math:`t` uniform in :math:`[0, \pi]`.
    """
    _check("moons", n_samples, noise)
    y = _balance_labels(rng, n_samples, 2)
    t = rng.uniform(0, np.pi, n_samples)
    upper = np.column_stack([np.cos(t), np.sin(t)])
    lower = np.column_stack([1 - np.cos(t), 0.5 - np.sin(t)])
    return _noisy(rng, np.where(y[:, None] == 0, upper, lower), noise), y


def circles(rng: np.random.Generator, n_samples: int = 300, noise: float = 0.05, factor: float = 0.5) -> Arrays:
    """Two concentric rings: radius 1 (class 0) and ``factor`` (class 1)."""
    _check("circles", n_samples, noise)
    if not 0 < factor < 1:
        raise ValueError(f"circles: factor must lie strictly between 0 and 1; got {factor!r}.")
    y = _balance_labels(rng, n_samples, 2)
    t = rng.uniform(0, 2 * np.pi, n_samples)
    radius = np.where(y == 0, 1.0, factor)
    return _noisy(rng, radius[:, None] * np.column_stack([np.cos(t), np.sin(t)]), noise), y


def xor(rng: np.random.Generator, n_samples: int = 300, noise: float = 0.0) -> Arrays:
    """Points of the square from -1 to 1; class 1 where the signs of the two coordinates differ, before the noise."""
    _check("xor", n_samples, noise)
    X = rng.uniform(-1, 1, size=(n_samples, 2))
    y = (X[:, 0] * X[:, 1] < 0).astype(np.int64)
    return _noisy(rng, X, noise), y


def spirals(
    rng: np.random.Generator, n_samples: int = 300, noise: float = 0.02, n_arms: int = 2, turns: float = 1.5
) -> Arrays:
    r"""Interleaved spiral arms, one class each.

    Arm :math:`k` is :math:`r = s,\ \varphi = 2\pi(\text{turns}\cdot s + k/\text{arms})`,
    with :math:`s` uniform in :math:`[0.1, 1]`.
    """
    _check("spirals", n_samples, noise)
    _check_count("spirals", "n_arms", n_arms)
    if not (np.isfinite(turns) and turns > 0):
        raise ValueError(f"spirals: turns must be positive; got {turns!r}.")
    y = _balance_labels(rng, n_samples, n_arms)
    s = rng.uniform(0.1, 1, n_samples)
    angle = 2 * np.pi * (turns * s + y / n_arms)
    return _noisy(rng, s[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), noise), y


def swiss_roll(rng: np.random.Generator, n_samples: int = 500, noise: float = 0.0) -> Arrays:
    r"""A rolled-up sheet in space; the response is the position along the roll.

    Points :math:`(t\cos t,\ h,\ t\sin t)`,
    with :math:`t` uniform in :math:`[1.5\pi, 4.5\pi]` and :math:`h` in :math:`[0, 21]`; ``y`` is :math:`t`.
    """
    _check("swiss-roll", n_samples, noise)
    t = rng.uniform(1.5 * np.pi, 4.5 * np.pi, n_samples)
    height = rng.uniform(0, 21, n_samples)
    return _noisy(rng, np.column_stack([t * np.cos(t), height, t * np.sin(t)]), noise), t


def s_curve(rng: np.random.Generator, n_samples: int = 500, noise: float = 0.0) -> Arrays:
    r"""A sheet bent to an S in space; the response is the position along the curve.

    Points :math:`(\sin t,\ h,\ \operatorname{sign}(t)(\cos t - 1))`,
    with :math:`t` uniform in :math:`[-1.5\pi, 1.5\pi]` and :math:`h` in :math:`[0, 2]`; ``y`` is :math:`t`.
    """
    _check("s-curve", n_samples, noise)
    t = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, n_samples)
    height = rng.uniform(0, 2, n_samples)
    return _noisy(rng, np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)]), noise), t


def friedman(rng: np.random.Generator, n_samples: int = 300, noise: float = 1.0, n_features: int = 10) -> Arrays:
    r"""Friedman's first problem: uniform features, of which only five matter.

    .. math:: y = 10\sin(\pi x_1x_2) + 20(x_3 - 1/2)^2 + 10x_4 + 5x_5 + \varepsilon
    """
    _check("friedman", n_samples, noise)
    _check_count("friedman", "n_features", n_features, low=5)
    X = rng.uniform(size=(n_samples, n_features))
    clean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, _noisy(rng, clean, noise)


def noisy_function(
    rng: np.random.Generator,
    function: Callable[[np.ndarray], np.ndarray],
    n_samples: int = 100,
    noise: float = 0.1,
    low: float = -1.0,
    high: float = 1.0,
) -> Arrays:
    r"""Noisy observations of a fixed function of one variable: :math:`y_i = f(x_i) + \varepsilon_i`.

    The :math:`x_i` are uniform in [low, high], the :math:`\varepsilon_i` Gaussian with standard deviation ``noise``.
    """
    _check("noisy-function", n_samples, noise)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"noisy-function: low must be below high; got {low!r} and {high!r}.")
    x = rng.uniform(low, high, n_samples)
    return x[:, None], _noisy(rng, np.asarray(function(x), dtype=np.float64), noise)


def noisy_polynomial(
    rng: np.random.Generator,
    n_samples: int = 100,
    noise: float = 0.1,
    coefficients: Sequence[float] = (0.0, -1.0, 0.0, 2.0),
) -> Arrays:
    r"""A polynomial on [-1, 1] seen through noise.

    :math:`y = \sum_k c_k x^k + \varepsilon`, ``coefficients`` from the constant upward.
    """
    c = np.asarray(coefficients, dtype=np.float64)
    if c.ndim != 1 or not c.size or not np.all(np.isfinite(c)):
        raise ValueError(f"noisy-polynomial: coefficients must be a list of numbers; got {coefficients!r}.")
    return noisy_function(rng, lambda x: np.polynomial.polynomial.polyval(x, c), n_samples, noise)


def two_gaussians(
    rng: np.random.Generator, n_samples: int = 500, noise: float = 1.0, separation: float = 4.0, weight: float = 0.5
) -> Arrays:
    r"""A mixture of two Gaussians on the line; the labels tell the component.

    The density is :math:`w\,N(-s/2, \sigma^2) + (1-w)\,N(s/2, \sigma^2)`.
    """
    _check("two-gaussians", n_samples, noise)
    if not np.isfinite(separation):
        raise ValueError(f"two-gaussians: separation must be finite; got {separation!r}.")
    if not 0 <= weight <= 1:
        raise ValueError(f"two-gaussians: weight must lie in [0, 1]; got {weight!r}.")
    y = (rng.uniform(size=n_samples) >= weight).astype(np.int64)
    return _noisy(rng, separation * (y[:, None] - 0.5), noise), y


def shapes(rng: np.random.Generator, n_samples: int = 200, noise: float = 0.1, size: int = 16) -> Arrays:
    """Gray images of a disk (class 0) or a cross (class 1) at a random position and scale, flattened row by row.

    What a convolution sees at once and a table model must learn position by position.
    """
    _check("shapes", n_samples, noise)
    _check_count("shapes", "size", size, low=8)
    y = _balance_labels(rng, n_samples, 2)
    radius = rng.uniform(size / 8, size / 4, (n_samples, 1, 1))
    row, column = (rng.uniform(radius, size - 1 - radius) for _ in range(2))
    dy = np.abs(np.arange(size)[None, :, None] - row)  # (n, size, 1)
    dx = np.abs(np.arange(size)[None, None, :] - column)  # (n, 1, size)
    disk = dx**2 + dy**2 <= radius**2
    # Bars half a pixel wide on each side, at least: always one row and one column of ink.
    cross = (np.minimum(dx, dy) <= np.maximum(radius / 4, 0.5)) & (np.maximum(dx, dy) <= radius)
    images = np.where(y[:, None, None] == 0, disk, cross).astype(np.float64)
    return _noisy(rng, images.reshape(n_samples, -1), noise), y


def _balance_labels(rng: np.random.Generator, n_samples: int, n_classes: int) -> np.ndarray:
    """Labels 0 .. n_classes - 1 in random order, their counts equal up to one."""
    return rng.permutation(np.arange(n_samples, dtype=np.int64) % n_classes)


def _noisy(rng: np.random.Generator, clean: np.ndarray, noise: float) -> np.ndarray:
    return clean + noise * rng.standard_normal(clean.shape) if noise else clean


def _check(name: str, n_samples: int, noise: float) -> None:
    _check_count(name, "n_samples", n_samples)
    if isinstance(noise, bool) or not isinstance(noise, int | float | np.number) or not 0 <= noise < np.inf:
        raise ValueError(f"{name}: noise must be a number of at least 0; got {noise!r}.")


def _check_count(name: str, argument: str, value: int, low: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"{name}: {argument} must be an integer of at least {low}; got {value!r}.")
