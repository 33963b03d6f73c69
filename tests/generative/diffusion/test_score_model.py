"""The ScoreModel estimator: slopes, modes in proportion, kills that change nothing, bad input."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from margin.generative import ScoreModel
from margin.generative.diffusion.mixture import ExactMixture
from margin.store.models import load_state, save_state

SMALL = {"hidden_layer_sizes": (8, 8), "n_levels": 4, "steps_per_level": 2, "max_iter": 2, "batch_size": 16}


def two_clouds(n=800):
    rng = np.random.default_rng(0)
    chosen = np.where(rng.random(n) < 0.75, 3.0, -3.0)
    return chosen[:, None] * [1.0, 0.5] + rng.normal(size=(n, 2)) * 0.4


def test_far_modes_are_drawn_in_their_proportion_and_the_slope_is_that_of_the_noisy_density():
    X = two_clouds()
    model = ScoreModel(
        (64, 64), max_iter=40, learning_rate_init=5e-3, standardize=False, smallest_noise=0.1, random_state=0
    ).fit(X)
    made = model.sample(600, random_state=0)
    assert (made[:, 0] > 0).mean() == pytest.approx(0.75, abs=0.1)
    np.testing.assert_allclose(made[made[:, 0] > 0].mean(axis=0), [3.0, 1.5], atol=0.3)
    mixture = ExactMixture([[3.0, 1.5], [-3.0, -1.5]], [0.4, 0.4], [0.75, 0.25]).scaled(1.0, 1.5)
    import torch

    truth = mixture.score(torch.from_numpy(X)).numpy()
    found = model.score_field(X, 1.5)
    assert np.mean((found - truth) ** 2) < 0.2 * np.mean(truth**2)


@pytest.mark.parametrize(
    "options",
    [{}, {"denoiser": "unet", "image_shape": (4, 4)}, {"denoiser": "transformer", "image_shape": (2, 2, 4)}],
    ids=["plain", "unet", "transformer"],
)
def test_a_kill_changes_nothing(options, tmp_path):
    X = np.random.default_rng(0).random((48, 16))
    settings = {**SMALL, **options, "random_state": 3, "record_steps": 2}
    whole, first, second = (ScoreModel(**settings) for _ in range(3))
    list(whole.iterate(X))
    for record in first.iterate(X):
        if record.iteration >= 2:
            save_state(first.get_state(), tmp_path / "state.safetensors")
            break
    list(second.iterate(X, state=load_state(tmp_path / "state.safetensors")[0]))
    for name, array in whole.weights_.items():
        np.testing.assert_array_equal(second.weights_[name], array, err_msg=name)
    np.testing.assert_array_equal(second.sample(3, random_state=0), whole.sample(3, random_state=0))


def test_images_with_channels_last_come_back_in_their_order():
    rng = np.random.default_rng(0)
    X = np.tile([0.0, 5.0, 10.0], 16) + 0.1 * rng.normal(size=(64, 48))  # (4, 4, 3): a level per channel
    model = ScoreModel((4, 4), denoiser="unet", image_shape=(4, 4, 3), max_iter=8, batch_size=16, random_state=0)
    model.set_params(learning_rate_init=0.02).fit(X)
    np.testing.assert_allclose(model.denoise(X, model.smallest_noise), X, atol=0.3)
    channels = model.denoise(X, 1.0).reshape(-1, 16, 3).mean(axis=(0, 1))
    assert channels[0] < channels[1] < channels[2]


def test_the_sampler_can_be_changed_after_the_fit():
    model = ScoreModel(**SMALL, random_state=0).fit(two_clouds(60))
    path = [rows for _, rows in model.set_params(n_levels=7).sample_path(4, random_state=0)]
    assert len(path) == 7
    np.testing.assert_array_equal(path[-1], model.sample(4, random_state=0))
    assert not np.array_equal(model.set_params(denoise_last=False).sample(4, random_state=0), path[-1])


def test_a_warm_start_keeps_the_widest_noise():
    X = two_clouds(60)
    model = ScoreModel(**SMALL, warm_start=True, random_state=0).fit(X)
    before = model.network_["largest"]
    model.fit(3 * X)
    assert model.network_["largest"] == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smallest_noise": 2.0, "largest_noise": 1.0}, "smallest_noise must be below the largest, 1; got 2"),
        ({"denoiser": "unet"}, "image_shape must be"),
        ({"denoiser": "unet", "image_shape": (3, 5)}, "product of 2"),
        ({"langevin_step": 2.5}, "langevin_step must be"),
    ],
)
def test_bad_parameters_get_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        ScoreModel(**{**SMALL, **options}).fit(two_clouds(60))


def test_bad_requests_get_one_sentence():
    with pytest.raises(NotFittedError, match="ScoreModel"):
        ScoreModel().sample(2)
    with pytest.raises(NotFittedError, match="ScoreModel"):
        ScoreModel().score_field(np.zeros((2, 2)), 0.5)
    X = two_clouds(60)
    model = ScoreModel(**SMALL, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"^ScoreModel: noise must be one finite number; got nan"):
        model.score_field(X, float("nan"))
    with pytest.raises(ValueError, match=r"^ScoreModel: noise must be from 0.01 to .* as learned; got 99"):
        model.denoise(X, 99)
    with pytest.raises(ValueError, match="3 features, but ScoreModel is expecting 2"):
        model.score_field(np.zeros((4, 3)), 0.5)
