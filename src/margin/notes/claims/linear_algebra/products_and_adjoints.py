"""Matrix products, adjoints, and operators whose adjoint depends on the boundary or the normalization."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.linalg import (
    INFINITE_COUNTERPART,
    adjoint,
    adjoint_pair,
    adjugate,
    brownian_kernel,
    column_images,
    discretized_operator,
    divergence,
    eigh,
    fourier,
    gradient,
    integration_by_parts,
    interpolate_linear,
    inverse_fourier,
    laplacian,
    matmul_inner,
    matmul_outer,
    midpoints,
    splat_linear,
)
from margin.foundations.linalg.arguments import Array
from margin.notes.claims import claim


@claim("finite-infinite-dimension-analogy")
def a_large_matrix_acts_like_the_operator() -> Verdict:
    # vector -> function: K applied to samples of 1 tends to the integral of min(s, t) over t, s - s^2/2.
    n = 400
    K, s = discretized_operator(brownian_kernel, n), midpoints(n)
    exact_eigenvalues = 1 / ((np.arange(1, 4) - 0.5) * np.pi) ** 2
    return every(
        pairs=equal(sorted(INFINITE_COUNTERPART), ["covariance matrix", "matrix", "vector"]),
        function=near(K @ np.ones(n), s - s**2 / 2, tolerance=1e-5),
        kernel=near(eigh(K).values[:-4:-1], exact_eigenvalues, tolerance=1e-5),
    )


@claim("matrix-as-images-of-basis-vectors")
def columns_are_the_images_of_the_basis() -> Verdict:
    first, second = column_images([[3, 1], [1, 2]])
    angle = np.degrees(np.arccos(first @ second / np.linalg.norm(first) / np.linalg.norm(second)))
    return corrected(
        every(
            columns=equal([first.tolist(), second.tolist()], [[3, 1], [1, 2]]),
            angle_between_images=near(angle, 45, tolerance=1e-9),
        ),
        # A basis that is only rotated and scaled keeps its right angle.
        printed=near(angle, 90, tolerance=1e-6),
    )


@claim("matrix-product-inner-products")
def product_entries_are_inner_products(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((4, 6)), rng.standard_normal((6, 3))
    return near(matmul_inner(A, B), A @ B, tolerance=1e-12)


@claim("matrix-product-outer-products")
def product_is_a_sum_of_rank_one_terms(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((4, 6)), rng.standard_normal((6, 3))
    total, terms = matmul_outer(A, B)
    return every(
        total=near(total, A @ B, tolerance=1e-12),
        ranks=equal([int(np.linalg.matrix_rank(term)) for term in terms], [1] * 6),
    )


@claim("conjugate-transpose")
def conjugate_transpose_of_the_example() -> Verdict:
    A = np.array([[1, -2 - 1j, 5], [1 + 1j, 1j, 4 - 2j]])
    return every(
        complex_example=equal(adjoint(A), np.array([[1, 1 - 1j], [-2 + 1j, -1j], [5, 4 + 2j]])),
        real=equal(adjoint(A.real), A.real.T),
    )


@claim("adjoint-versus-adjugate")
def adjoint_is_the_transpose_and_adjugate_is_not(seed: int) -> Verdict:
    A = np.array([[1.0, 2.0], [3.0, 4.0]])
    rng = np.random.default_rng(seed)
    C, (x, y) = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)), rng.normal(size=(2, 3))
    return corrected(
        every(
            of_a_complex_matrix=near(np.vdot(C @ x, y), np.vdot(x, adjoint(C) @ y), tolerance=1e-12),
            adjugate_times_matrix=near(adjugate(C.real) @ C.real, np.linalg.det(C.real) * np.eye(3), tolerance=1e-10),
            adjoint=equal(adjoint(A), A.T),
            adjugate=near(adjugate(A), np.array([[4, -2], [-3, 1]]), tolerance=1e-12),
        ),
        printed=near(adjugate(A), A.T, tolerance=1e-12),
    )


@claim("claim-adjoint-inner-product-identity")
def the_adjoint_moves_across_the_inner_product(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    real = rng.standard_normal((5, 3))
    both = real + 1j * rng.standard_normal((5, 3))

    def gap(A: Array, candidate: Array) -> float:
        return adjoint_pair(lambda f: A @ f, lambda g: candidate @ g, (3,), (5,), rng, complex_valued=True).gap

    return every(
        real=below(gap(real, adjoint(real)), 1e-10),
        complex=below(gap(both, adjoint(both)), 1e-10),
        wrong_adjoint=above(gap(both, both.T), 1e-2),
    )


@claim("adjoint-of-gradient-is-negative-divergence")
def minus_divergence_is_the_adjoint_where_the_boundary_vanishes(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)

    def gap(boundary: str) -> float:
        return adjoint_pair(
            lambda f: gradient(f, boundary), lambda g: -divergence(g, boundary), (6, 5), (2, 6, 5), rng
        ).gap

    x = np.linspace(0, 1, 4001)
    parts = integration_by_parts(np.cos(np.pi * x), 1 + np.cos(np.pi * x))
    square = integration_by_parts(x**2, x + 1)
    return corrected(
        every(
            periodic=below(gap("periodic"), 1e-10),
            zero=below(gap("zero"), 1e-10),
            left=near(parts.gradient_side, -2.0, tolerance=1e-5),
            # The integrals of (x^2)' (x + 1) and of -x^2 (x + 1)' over [0, 1], and the values at the ends.
            sides=near(
                [square.gradient_side, square.divergence_side, square.surface], [5 / 3, -1 / 3, 2], tolerance=1e-6
            ),
            with_surface_term=near(parts.gradient_side, parts.divergence_side + parts.surface, tolerance=1e-10),
        ),
        printed=near(parts.gradient_side, parts.divergence_side, tolerance=1e-2),
    )


@claim("adjoint-of-fourier-is-inverse")
def inverse_is_the_adjoint_only_of_the_unitary_transform(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)

    def factor(norm: str) -> complex:
        return adjoint_pair(
            lambda f: fourier(f, norm), lambda g: inverse_fourier(g, norm), (8,), (8,), rng, complex_valued=True
        ).factor

    unnormalized = factor("backward")
    return corrected(
        every(unitary=near(factor("ortho"), 1.0, tolerance=1e-10), factor_n=near(unnormalized, 8.0, tolerance=1e-9)),
        printed=near(unnormalized, 1.0, tolerance=1e-3),
    )


@claim("laplacian-self-adjoint")
def laplacian_is_self_adjoint_under_matching_boundaries(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)

    def gap(boundary: str) -> float:
        L = laplacian((5, 6), boundary)
        return adjoint_pair(lambda f: L @ f, lambda g: L @ g, (30,), (30,), rng).gap

    return corrected(
        every(**{name: below(gap(name), 1e-12) for name in ("dirichlet", "neumann", "periodic")}),
        printed=below(gap("none"), 1e-3),
    )


@claim("interpolation-adjoint-splatting")
def splatting_is_the_adjoint_of_interpolation(seed: int) -> Verdict:
    import torch

    rng = np.random.default_rng(seed)
    line, points = rng.uniform(0, 6, (1, 40)), rng.uniform(0, [[4], [5]], (2, 40))

    def gap(phi: Array, shape: tuple[int, ...]) -> float:
        return adjoint_pair(
            lambda f: interpolate_linear(f, phi), lambda g: splat_linear(g, phi, shape), shape, (40,), rng
        ).gap

    # Autograd's vector-Jacobian product of the same bilinear sampling, whose points are (x, y) in [-1, 1].
    g = rng.standard_normal(40)
    image = torch.tensor(rng.standard_normal((1, 1, 5, 6)), requires_grad=True)
    grid = torch.tensor((2 * points / [[4], [5]] - 1)[::-1].T[None, None].copy())
    torch.nn.functional.grid_sample(image, grid, align_corners=True).backward(torch.tensor(g[None, None, None]))
    assert image.grad is not None
    return every(
        line=below(gap(line, (7,)), 1e-12),
        image=below(gap(points, (5, 6)), 1e-12),
        autograd=near(image.grad.numpy()[0, 0], splat_linear(g, points, (5, 6)), tolerance=1e-12),
    )
