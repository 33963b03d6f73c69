"""Tables of several columns."""

# ruff: noqa: ARG001 (every set takes a seed, also one that never changes)

from __future__ import annotations

__all__ = [
    "animals",
    "hair_and_eyes",
    "patients",
    "sprinkler",
    "tennis",
    "wines",
]


def hair_and_eyes(seed):
    """How many people have which color of hair (rows) and of eyes (columns)."""
    import numpy as np

    return np.array([[68.0, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]]), None


def animals(seed):
    """Traits of animals of four kinds; a fifth is known only by its description."""
    import numpy as np

    rng = np.random.default_rng(seed)
    traits = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]])
    y = np.repeat(np.arange(4), 15)
    return traits[y] @ np.array([[1, 0.2, 0], [0, 1, 0.3], [0.2, 0, 1]]) + 0.15 * rng.standard_normal((60, 3)), y


def patients(seed):
    """Ten measures of 300 people with diabetes, and how far it went in a year; all in standard deviations."""
    import numpy as np
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:300]
    X, y = X[rows], y[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def wines(seed):
    """Thirteen measures, in standard deviations, of 150 wines by three growers."""
    import numpy as np
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:150]
    return (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0), y[rows]


def tennis(seed):
    """Fourteen days: outlook, temperature, humidity, wind; was tennis played?"""
    import numpy as np

    days = "0210 0211 1210 2110 2000 2001 1001 0110 0000 2100 0101 1111 1200 2111"
    return np.array([[int(digit) for digit in day] for day in days.split()]), np.array([*map(int, "00111010111110")])


def sprinkler(seed):
    """Clouds, a sprinkler, rain and wet grass on 600 days: 1 is yes."""
    import numpy as np

    rng = np.random.default_rng(seed)
    cloudy = rng.random(600) < 0.5
    sprinkler = rng.random(600) < np.where(cloudy, 0.1, 0.5)
    rain = rng.random(600) < np.where(cloudy, 0.8, 0.2)
    wet = rng.random(600) < np.where(sprinkler & rain, 0.99, np.where(sprinkler | rain, 0.9, 0.02))
    return np.column_stack([cloudy, sprinkler, rain, wet]).astype(float), None
