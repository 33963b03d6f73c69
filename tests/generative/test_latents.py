"""Latents other than the standard normal one: the sphere against SciPy, the mixture prior; weighted training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp, vonmises_fisher
from sklearn.datasets import load_digits

from margin.generative import VAE
from margin.generative.latents import MarkovLatent, MixtureLatent, NormalLatent, SphereLatent
from margin.generative.sphere import (
    bessel_ratio,
    cosine_quantile,
    kl_to_uniform_sphere,
    log_normalizer,
    on_sphere,
    sample_von_mises_fisher,
)
from margin.neural.weights import build

rng = np.random.default_rng(0)
X = load_digits().data[:200].astype(np.float32) / 16


@pytest.mark.parametrize("d", [2, 3, 8])
def test_densities_and_divergence_equal_scipys(d):
    direction = np.eye(d)[0]
    for kappa in (0.3, 5.0, 60.0):
        law, k = vonmises_fisher(direction, kappa), torch.tensor(kappa, dtype=torch.float64)
        assert float(log_normalizer(k, d)) == pytest.approx(law.logpdf(direction) - kappa, rel=1e-9)
        uniform = -float(log_normalizer(torch.tensor(1e-4, dtype=torch.float64), d))
        assert float(kl_to_uniform_sphere(k, d)) == pytest.approx(uniform - law.entropy(), abs=1e-6)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_derivatives_equal_finite_differences(d):
    kappa = torch.tensor([0.5, 3.0, 40.0], dtype=torch.float64, requires_grad=True)
    for function in (bessel_ratio, log_normalizer, kl_to_uniform_sphere):
        assert torch.autograd.gradcheck(lambda k, f=function: f(k, d), (kappa,), atol=1e-6)
    u = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    (slope,) = torch.autograd.grad(cosine_quantile(u, kappa, d).sum(), kappa)
    h = 0.05 * kappa.detach()
    difference = (cosine_quantile(u, kappa.detach() + h, d) - cosine_quantile(u, kappa.detach() - h, d)) / (2 * h)
    torch.testing.assert_close(slope, difference, rtol=0.03, atol=2e-4)


@pytest.mark.parametrize(("d", "kappa"), [(2, 1.0), (3, 10.0), (7, 30.0)])
def test_rejection_and_quantiles_draw_the_same(d, kappa):
    direction = np.ones(d) / np.sqrt(d)
    rejected = sample_von_mises_fisher(direction, kappa, 3000, rng)
    np.testing.assert_allclose(np.linalg.norm(rejected, axis=1), 1, atol=1e-9)
    u, k = torch.from_numpy(rng.random(3000)), torch.full((3000,), kappa, dtype=torch.float64)
    placed = on_sphere(
        torch.from_numpy(direction), cosine_quantile(u, k, d), torch.from_numpy(rng.normal(size=(3000, d)))
    )
    reference = vonmises_fisher(direction, kappa).rvs(3000, random_state=1)
    for draws in (rejected, placed.numpy()):
        assert ks_2samp(draws @ direction, reference @ direction).pvalue > 1e-3
        assert ks_2samp(draws[:, 0], reference[:, 0]).pvalue > 1e-3


def test_mixture_prior_equals_torchs():
    from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

    latent = build(lambda: MixtureLatent(3, 4), seed=0, dtype=torch.float64)
    z, head = torch.randn(5, 3).double(), torch.randn(5, 6).double()
    parts = Independent(Normal(latent.means, torch.exp(0.5 * latent.log_variances)), 1)
    prior = MixtureSameFamily(Categorical(logits=latent.logits), parts)
    noise = torch.randn(5, 3).double()
    z = latent.place(head, noise)
    mean, log_variance = latent.split(head)
    posterior = Independent(Normal(mean, torch.exp(0.5 * log_variance)), 1)
    torch.testing.assert_close(latent.log_ratio(head, noise, z), prior.log_prob(z) - posterior.log_prob(z))


def test_a_chain_of_latents_adds_up_and_one_level_is_the_normal_latent():
    from torch.distributions import Independent, Normal

    chain = build(lambda: MarkovLatent(2, 3), seed=0, dtype=torch.float64)
    head, noise = torch.randn(5, 4).double(), torch.randn(5, 6).double()
    z = chain.place(head, noise)
    levels = chain.chain(noise, z)

    def log_density(at, normal):
        mean, log_variance = normal
        return Independent(Normal(mean, torch.exp(0.5 * log_variance)), 1).log_prob(at)

    expected = log_density(levels[2], (torch.zeros(5, 2).double(), torch.zeros(5, 2).double()))
    for k in (0, 1):
        expected = expected + log_density(levels[k], chain.split(chain.down[k](levels[k + 1])))
        expected = expected - log_density(levels[k + 1], chain.split(chain.up[k](levels[k])))
    expected = expected - log_density(z, chain.split(head))
    torch.testing.assert_close(chain.log_ratio(head, noise, z), expected)
    one, plain = MarkovLatent(2, 1), NormalLatent(2)
    torch.testing.assert_close(one.log_ratio(head, noise[:, :2], z), plain.log_ratio(head, noise[:, :2], z))
    assert one.from_prior(3, np.random.default_rng(0)).shape == (3, 2)


@pytest.mark.parametrize("latent", ["mixture", "von-mises-fisher", "hierarchical"])
def test_latents_train_score_and_sample(latent):
    model = VAE(3, (16,), latent=latent, likelihood="bernoulli", max_iter=4, learning_rate_init=1e-2, random_state=0)
    model.fit(X)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert model.sample(4, random_state=0).shape == (4, 64)
    scores = model.score_samples(X[:20])
    np.testing.assert_allclose(scores[:5], model.score_samples(X[:5]), rtol=1e-4)
    if latent == "von-mises-fisher":
        np.testing.assert_allclose(np.linalg.norm(model.transform(X[:20]), axis=1), 1, rtol=1e-5)
        with pytest.raises(ValueError, match="responsibilities need latent 'mixture'"):
            model.responsibilities(X[:5])
    elif latent == "mixture":
        np.testing.assert_allclose(model.responsibilities(X[:20]).sum(axis=1), 1, rtol=1e-5)


def test_importance_weighted_training_and_images():
    model = VAE(2, (4,), image_shape=(1, 8, 8), objective="iwae", n_draws=3, likelihood="bernoulli", max_iter=2)
    model.set_params(random_state=0, bound="iwae").fit(X[:100])
    assert np.isfinite(model.score_samples(X[:10])).all()


def test_clear_complaints():
    with pytest.raises(ValueError, match="beta must be 1 with objective 'iwae'"):
        VAE(objective="iwae", beta=2.0).fit(X)
    with pytest.raises(ValueError, match="n_components must be at least 2 on a sphere; got 1"):
        VAE(1, latent="von-mises-fisher").fit(X)
    with pytest.raises(ValueError, match="image_shape must be"):
        VAE(image_shape=(8, 9)).fit(X)
    with pytest.raises(ValueError, match="n_components must be at least 2"):
        SphereLatent(1)
