"""The cascade: large images have the small ones in them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from margin.generative import DiffusionModel
from margin.generative.diffusion.cascade import Cascade

FIRST = {"n_steps": 20, "sampling_steps": 5, "max_iter": 3, "random_state": 0}


def test_enlarged_images_have_the_small_ones_in_them():
    X = load_digits().data[:600] / 16
    model = Cascade(DiffusionModel((16,), **FIRST), (1, 8, 8), n_steps=50, max_iter=12, seed=0).fit(X)
    assert model.losses_[-1] < 0.7 * model.losses_[0]
    small = X[:100].reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))
    large = model.enlarge(small.reshape(100, -1), random_state=0).reshape(-1, 4, 2, 4, 2)
    assert np.abs(large.mean(axis=(2, 4)) - small).mean() < 0.5 * small.std()
    assert model.sample(3, random_state=0).shape == (3, 64)


def test_odd_sides_are_refused():
    with pytest.raises(ValueError, match="even height and width"):
        Cascade(DiffusionModel(), (1, 7, 8))
