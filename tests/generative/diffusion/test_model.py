"""The DiffusionModel estimator: every prediction and denoiser learns, kills change nothing, bad input is refused."""

import numpy as np
import pytest
import torch

from margin.data.generators import moons
from margin.generative import DiffusionModel
from margin.generative.diffusion.networks import MLPDenoiser, TransformerDenoiser, UNetDenoiser
from margin.generative.diffusion.predictions import PREDICTIONS
from margin.neural.weights import build
from margin.store.models import load_state, save_state

SMALL = {"hidden_layer_sizes": (8, 8), "n_steps": 20, "sampling_steps": 5, "max_iter": 2, "batch_size": 16}


def images(n=48, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, 16)), rng.integers(3, size=n)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"conditional": True, "prediction": "score", "weight_average": None},
        {"denoiser": "unet", "image_shape": (4, 4)},
        {"denoiser": "transformer", "image_shape": (4, 4), "prediction": "epsilon"},
    ],
    ids=["plain", "conditional", "unet", "transformer"],
)
def test_a_kill_changes_nothing(options, tmp_path):
    X, y = images()
    settings = {**SMALL, **options, "random_state": 3, "record_steps": 2}
    whole, first, second = (DiffusionModel(**settings) for _ in range(3))
    list(whole.iterate(X, y))
    for record in first.iterate(X, y):
        if record.iteration >= 2:
            save_state(first.get_state(), tmp_path / "state.safetensors")
            break
    list(second.iterate(X, y, state=load_state(tmp_path / "state.safetensors")[0]))
    for name, array in whole.weights_.items():
        np.testing.assert_array_equal(second.weights_[name], array, err_msg=name)
    np.testing.assert_array_equal(second.sample(3, random_state=0), whole.sample(3, random_state=0))


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_every_prediction_learns_a_normal_law(prediction):
    X = np.random.default_rng(0).normal([5.0, -2.0], [2.0, 0.5], size=(400, 2))
    model = DiffusionModel(
        (32, 32),
        prediction=prediction,
        noise_schedule="linear",
        n_steps=100,
        max_iter=60,
        batch_size=64,
        random_state=0,
    )
    model.set_params(learning_rate_init=5e-3).fit(X)
    made = model.sample(1000, random_state=0)
    np.testing.assert_allclose((made.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0), 0, atol=0.25)
    np.testing.assert_allclose(made.std(axis=0) / X.std(axis=0), 1, atol=0.3)


def test_the_bound_is_below_the_density_and_near_it():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 500, 1))
    model = DiffusionModel((32,), n_steps=60, max_iter=60, learning_rate_init=5e-3, random_state=0).fit(X)
    evidence = -0.5 * (np.log(2 * np.pi) + new[:, 0] ** 2)
    assert -0.5 < (model.score_samples(new) - evidence).mean() < 0.1


def test_a_score_does_not_depend_on_the_other_rows():
    X, _ = moons(np.random.default_rng(0), n_samples=60)
    model = DiffusionModel(**SMALL, random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X[:5]), model.score_samples(X)[:5], rtol=1e-9)


def test_scores_are_in_the_units_of_the_data():
    X, _ = moons(np.random.default_rng(0), n_samples=60)
    one, other = (DiffusionModel(**SMALL, random_state=0).fit(scale * X) for scale in (1.0, 10.0))
    np.testing.assert_allclose(other.score_samples(10 * X), one.score_samples(X) - 2 * np.log(10), rtol=1e-6)


@pytest.mark.parametrize("sampler", ["ddpm", "ddim", "dpm2", "dpm2-sde"])
def test_samplers_can_be_changed_after_the_fit(sampler):
    X, _ = moons(np.random.default_rng(0), n_samples=60)
    model = DiffusionModel(**SMALL, random_state=0).fit(X).set_params(sampler=sampler, sampling_steps=None)
    path = [rows for _, rows in model.sample_path(4, random_state=0)]
    assert len(path) == 20
    np.testing.assert_array_equal(path[-1], model.sample(4, random_state=0))


def test_without_new_noise_both_second_order_samplers_are_one():
    X, _ = moons(np.random.default_rng(0), n_samples=60)
    model = DiffusionModel(**SMALL, random_state=0).fit(X)
    drawn = {
        (sampler, tau): model.set_params(sampler=sampler, sampling_noise=tau).sample(4, random_state=0)
        for sampler, tau in (("dpm2", 1.0), ("dpm2-sde", 0.0), ("dpm2-sde", 2.0))
    }
    np.testing.assert_array_equal(drawn["dpm2-sde", 0.0], drawn["dpm2", 1.0])
    assert not np.allclose(drawn["dpm2-sde", 2.0], drawn["dpm2", 1.0])


def test_untrained_denoisers_predict_zero():
    level, label = torch.tensor([0.1, 0.9]), torch.tensor([0, 3])
    for build_one, x in (
        (lambda: MLPDenoiser(3, [8, 8], n_classes=3), torch.ones(2, 3)),
        (lambda: UNetDenoiser((1, 7, 5), [8, 16], n_classes=3), torch.ones(2, 1, 7, 5)),
        (lambda: TransformerDenoiser((2, 4, 6), 8, n_classes=3), torch.ones(2, 2, 4, 6)),
    ):
        network = build(build_one, 0)
        found = network(x, level, label)
        assert found.shape == x.shape
        assert torch.equal(found, torch.zeros_like(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"denoiser": "unet"}, "image_shape must be"),
        ({"denoiser": "unet", "image_shape": (3, 5)}, "product of 16"),
        ({"denoiser": "transformer", "image_shape": (4, 4), "hidden_layer_sizes": (8, 16)}, "must all be the same"),
        ({"denoiser": "transformer", "image_shape": (4, 4), "hidden_layer_sizes": (6,)}, "multiple of the 4 heads"),
        ({"solver": "lbfgs"}, "solver must be one of"),
        ({"conditional": True}, "y must hold a class per row"),
    ],
)
def test_bad_parameters_get_one_sentence(options, message):
    X, _ = images()
    with pytest.raises(ValueError, match=message):
        DiffusionModel(**{**SMALL, **options}).fit(X)


def test_bad_requests_get_one_sentence():
    X, _ = images()
    model = DiffusionModel(**SMALL, random_state=0).fit(X)
    with pytest.raises(ValueError, match="fitted without classes"):
        model.sample(2, y=1)
    with pytest.raises(ValueError, match="n_samples must be an integer"):
        model.sample(0)
    with pytest.raises(ValueError, match="t must be from 1"):
        model.denoise(X, 0)


def test_guidance_must_be_a_number():
    X, y = images()
    model = DiffusionModel(**{**SMALL, "max_iter": 1, "conditional": True}).fit(X, y)
    with pytest.raises(ValueError, match=r"^DiffusionModel: guidance_scale must be one finite number; got nan"):
        model.sample(2, y=y[0], guidance_scale=float("nan"))
    with pytest.raises(ValueError, match="guidance_scale"):
        model.set_params(guidance_scale=float("nan")).sample(2, y=y[0])
