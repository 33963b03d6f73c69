"""Small pictures, and what is on them."""

from __future__ import annotations

__all__ = [
    "digits",
    "scenes_with_boxes",
    "scenes_with_captions",
    "scenes_with_masks",
    "shapes",
    "slants",
]


def digits(seed):
    """Handwritten digits of 8 by 8 pixels."""
    import numpy as np
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:400]
    return X[rows] / 16, y[rows]


def slants(seed):
    """Pictures of bars, and the angle of each."""
    import numpy as np

    rng = np.random.default_rng(seed)
    angle, (row, column) = rng.uniform(-1.2, 1.2, 120), np.mgrid[-1:1:12j, -1:1:12j]
    distance = np.abs(row * np.cos(angle)[:, None, None] - column * np.sin(angle)[:, None, None])
    pictures = np.exp(-((distance / 0.25) ** 2)) + 0.05 * rng.standard_normal((120, 12, 12))
    return pictures.reshape(120, 144), angle


def scenes_with_boxes(seed):
    """Shapes on a noisy ground, and the box around each."""
    import numpy as np

    from margin.data.scenes import shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=16, side=24, sizes=(7, 11), n_objects=(1, 2))
    return scenes.images, scenes.boxes


def scenes_with_masks(seed):
    """Shapes on a noisy ground, and which pixels belong to each kind."""
    import numpy as np

    from margin.data.scenes import shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=16, side=16, sizes=(6, 9), n_objects=(1, 2))
    return scenes.images, scenes.masks


def scenes_with_captions(seed):
    """Shapes on a noisy ground, and a sentence about each picture."""
    import numpy as np

    from margin.data.scenes import SHAPES, shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=24, side=16, sizes=(6, 9), n_objects=(1, 1))
    return scenes.images, [f"a {SHAPES[boxes.labels[0]]}" for boxes in scenes.boxes]


def shapes(seed):
    """Gray pictures of 40 by 40 pixels, and the kind of the shape in each."""
    import numpy as np

    from margin.data.scenes import shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=24, side=40, sizes=(16, 26), n_objects=(1, 1))
    images = np.asarray(scenes.images, dtype=float).reshape(24, 40, 40, -1).mean(axis=3)
    return images.reshape(24, -1), np.array([boxes.labels[0] for boxes in scenes.boxes])
