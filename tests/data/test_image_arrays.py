"""Scaling of channels against NumPy's weighted moments."""

import numpy as np

from margin.data.image_arrays import channel_scaling


def test_channels_are_scaled_by_their_own_weighted_mean_and_deviation():
    rng = np.random.default_rng(0)
    images = (
        rng.normal(size=(7, 3, 4, 5)) * np.array([0.3, 2.0, 11.0])[:, None, None]
        + np.array([5.0, -1.0, 0.2])[:, None, None]
    )
    weight = rng.uniform(0.2, 3.0, size=7)
    mean, deviation = channel_scaling(images, weight)
    for channel in range(3):
        pixels, by_pixel = images[:, channel].reshape(7, -1), np.repeat(weight[:, None], 20, axis=1)
        expected = np.average(pixels, weights=by_pixel)
        spread = np.sqrt(np.average((pixels - expected) ** 2, weights=by_pixel))
        np.testing.assert_allclose([mean[channel], deviation[channel]], [expected, spread], rtol=1e-10)


def test_a_channel_without_spread_keeps_its_unit():
    images = np.full((3, 2, 2, 2), 7.0)
    images[:, 1] = np.arange(12).reshape(3, 2, 2)
    mean, deviation = channel_scaling(images, np.ones(3))
    assert mean[0] == 7.0
    assert deviation[0] == 1.0
    np.testing.assert_allclose(deviation[1], np.arange(12).std())
