import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from margin.foundations.linalg import (
    adjoint_pair,
    divergence,
    fourier,
    gradient,
    integration_by_parts,
    interpolate_linear,
    inverse_fourier,
    laplacian,
    splat_linear,
)

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), shapes, st.sampled_from(["periodic", "zero"]))
def test_minus_divergence_is_the_adjoint_of_the_gradient(seed, shape, boundary):
    test = adjoint_pair(
        lambda f: gradient(f, boundary),
        lambda g: -divergence(g, boundary),
        shape,
        (len(shape), *shape),
        np.random.default_rng(seed),
    )
    assert abs(test.left - test.right) < 1e-11


def test_gradient_and_divergence_compose_to_the_laplacian():
    rng = np.random.default_rng(0)
    f = rng.standard_normal((5, 4))
    for boundary, name in (("periodic", "periodic"),):
        np.testing.assert_allclose(
            divergence(gradient(f, boundary), boundary).ravel(), laplacian(f.shape, name) @ f.ravel(), atol=1e-12
        )


@pytest.mark.parametrize("shape", [(3,), (4, 5), (3, 4, 5)])
@pytest.mark.parametrize("boundary", ["dirichlet", "neumann", "periodic"])
def test_laplacian_is_symmetric_and_negative_semidefinite(shape, boundary):
    L = laplacian(shape, boundary).toarray()
    np.testing.assert_array_equal(L, L.T)
    assert np.linalg.eigvalsh(L).max() < 1e-12


def test_laplacian_matches_the_stencil():
    f = np.random.default_rng(1).standard_normal((5, 6))
    padded = np.pad(f, 1)
    stencil = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2] - 4 * f
    np.testing.assert_allclose((laplacian(f.shape) @ f.ravel()).reshape(f.shape), stencil, atol=1e-12)


def test_laplacian_without_boundary_condition_is_not_symmetric_but_exact_on_parabolas():
    L = laplacian((7,), "none").toarray()
    assert np.abs(L - L.T).max() > 0.5
    np.testing.assert_allclose(L @ np.arange(7.0) ** 2, 2.0, atol=1e-12)


def test_surface_term_of_the_notes_counterexample():
    x = np.linspace(0, 1, 2001)
    parts = integration_by_parts(np.cos(np.pi * x), 1 + np.cos(np.pi * x))
    assert parts.gradient_side == pytest.approx(-2, abs=1e-5)
    assert parts.divergence_side == pytest.approx(0, abs=1e-5)
    assert parts.gradient_side == pytest.approx(parts.divergence_side + parts.surface, abs=1e-12)


@pytest.mark.parametrize(("normalization", "factor"), [("ortho", 1.0), ("backward", 24.0)])
def test_adjoint_of_fourier(normalization, factor):
    test = adjoint_pair(
        lambda f: fourier(f, normalization),
        lambda g: inverse_fourier(g, normalization),
        (4, 6),
        (4, 6),
        np.random.default_rng(0),
        complex_valued=True,
    )
    assert test.factor == pytest.approx(factor, abs=1e-10)
    f = np.random.default_rng(1).standard_normal(9)
    np.testing.assert_allclose(inverse_fourier(fourier(f, normalization), normalization), f, atol=1e-13)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), shapes)
def test_interpolation_matches_scipy_and_splatting_is_its_adjoint(seed, shape):
    rng = np.random.default_rng(seed)
    f = rng.standard_normal(shape)
    phi = rng.uniform(-1, max(shape) + 1, (len(shape), 3, 4))  # some points outside
    g = rng.standard_normal((3, 4))
    sampled = interpolate_linear(f, phi)
    np.testing.assert_allclose(sampled, map_coordinates(f, phi, order=1, mode="nearest"), atol=1e-12)
    assert np.vdot(sampled, g) == pytest.approx(np.vdot(f, splat_linear(g, phi, shape)), abs=1e-12)


def test_splatting_is_the_vector_jacobian_product_of_autograd():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    f, g = rng.standard_normal((5, 7)), rng.standard_normal((2, 3))
    phi = np.stack([rng.uniform(0, 4, (2, 3)), rng.uniform(0, 6, (2, 3))])
    image = torch.tensor(f[None, None], requires_grad=True)
    x, y = 2 * phi[1] / 6 - 1, 2 * phi[0] / 4 - 1  # grid_sample wants (x, y) in [-1, 1]
    grid = torch.tensor(np.stack([x, y], axis=-1)[None])
    sampled = torch.nn.functional.grid_sample(image, grid, mode="bilinear", align_corners=True)
    sampled.backward(torch.tensor(g[None, None]))
    np.testing.assert_allclose(sampled.detach().numpy()[0, 0], interpolate_linear(f, phi), atol=1e-12)
    np.testing.assert_allclose(image.grad.numpy()[0, 0], splat_linear(g, phi, (5, 7)), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gradient([1.0], "open"), "gradient: choose one of periodic, zero; got 'open'."),
        (lambda: divergence(np.ones((2, 3))), "divergence: g must have one component per axis"),
        (lambda: laplacian((2,)), "laplacian: every entry of shape must be an integer of at least 3; got 2."),
        (lambda: laplacian(()), "laplacian: shape must name at least one axis"),
        (lambda: laplacian((4,), "zero"), "laplacian: choose one of dirichlet"),
        (lambda: fourier([1.0], "unitary"), "fourier: choose one of ortho, backward"),
        (lambda: interpolate_linear(np.ones((2, 2)), [0.5]), "phi must have one row per axis of the grid, 2; got 1."),
        (lambda: splat_linear([1.0, 2.0], [0.5], (3,)), "splat_linear: g must have one value per point"),
        (lambda: splat_linear([1.0], [0.5], (0,)), "splat_linear: every entry of shape must be an integer"),
        (lambda: interpolate_linear([1.0, 2.0], [np.nan]), "interpolate_linear: phi must be finite"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)
