"""Losses of networks for equations, kinds of equations, and pictures as functions of their coordinates."""

from __future__ import annotations

import numpy as np
import torch
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.notes.claims.chance import ERRORS
from margin.physics.coordinates import CoordinateNetwork, psnr, recover_from_laplacian
from margin.physics.derivatives import derivative
from margin.physics.pde import DifferentialEquation, kind_of
from margin.physics.pinn import pinn_loss

PATH = "margin.physics"


@oracle(f"{PATH}.pinn.pinn_loss", f"{PATH}.pde.kind_of")
def parts_of_a_loss(seed: int) -> Verdict:
    """u = x^2 y + y^3, whose derivatives are known, at two sets of conditions of unequal size; a system of two."""
    rng = np.random.default_rng(seed)
    inside, left, right = rng.normal(size=(7, 2)), rng.normal(size=(2, 2)), rng.normal(size=(3, 2))
    wanted = rng.normal(size=2), rng.normal(size=3)
    exact = lambda p: (p[:, 0] ** 2 * p[:, 1] + p[:, 1] ** 3)[:, None]  # noqa: E731
    first = lambda u, p, k: k * derivative(u, p, 0, 0) + derivative(u, p, 1)  # noqa: E731
    second = lambda u, p, k: derivative(u, p, 0) - k * u[:, 0]  # noqa: E731
    conditions = [(torch.from_numpy(a), torch.from_numpy(b)[:, None]) for a, b in zip((left, right), wanted)]
    k = torch.tensor(1.7, dtype=torch.float64)
    data, residual = pinn_loss(
        exact, lambda u, p, k: [first(u, p, k), second(u, p, k)], conditions, torch.from_numpy(inside), {"k": k}
    )
    x, y = inside.T
    by_hand = np.mean((1.7 * 2 * y + x**2 + 3 * y**2) ** 2) + np.mean((2 * x * y - 1.7 * (x**2 * y + y**3)) ** 2)
    gaps = [a[0] ** 2 * a[1] + a[1] ** 3 - b for a, b in zip(np.concatenate([left, right]), np.concatenate(wanted))]
    kinds = [
        kind_of(DifferentialEquation(f, ("x", "y")))
        for f in (
            lambda u, p: derivative(u, p, 1, 1) - p[:, 0] * u.reshape(-1),
            lambda u, p: derivative(u, p, 0) + derivative(u, p, 1),
            lambda u, p: u.reshape(-1) * derivative(u, p, 0, 1),
        )
    ]
    return every(
        data=near(float(data.detach()), np.mean(np.square(gaps)), tolerance=1e-9),
        residual=near(float(residual.detach()), by_hand, tolerance=1e-8),
        kinds=equal(kinds, ["ODE", "PDE", "PDE"]),
    )


@oracle(
    f"{PATH}.coordinates.CoordinateNetwork", f"{PATH}.coordinates.psnr", f"{PATH}.coordinates.recover_from_laplacian"
)
def pictures_of_coordinates(seed: int) -> Verdict:
    """A rectangle whose axes differ: what a network renders is what it says of each point; noise in decibels."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:7, :5]
    image = 2 + np.sin(rows / 3) + 0.4 * columns
    noisy = image + rng.normal(scale=0.1, size=image.shape)
    worst = sum((a - b) ** 2 for a, b in zip(image.ravel(), noisy.ravel())) / 35
    model = CoordinateNetwork((16,), n_waves=8, frequency=0.5, max_iter=150, random_state=seed).fit(image)
    upside = CoordinateNetwork((16,), n_waves=8, frequency=0.5, max_iter=150, random_state=seed).fit(image[::-1])
    laplacian, recovered = recover_from_laplacian(image, max_iter=60, random_state=seed)
    middle = [
        [image[i - 1, j] + image[i + 1, j] + image[i, j - 1] + image[i, j + 1] - 4 * image[i, j] for j in range(1, 4)]
        for i in range(1, 6)
    ]
    waves = CoordinateNetwork((2,), n_waves=4000, frequency=2.5, max_iter=1, random_state=seed).fit(image)
    directions = next(array for name, array in waves.weights_.items() if name.endswith("directions"))
    return every(
        frequencies=near(directions.std(), 2.5, tolerance=ERRORS * 2.5 / np.sqrt(2 * directions.size)),
        decibels=near(
            psnr(image, noisy), 20 * np.log10(image.max() - image.min()) - 10 * np.log10(worst), tolerance=1e-9
        ),
        rendered=near(model.render((7, 5)), image, tolerance=0.25 * np.ptp(image)),
        mirrored=near(upside.render((7, 5)), image[::-1], tolerance=0.25 * np.ptp(image)),
        laplacian=near(laplacian, middle, tolerance=1e-12),
        recovered=near(recovered, image, tolerance=0.2 * np.ptp(image)),
    )
