"""Latent diffusion and the cascade: codes are decoded, and large images have the small ones in them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from margin.generative import DiffusionModel
from margin.generative.diffusion.cascade import Cascade
from margin.generative.diffusion.latent import LatentDiffusion

FIRST = {"n_steps": 20, "sampling_steps": 5, "max_iter": 3, "random_state": 0}


def test_codes_are_drawn_and_decoded():
    X = load_digits().data[:200]
    model = LatentDiffusion(PCA(5), DiffusionModel((16,), **FIRST)).fit(X)
    codes = model.diffusion.sample(4, random_state=1)
    np.testing.assert_allclose(model.sample(4, random_state=1), model.autoencoder.inverse_transform(codes))


def test_a_fitted_autoencoder_stays_as_it_is():
    X = load_digits().data[:200]
    coder = PCA(3).fit(X[:50])
    before = coder.components_.copy()
    LatentDiffusion(coder, DiffusionModel((8,), **FIRST), fitted=True).fit(X)
    np.testing.assert_array_equal(coder.components_, before)


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
