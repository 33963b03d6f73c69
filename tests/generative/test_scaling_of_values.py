"""Columns that hardly ever move are not blown up where all have one unit: noise in them would drown the rest."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from margin.generative.autoencoder import Autoencoder
from margin.generative.vae import VAE
from margin.neural.scaling import Scaling


@pytest.mark.parametrize(
    "make, most",
    [
        (lambda: Autoencoder(8, max_iter=8, random_state=0), 2),
        (lambda: VAE(8, max_iter=8, random_state=0), 15),  # columns that hardly move are most of its density
    ],
)
def test_noisy_rows_are_restored_by_what_learned_from_clean_ones(make, most):
    X = load_digits().data[:900] / 16
    noisy = X[600:] + 0.3 * np.random.default_rng(0).normal(size=X[600:].shape)
    restored = make().fit(X[:600]).reconstruct(noisy)
    # Divided by their own deviations, columns that hardly move made it some hundred times the noise.
    assert np.mean((restored - X[600:]) ** 2) < most * np.mean((noisy - X[600:]) ** 2)


def test_columns_of_other_units_keep_their_own_deviations():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 4)) * [1e-3, 1, 50, 1e4]
    np.testing.assert_array_equal(Scaling.of_values(table).scale, Scaling.of(table).scale)
    pixels = np.repeat(np.arange(10.0)[:, None], 4, axis=1)
    pixels[:, 3] = np.arange(10) == 9
    scale = Scaling.of_values(pixels).scale
    usual = np.sqrt(np.mean(pixels.var(axis=0)))
    np.testing.assert_allclose(scale, [*[np.arange(10).std()] * 3, usual])
    np.testing.assert_array_equal(Scaling.of_values(np.ones((5, 3)), one_unit=True).scale, 1)
