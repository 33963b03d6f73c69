"""The autoencoder: its penalties against SciPy, its codes against PCA, its shapes, warnings and complaints."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.linalg import subspace_angles
from scipy.stats import entropy, laplace
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from margin.generative import Autoencoder
from margin.generative.autoencoder import corrupt
from margin.generative.autoencoder_network import AutoencoderNetwork
from margin.generative.coders import image_sizes
from margin.generative.sparsity import (
    bernoulli_kl,
    keep_largest,
    l1_activity,
    laplace_negative_log_density,
    mean_activity_kl,
)
from margin.neural.scaling import Scaling

DIGITS = load_digits().data / 16
rng = np.random.default_rng(0)
PLANE = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 5)) + 0.1 * rng.normal(size=(300, 5)) + 1


def test_penalties_equal_scipys():
    code = torch.from_numpy(rng.normal(size=(7, 4)))
    expected = -laplace(scale=1 / 3).logpdf(code.numpy()).sum(axis=1)
    np.testing.assert_allclose(laplace_negative_log_density(code, 3.0).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(l1_activity(code).numpy(), np.abs(code.numpy()).sum(axis=1))
    activity = torch.rand(6, 3, dtype=torch.float64)
    means = activity.mean(dim=0).numpy()
    divergences = [entropy([0.1, 0.9], [m, 1 - m]) for m in means]
    np.testing.assert_allclose(bernoulli_kl(0.1, torch.from_numpy(means)).numpy(), divergences, rtol=1e-10)
    assert float(mean_activity_kl(activity, 0.1)) == pytest.approx(sum(divergences))
    assert np.isfinite(float(bernoulli_kl(0.05, torch.tensor(0.0))))


def test_keep_largest_equals_a_sort():
    code = rng.normal(size=(20, 9))
    expected = code.copy()
    np.put_along_axis(expected, np.argsort(np.abs(code), axis=1)[:, :-3], 0.0, axis=1)
    np.testing.assert_array_equal(keep_largest(torch.from_numpy(code), 3).numpy(), expected)


@pytest.mark.parametrize("kind", ["gaussian", "mask"])
def test_corruption_has_its_level(kind):
    x = torch.ones(200, 100)
    noisy = corrupt(x, kind, 0.3, torch.Generator().manual_seed(0))
    measured = float((noisy == 0).float().mean()) if kind == "mask" else float((noisy - x).std())
    assert measured == pytest.approx(0.3, abs=0.01)
    assert corrupt(x, kind, 0.0, torch.Generator()) is x


def linear(X, k, **options):
    return Autoencoder(k, (), solver="lbfgs", max_iter=400, tol=1e-9, standardize=False, random_state=0, **options).fit(
        X
    )


def test_a_linear_autoencoder_spans_the_principal_subspace():
    model, pca = linear(PLANE, 2), PCA(2).fit(PLANE)
    span = model.decode(np.eye(2)) - model.decode(np.zeros((2, 2)))
    assert np.degrees(subspace_angles(span.T, pca.components_.T)).max() < 0.1
    best = np.square(PLANE - pca.inverse_transform(pca.transform(PLANE))).sum(axis=1)
    np.testing.assert_allclose(model.reconstruction_errors(PLANE).mean(), best.mean(), rtol=1e-4)


def test_more_coordinates_restore_more():
    errors = [-linear(PLANE, k).score(PLANE) for k in (1, 2, 4)]
    assert errors == sorted(errors, reverse=True)


def test_a_code_that_can_copy_is_remarked_on():
    with pytest.warns(UserWarning, match="can copy rows of 5 columns"):
        linear(PLANE, 5)


def test_convolutional_codes_and_odd_sizes():
    X = DIGITS[:300].astype(np.float32)
    model = Autoencoder(6, (8,), image_shape=(1, 8, 8), out_activation="logistic", max_iter=10, random_state=0)
    model.set_params(learning_rate_init=1e-2, batch_size=32).fit(X)
    assert model.reconstruct(X).shape == (300, 64)
    assert -model.score(X) < 0.8 * X.var(axis=0).sum()
    net = AutoencoderNetwork(2 * 7 * 5, 3, [4, 5], image_shape=(2, 7, 5))
    assert net(torch.zeros(6, 70))[1].shape == (6, 70)
    assert image_sizes((2, 7, 5), 2) == [(7, 5), (4, 3), (2, 2)]


def test_only_the_largest_coordinates_are_active():
    model = Autoencoder(30, (32,), n_active=5, max_iter=3, random_state=0).fit(DIGITS[:300])
    assert ((model.transform(DIGITS[:300]) != 0).sum(axis=1) == 5).all()


@pytest.mark.parametrize(("sparsity", "code"), [("l1", "relu"), ("kl", "logistic")])
def test_penalties_quiet_the_code(sparsity, code):
    def mean_activity(weight):
        model = Autoencoder(20, (), sparsity=sparsity, sparsity_weight=weight, code_activation=code, random_state=0)
        model.set_params(max_iter=15, learning_rate_init=1e-2, standardize=False).fit(DIGITS[:400])
        return model.transform(DIGITS[:400]).mean()

    assert mean_activity(1.0) < 0.5 * mean_activity(0.0)


def test_clear_complaints():
    for options, message in [
        ({"sparsity": "kl"}, "code_activation must be 'logistic'"),
        ({"n_active": 9}, "n_active must be at most n_components=8; got 9"),
        ({"noise": 1.0, "noise_kind": "mask"}, "noise must be below 1"),
        ({"noise": 0.5, "solver": "lbfgs"}, "noise must be 0 with solver 'lbfgs'"),
        ({"image_shape": (1, 8, 9)}, "image_shape must be .* with a product of 64"),
        ({"image_shape": (8, 9)}, "image_shape must be .* with a product of 64"),
    ]:
        with pytest.raises(ValueError, match=message):
            Autoencoder(**options).fit(DIGITS[:50])
    with pytest.raises(ValueError, match="entries from 0 to 1"):
        Autoencoder(out_activation="logistic").fit(DIGITS[:50] * 16)
    model = Autoencoder(2, (4,), max_iter=1, random_state=0).fit(DIGITS[:50])
    with pytest.raises(ValueError, match="Z must have 2 columns"):
        model.decode(np.zeros((1, 3)))
    assert not hasattr(model, "sample")


def test_noise_on_pixels_that_hardly_move_is_not_blown_up():
    X = load_digits().data / 16
    rng = np.random.default_rng(0)
    train, test = X[:1200], X[1200:]
    noisy = test + 0.3 * rng.standard_normal(test.shape)
    model = Autoencoder(16, (64,), noise=0.5, max_iter=15, random_state=0).fit(train)
    usual = np.sqrt(np.mean(train.var(axis=0)))
    assert model.scale_[np.ptp(train, axis=0) > 0].min() >= 0.9 * usual
    error = np.mean(np.square(model.reconstruct(noisy) - test))
    assert error < np.mean(np.square(noisy - test))  # it takes noise away
    rough = Autoencoder(2, (4,), noise=0.5, max_iter=1, random_state=0).fit(train * np.geomspace(1e-3, 1e3, 64))
    np.testing.assert_allclose(rough.scale_, Scaling.of(train * np.geomspace(1e-3, 1e3, 64)).scale)  # several units
