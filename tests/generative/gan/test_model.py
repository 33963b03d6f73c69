"""The GAN estimator: kills change nothing, classes are obeyed, bad input gets one sentence."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from margin.generative import GAN
from margin.store.models import load_state, save_state

SMALL = {"n_components": 2, "hidden_layer_sizes": (8,), "max_iter": 2, "batch_size": 16, "record_steps": 2}
OPTIONS = [
    {},
    {"loss": "wasserstein", "discriminator_updates": 2},
    {"loss": "relativistic", "penalty_end": 0.01},
    {"loss": "minimax", "penalty": "none", "dropout": 0.3, "blur": 0.1},
    {"spectral_norm": True, "n_discriminators": 2, "weight_average": None},
    {"architecture": "dcgan", "hidden_layer_sizes": (8, 4), "image_shape": (4, 4)},
    {"architecture": "style", "hidden_layer_sizes": (8, 4), "image_shape": (4, 4), "conditional": True},
]


def images(n=48, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, 16)), rng.integers(3, size=n)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())) or "plain")
def test_a_kill_changes_nothing(options, tmp_path):
    X, y = images()
    whole = GAN(**{**SMALL, **options}, random_state=3)
    list(whole.iterate(X, y))
    first = GAN(**{**SMALL, **options}, random_state=3)
    for record in first.iterate(X, y):
        if record.iteration >= 2:
            save_state(first.get_state(), tmp_path / "state.safetensors")
            break
    second = GAN(**{**SMALL, **options}, random_state=3)
    list(second.iterate(X, y, state=load_state(tmp_path / "state.safetensors")[0]))
    assert second.weights_.keys() == whole.weights_.keys()
    for name, array in whole.weights_.items():
        np.testing.assert_array_equal(second.weights_[name], array, err_msg=name)
    np.testing.assert_array_equal(second.sample(3, random_state=0), whole.sample(3, random_state=0))


def test_records_say_how_the_game_stands():
    X, _ = images()
    *_, record = GAN(**SMALL, random_state=0).iterate(X)
    assert {"generator_loss", "discriminator_loss", "discriminator_real", "discriminator_fake"} <= set(record.values)
    assert 0 < record["discriminator_real"] < 1
    assert record["discriminator_js"] == pytest.approx((record["discriminator_value"] + 2 * np.log(2)) / 2, abs=1e-6)


def test_the_penalty_falls_geometrically_to_its_end():
    X, _ = images()
    model = GAN(**{**SMALL, "record_steps": 1}, penalty_end=0.25, random_state=0)
    left = [(r.iteration - 1, model._loop.training.step.turn.penalty_left) for r in model.iterate(X)]
    assert len(left) == 6  # 3 updates in each of 2 epochs
    for step, fraction in left:
        assert fraction == pytest.approx(0.25 ** (step / 6))


def test_a_gan_has_no_density():
    assert not hasattr(GAN(), "score_samples")
    assert GAN.log_density_kind == "none"


def test_samples_come_in_the_units_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.normal([100.0, -5.0], [10.0, 0.1], size=(400, 2))
    model = GAN(4, (32,), max_iter=40, random_state=0).fit(X)
    made = model.sample(1000, random_state=0)
    np.testing.assert_allclose((made.mean(axis=0) - [100, -5]) / [10, 0.1], 0, atol=0.4)
    np.testing.assert_allclose(made.std(axis=0) / [10, 0.1], 1, atol=0.5)
    assert abs(model.discriminate(X).mean() - 0.5) < 0.15


@pytest.mark.parametrize(
    ("loss", "rate", "message"),
    [
        ("wasserstein", 30.0, "the loss of the discriminator is .* after .* steps, the game has diverged"),
        ("non-saturating", 1e30, "a smaller learning"),  # not a number at once
    ],
)
def test_a_game_that_diverges_is_no_model(loss, rate, message):
    X, _ = images()
    wild = {**SMALL, "loss": loss, "penalty": "none", "learning_rate": "constant", "max_iter": 300}
    model = GAN(**wild, learning_rate_init=rate, random_state=0)
    with pytest.raises(FloatingPointError, match=message):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.sample(2)


def test_a_warm_start_that_diverges_leaves_the_model_as_it_was():
    X, _ = images()
    model = GAN(**SMALL, warm_start=True, random_state=0).fit(X)
    before, epochs = model.sample(5, random_state=0), model.n_iter_
    model.set_params(learning_rate_init=1e30)
    with pytest.raises(FloatingPointError):
        model.fit(X)
    np.testing.assert_array_equal(model.sample(5, random_state=0), before)
    assert model.n_iter_ == epochs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "dcgan", "hidden_layer_sizes": (8, 4)}, "image_shape must be"),
        ({"architecture": "dcgan", "image_shape": (4, 4), "hidden_layer_sizes": (8,)}, "two numbers of channels"),
        ({"architecture": "style", "image_shape": (3, 4), "hidden_layer_sizes": (8, 4)}, "product of 16"),
        ({"architecture": "dcgan", "image_shape": (2, 8), "hidden_layer_sizes": (8, 4)}, "sides of at least 4"),
        ({"early_stopping": True}, "early_stopping must be False"),
        ({"solver": "lbfgs"}, "solver must be one of"),
        ({"alpha": 0.1}, "alpha must be 0"),
        ({"penalty_end": 0.0}, "penalty_end must be a number above 0"),
        ({"conditional": True}, "y must hold a class per row"),
        ({"learning_rate": "adaptive"}, "must not wait for a plateau"),
    ],
)
def test_bad_parameters_get_one_sentence(options, message):
    X, _ = images()
    with pytest.raises(ValueError, match=message):
        GAN(**{**SMALL, **options}).fit(X)


def test_bad_requests_get_one_sentence():
    X, y = images()
    model = GAN(**SMALL, conditional=True, random_state=0).fit(X, y)
    assert model.sample(5, random_state=0, y=1).shape == (5, 16)
    assert model.sample(2, random_state=0, y=[0, 2]).shape == (2, 16)
    with pytest.raises(ValueError, match="classes of the fit"):
        model.sample(2, y=7)
    with pytest.raises(ValueError, match="one class or one for each"):
        model.sample(3, y=[0, 1])
    with pytest.raises(ValueError, match="n_samples must be an integer"):
        model.sample(0)
    with pytest.raises(ValueError, match="Z must have 2 columns"):
        model.generate(np.zeros((1, 3)), y=0)
    plain = GAN(**SMALL, random_state=0).fit(X)
    with pytest.raises(ValueError, match="fitted without classes"):
        plain.sample(2, y=1)
    with pytest.raises(ValueError, match="needs architecture 'style'"):
        plain.mix_styles(np.zeros((1, 2)), np.zeros((1, 2)))


def test_styles_that_cannot_be_mixed_are_named():
    X = np.random.default_rng(0).random((16, 64))
    model = GAN(4, (4, 4), architecture="style", image_shape=(8, 8), max_iter=1, random_state=0).fit(X)
    assert model.mix_styles(np.zeros((2, 4)), np.ones((2, 4)), 1).shape == (2, 64)
    for arguments, sentence in [
        ((np.zeros((2, 3)), np.zeros((2, 4))), "Z must have 4 columns"),
        ((np.zeros((2, 4)), np.zeros((3, 4))), "Z and Z_fine must have as many rows; got 2 and 3"),
        ((np.zeros((2, 4)), np.full((2, 4), np.nan)), "Z_fine must be finite"),
        ((np.zeros((2, 4)), np.zeros((2, 4)), 99), "n_coarse must be an integer from 0 to"),
    ]:
        with pytest.raises(ValueError, match=f"^GAN: {sentence}"):
            model.mix_styles(*arguments)
