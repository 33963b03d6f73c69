"""Losses, penalties and networks of a GAN against torch, finite differences and the singular value decomposition."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn
from torch.nn import functional

from margin.generative.gan.coverage import grid_modes, mode_coverage, ring_modes
from margin.generative.gan.game import Rules, Turn, discriminator_terms, generator_terms
from margin.generative.gan.losses import (
    critic_loss,
    discriminator_loss,
    gan_value,
    generator_loss,
    gradient_penalty,
    real_gradient_penalty,
    relativistic_loss,
)
from margin.generative.gan.networks import (
    ConvDiscriminator,
    ConvGenerator,
    DiscriminatorPanel,
    MLPDiscriminator,
    MLPGenerator,
    normalize_spectrum,
)
from margin.generative.gan.style import ModulatedConv, StyleGenerator, modulated_kernels
from margin.generative.gan.theory import gan_value_of, optimal_discriminator
from margin.generative.gan.translation import PairTranslation
from margin.generative.gan.translators import ConvTranslator
from margin.neural.weights import build


def normals(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_discriminator_loss_is_cross_entropy():
    real, fake = normals(2, 30)
    cross_entropy = functional.binary_cross_entropy_with_logits
    expected = cross_entropy(real, torch.ones_like(real)) + cross_entropy(fake, torch.zeros_like(fake))
    torch.testing.assert_close(discriminator_loss(real, fake).mean(), expected)
    torch.testing.assert_close(gan_value(real, fake), -expected)


@pytest.mark.parametrize(("kind", "slope"), [("minimax", -0.01), ("non-saturating", -0.99), ("wasserstein", -1.0)])
def test_slopes_of_the_generator_losses_at_a_sure_discriminator(kind, slope):
    logit = torch.tensor(math.log(0.01 / 0.99), dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(generator_loss(logit, kind), logit)
    assert float(found) == pytest.approx(slope, rel=1e-9)


def test_losses_stay_finite_for_large_logits():
    large = torch.tensor([1e4, -1e4])
    assert torch.isfinite(discriminator_loss(large, large)).all()
    assert torch.isfinite(generator_loss(large)).all()


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="kind must be one of non-saturating"):
        generator_loss(torch.zeros(1), "hinge")


def test_penalties_of_a_linear_critic_are_known():
    weight = torch.tensor([3.0, 4.0], dtype=torch.float64)
    real, fake = normals(2, 5, 2)
    between = gradient_penalty(lambda x: x @ weight, real, fake, torch.rand(5, dtype=torch.float64))
    np.testing.assert_allclose(between, np.full(5, 16.0), rtol=1e-9)  # (5 - 1)^2
    np.testing.assert_allclose(real_gradient_penalty(lambda x: x @ weight, real), np.full(5, 25.0), rtol=1e-12)


def test_the_penalty_is_taken_between_real_and_made():
    real, fake, mix = torch.full((1, 1), 1.0), torch.full((1, 1), 3.0), torch.tensor([0.25])
    found = gradient_penalty(lambda x: x.square().sum(dim=1), real, fake, mix)  # slope 2x at x = 2.5
    assert float(found.detach()) == pytest.approx(16.0)


def test_the_critic_bounds_the_distance():
    """The best critic of slope 1 for two points is the line between them."""
    assert float(critic_loss(torch.tensor(0.0), torch.tensor(-2.0))) == -2.0


def test_the_best_discriminator_is_no_worse_than_any_other():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(6), size=2)
    best = gan_value_of(optimal_discriminator(p, q), p, q)
    assert all(gan_value_of(rng.uniform(0.01, 0.99, 6), p, q) < best for _ in range(200))


def test_where_nothing_is_seen_the_discriminator_guesses():
    np.testing.assert_array_equal(optimal_discriminator([0, 1, 0], [0, 0, 1]), [0.5, 1, 0])
    assert gan_value_of([0.5, 1, 0], [0, 1, 0], [0, 0, 1]) == 0.0


@pytest.mark.parametrize("bad", [([-1.0], [1.0]), ([1.0], [1.0, 2.0])])
def test_bad_densities_are_refused(bad):
    with pytest.raises(ValueError, match="non-negative and of one shape"):
        optimal_discriminator(*bad)


def test_spectral_norm_is_the_largest_singular_value():
    network = build(lambda: normalize_spectrum(MLPDiscriminator(6, [8])), 0, torch.float64)
    for _ in range(200):
        network(normals(2, 6))
    for layer in network.layers:
        assert np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)[0] == pytest.approx(1, abs=1e-6)


def test_modulated_convolution_is_one_convolution_per_row():
    layer = build(lambda: ModulatedConv(3, 4, 3, 5), 0, torch.float64)
    x, w = normals(2, 3, 6, 6), normals(2, 5, seed=1)
    kernels = modulated_kernels(layer.kernels, layer.style(w))
    np.testing.assert_allclose(kernels.square().sum(dim=(2, 3, 4)).detach(), np.ones((2, 4)), rtol=1e-6)
    expected = torch.cat([functional.conv2d(x[i : i + 1], kernels[i], padding=1) for i in range(2)])
    torch.testing.assert_close(layer(x, w), expected)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 7, 9)])
@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("kind", [ConvGenerator, StyleGenerator])
def test_generators_make_images_of_the_shape(shape, classes, kind):
    generator = build(lambda: kind(5, [8, 4], shape, classes), 0)
    label = torch.tensor([0, 2]) if classes else None
    made = generator(torch.zeros(2, 5), label)
    assert made.shape == (2, *shape)
    assert made.abs().max() <= 1
    critic = build(lambda: ConvDiscriminator(shape, [8, 4], classes), 0)
    assert critic(made, label).shape == (2,)


def test_styles_can_be_mixed():
    generator = build(lambda: StyleGenerator(4, [8, 4], (1, 8, 8)), 0)
    one, other = (generator.styles(normals(3, 4, seed=s).float()) for s in (0, 1))
    with torch.no_grad():
        plain = generator.synthesize([one] * 4)
        assert torch.equal(plain, generator(normals(3, 4, seed=0).float()))
        assert not torch.equal(plain, generator.synthesize([one, other, other, other]))


def test_a_panel_gives_one_logit_per_member():
    panel = build(lambda: DiscriminatorPanel([MLPDiscriminator(2, [4]) for _ in range(3)]), 0)
    assert panel(torch.zeros(5, 2)).shape == (5, 3)


def test_classes_change_what_is_made():
    generator = build(lambda: MLPGenerator(2, [8], 3, n_classes=2), 0)
    z = torch.zeros(1, 2)
    assert not torch.equal(generator(z, torch.tensor([0])), generator(z, torch.tensor([1])))


def test_coverage_counts_modes_and_near_samples():
    modes = ring_modes()
    assert mode_coverage(modes, modes, 0.1) == (8, 1.0, pytest.approx(np.ones(8)))
    half = np.concatenate([modes[:4], np.full((4, 2), 9.0)])
    found = mode_coverage(half, modes, 0.1)
    assert (found.covered, found.high_quality) == (4, 0.5)
    assert grid_modes().shape == (25, 2)
    with pytest.raises(ValueError, match="same number of columns"):
        mode_coverage(np.zeros((2, 3)), modes, 0.1)


def test_layers_of_a_network_without_spectral_norm_are_plain():
    assert not any("parametrizations" in name for name in MLPDiscriminator(2, [4]).state_dict())
    assert isinstance(MLPDiscriminator(2, [4]).layers[0], nn.Linear)


def test_a_relativistic_pair_compares_its_two_logits():
    real, fake = normals(2, 30)
    expected = functional.binary_cross_entropy_with_logits(real - fake, torch.ones_like(real))
    torch.testing.assert_close(relativistic_loss(real, fake).mean(), expected)
    torch.testing.assert_close(relativistic_loss(real + 7, fake + 7), relativistic_loss(real, fake))


@pytest.mark.parametrize(("penalty", "slopes"), [("none", 0.0), ("real", 25.0), ("both", 50.0), ("between", 16.0)])
def test_penalties_of_the_game_are_added_with_their_weight(penalty, slopes):
    """A linear critic of slope 5 has squared slopes of 25 at every row, and (5 - 1)^2 between them."""
    critic = nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        critic.weight.copy_(torch.tensor([[3.0, 4.0]]))
    modules = {"generator": nn.Linear(3, 2).double(), "discriminator": nn.Sequential(critic, nn.Flatten(0))}
    rules = Rules(3, "relativistic", penalty, 0.5)
    real = normals(6, 2)
    with_penalty, without = (
        discriminator_terms(modules, (real,), torch.Generator().manual_seed(0), rules=r)["loss"]
        for r in (rules, replace(rules, penalty="none"))
    )
    assert float((with_penalty - without).detach()) == pytest.approx(0.5 * slopes)
    later = discriminator_terms(modules, (real,), torch.Generator().manual_seed(0), rules=rules, turn=Turn(0.1))["loss"]
    assert float((later - without).detach()) == pytest.approx(0.05 * slopes)


def test_a_relativistic_generator_wants_its_rows_above_the_real_ones():
    modules = {
        "generator": nn.Linear(3, 2).double(),
        "discriminator": nn.Sequential(nn.Linear(2, 1), nn.Flatten(0)).double(),
    }
    rules, real = Rules(3, "relativistic"), normals(6, 2)
    of_generator = generator_terms(modules, (real,), torch.Generator().manual_seed(0), rules=rules)["loss"]
    of_critic = discriminator_terms(modules, (real,), torch.Generator().manual_seed(0), rules=rules)["loss"]
    z = torch.randn((6, 3), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    gap = modules["discriminator"](real) - modules["discriminator"](modules["generator"](z))
    torch.testing.assert_close(of_critic, functional.softplus(-gap).mean())
    torch.testing.assert_close(of_generator, functional.softplus(gap).mean())


def test_a_convolution_translates_images_of_any_size_by_neighborhoods():
    translate = build(lambda: ConvTranslator(1, [4], 1), 0)
    image = normals(1, 1, 9, 9).float()
    changed = image.clone()
    changed[0, 0, 0, 0] += 1.0
    with torch.no_grad():
        moved = (translate(changed) - translate(image)).abs()[0, 0]
    assert moved[:3, :3].max() > 0
    assert moved[3:].max() == moved[:, 3:].max() == 0  # two layers of 3 x 3 see two pixels far
    assert translate(image).abs().max() <= 1


def test_pairs_must_be_learned_before_they_translate():
    few = np.zeros((10, 2))
    with pytest.raises(NotFittedError, match="PairTranslation: this instance is not fitted yet"):
        PairTranslation().transform(few)
