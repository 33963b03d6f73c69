"""Partial differential equations, inverse problems, and networks that solve them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.notes import atlas
from margin.notes.claims import claim


def points(seed: int, n: int = 12) -> Any:
    import torch

    return torch.from_numpy(np.random.default_rng(seed).uniform(0.1, 0.9, size=(n, 2)))


def size(tensor: Any) -> float:
    return float(tensor.detach().abs().max())


@claim("pde")
def kinds_and_residuals_of_equations_of_second_order(seed: int) -> Verdict:
    import torch

    from margin.physics.derivatives import derivative, laplacian
    from margin.physics.pde import (
        DifferentialEquation,
        SecondOrder,
        kind_of,
        pde_residual,
        solve_heat,
        solve_poisson,
        solve_wave,
    )  # fmt: skip

    laplace, heat, wave = SecondOrder(A=1, C=1), SecondOrder(A=1, E=-1), SecondOrder(A=1, C=-1)
    x = points(seed)
    grid = np.linspace(0, 1, 31)
    X, Y = np.meshgrid(grid, grid)
    harmonic, sine, h = np.exp(X) * np.sin(Y), np.sin(np.pi * grid), grid[1]
    frame = harmonic.copy()
    frame[1:-1, 1:-1] = 0
    truth = every(
        kinds=equal([form.kind for form in (laplace, heat, wave)], ["elliptic", "parabolic", "hyperbolic"]),
        laplace=below(size(pde_residual(lambda p: torch.exp(p[:, 0]) * torch.sin(p[:, 1]), laplace, x)), 1e-12),
        heat=below(size(pde_residual(lambda p: torch.exp(-p[:, 1]) * torch.sin(p[:, 0]), heat, x)), 1e-12),
        wave=below(size(pde_residual(lambda p: torch.sin(p[:, 0] + p[:, 1]), wave, x)), 1e-12),
        no_solution=above(size(pde_residual(lambda p: p[:, 0] ** 2, laplace, x)), 1.0),
        laplace_grid=near(solve_poisson(0 * X, frame, h), harmonic, tolerance=1e-3),
        heat_grid=near(solve_heat(sine, 1.0, h, 1e-3, 50)[-1], math.exp(-(math.pi**2) * 0.05) * sine, tolerance=2e-3),
        wave_grid=near(
            solve_wave(sine, 0 * sine, 1.0, h, h, 15)[-1], math.cos(math.pi * 15 * h) * sine, tolerance=1e-3
        ),
    )
    line = DifferentialEquation(lambda u, p: laplacian(u, p) + u, ("x",))
    plane = DifferentialEquation(lambda u, p: derivative(u, p, 0, 0) + derivative(u, p, 1, 1) + u, ("x", "y"))
    return every(
        two_variables=equal(kind_of(plane), "PDE"),
        one_variable=corrected(truth, a_laplacian_makes_a_pde=equal(kind_of(line), "PDE")),
    )


@claim("claim-ode-vs-pde")
def what_counts_is_by_how_many_variables_one_differentiates() -> Verdict:
    from margin.physics.burgers import burgers_residual
    from margin.physics.derivatives import derivative, laplacian
    from margin.physics.pde import DifferentialEquation, kind_of

    kinds = {
        "growth": (lambda u, p: derivative(u, p, 0) - u, ("t",), "ODE"),
        "oscillator": (lambda u, p: derivative(u, p, 0, 0) + u, ("t",), "ODE"),
        "burgers": (burgers_residual, ("t", "x"), "PDE"),
        "poisson": (lambda u, p: laplacian(u, p) - 1, ("x", "y"), "PDE"),
    }
    truth = every(
        **{name: equal(kind_of(DifferentialEquation(f, names)), kind) for name, (f, names, kind) in kinds.items()}
    )
    # An unknown of two variables, one of which only stands in the equation as a parameter.
    family = DifferentialEquation(lambda u, p: derivative(u, p, 0) - p[:, 1] * u, ("t", "rate"))
    return corrected(truth, a_second_variable_counts=equal(kind_of(family), "PDE"))


@claim("inverse-problem")
def causes_are_recovered_from_noisy_effects(seed: int) -> Verdict:
    from margin.physics.derivatives import derivative
    from margin.physics.inverse import blur_matrix, deblur
    from margin.physics.pinn import PINN, Condition

    rng = np.random.default_rng(seed)
    t = np.linspace(0, 2, 20)[:, None]
    seen = Condition(t, np.exp(-1.5 * t[:, 0]) + 0.003 * rng.normal(size=20))
    model = PINN(lambda u, x, rate: derivative(u, x, 0) + rate * u[:, 0], seen, hidden_layer_sizes=(10, 10))
    model.set_params(coefficients={"rate": 0.5}, max_iter=150, random_state=seed).fit(t)
    signal = (np.abs(np.arange(60) - 28) < 9).astype(float)
    K = blur_matrix(60, 2.0)
    blurred = K @ signal + 0.01 * rng.normal(size=60)

    def error(x: np.ndarray) -> float:
        return float(np.linalg.norm(x - signal))

    return every(
        coefficient=near(model.coefficients_["rate"], 1.5, tolerance=0.06),
        deblurred=below(error(deblur(blurred, K, 1e-2)), error(blurred)),
        no_penalty_no_signal=above(error(deblur(blurred, K, 0.0)), 10 * error(blurred)),
    )


@claim("pinn-loss")
def the_loss_has_a_part_for_data_and_one_for_the_equation(seed: int) -> Verdict:
    import torch

    from margin.physics.derivatives import laplacian
    from margin.physics.pinn import pinn_loss

    def exact(p: Any) -> Any:
        return (torch.sin(math.pi * p[:, 0]) * torch.sin(math.pi * p[:, 1]))[:, None]

    def residual(u: Any, p: Any) -> Any:
        return laplacian(u, p) + 2 * math.pi**2 * torch.sin(math.pi * p[:, 0]) * torch.sin(math.pi * p[:, 1])

    inside, edge = points(seed), torch.tensor([[0.0, 0.2], [1.0, 0.4], [0.7, 0.0]], dtype=torch.float64)
    zeros = torch.zeros(3, 1, dtype=torch.float64)
    parts = [part.item() for part in pinn_loss(exact, residual, [(edge, zeros)], inside)]
    wrong = [part.item() for part in pinn_loss(lambda p: p[:, :1] ** 2, residual, [(edge, zeros)], inside)]
    expected = torch.mean((2 + 2 * math.pi**2 * exact(inside.detach())[:, 0]) ** 2).item()
    truth = every(
        data=below(parts[0], 1e-24),
        equation=below(parts[1], 1e-20),
        data_by_hand=near(wrong[0], (0 + 1 + 0.7**4) / 3, tolerance=1e-12),
        equation_by_hand=near(wrong[1], expected, tolerance=1e-9),
        wrong_shape=raises(ValueError, lambda: pinn_loss(exact, lambda u, _: u[:2], [], inside), match="per point"),
    )
    # As printed: the residual over the data points, where it says nothing about the inside.
    printed = pinn_loss(lambda p: p[:, :1] ** 2, residual, [(edge, zeros)], edge)[1].item()
    return corrected(truth, residual_at_the_data_points=near(printed, expected, tolerance=1e-3))


@claim("example-pinn-code-burgers")
def the_residual_of_burgers_by_automatic_differentiation(seed: int) -> Verdict:
    import torch

    from margin.physics.burgers import VISCOSITY, burgers_residual

    p = points(seed).requires_grad_()
    u = -torch.sin(math.pi * p[:, 1]) * torch.exp(-p[:, 0])
    t, x = p.detach().numpy().T
    value = -np.sin(np.pi * x) * np.exp(-t)
    by_hand = -value + value * (-np.pi * np.cos(np.pi * x) * np.exp(-t)) + VISCOSITY * np.pi**2 * value
    truth = near(burgers_residual(u[:, None], p).detach().numpy(), by_hand, tolerance=1e-6)

    def value_of(t: Any, x: Any) -> None:  # the function of the notes, which returns nothing
        np.stack([t, x])

    return corrected(
        truth,
        no_return=equal(value_of(t, x) is not None, True),  # type: ignore[func-returns-value]
        shadowed_name=equal(_shadowing_runs(), True),
    )


@cache
def small_poisson(seed: int) -> tuple[Any, np.ndarray]:
    """A network for u_xx + u_yy = -2 pi^2 sin sin with zero frame, and points to test it at."""
    import torch

    from margin.physics.derivatives import laplacian
    from margin.physics.pinn import PINN, Condition

    def residual(u: Any, p: Any) -> Any:
        return laplacian(u, p) + 2 * math.pi**2 * torch.sin(math.pi * p[:, 0]) * torch.sin(math.pi * p[:, 1])

    s, o = np.linspace(0, 1, 12), np.ones(12)
    frame = np.concatenate([np.stack(pair, axis=1) for pair in [(s, 0 * o), (s, o), (0 * o, s), (o, s)]])
    inside = np.random.default_rng(seed).random((100, 2))
    model = PINN(residual, Condition(frame, np.zeros(len(frame))), hidden_layer_sizes=(16, 16), condition_weight=50.0)
    model.set_params(max_iter=120, random_state=seed).fit(inside)
    return model, np.random.default_rng(seed + 1).random((200, 2))


def relative_error(approximate: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(approximate - exact) / np.linalg.norm(exact))


@claim("example-poisson-2d")
def a_network_solves_the_poisson_equation(seed: int) -> Verdict:
    from margin.physics.pde import solve_poisson

    model, test = small_poisson(seed)
    exact = np.prod(np.sin(np.pi * test), axis=1)
    grid = np.linspace(0, 1, 33)
    X, Y = np.meshgrid(grid, grid)
    solution = np.sin(np.pi * X) * np.sin(np.pi * Y)
    truth = every(
        network=below(relative_error(model.predict(test), exact), 0.05),
        grid=near(solve_poisson(-2 * np.pi**2 * solution, 0 * X, grid[1]), solution, tolerance=2e-3),
    )
    harmonic = test[:, 0] ** 2 - test[:, 1] ** 2  # its Laplacian vanishes, so the equation alone cannot exclude it
    no_right_side = relative_error(np.zeros(len(test)), exact)  # a vanishing Laplacian with zero frame is the zero
    return corrected(
        truth,
        laplacian_alone_is_the_loss=below(no_right_side, 0.05),
        no_boundary_needed=below(relative_error(exact + harmonic, exact), 0.05),
        shadowed_name=equal(_shadowing_runs(), True),
    )


def _shadowing_runs() -> bool:
    """Whether a function may call what it then overwrites under the same name, as both snippets of the notes do."""
    names: dict[str, Any] = {"u": lambda x, y: x + y}
    exec("def f(x, y):\n    u = u(x, y)\n    return u", names)
    try:
        return names["f"](1.0, 2.0) == 3.0
    except UnboundLocalError:
        return False


@claim("pinn")
def both_parts_of_the_loss_fall_and_the_solution_is_found(seed: int) -> Verdict:
    model, test = small_poisson(seed)
    exact = np.prod(np.sin(np.pi * test), axis=1)
    return every(
        solution=below(relative_error(model.predict(test), exact), 0.05),
        residual=below(model.residual_loss_, 0.5),
        conditions=below(model.condition_loss_, 1e-3),
        falls=below(model.loss_curve_[-1], 1e-2 * model.loss_curve_[0]),
        residual_at_new_points=below(float(np.median(model.evaluate_residual(test))), 1.0),
    )


@claim("network-as-image")
def a_network_of_coordinates_is_an_image(seed: int) -> Verdict:
    from margin.physics.coordinates import CoordinateNetwork, psnr

    y, x = np.mgrid[-1:1:16j, -1:1:16j]
    image = np.exp(-3 * (x**2 + y**2)) + 0.5 * (x > 0.3)
    model = CoordinateNetwork((32, 32), max_iter=60, batch_size=128, random_state=seed).fit(image)
    volume = CoordinateNetwork((8,), max_iter=2, random_state=seed).fit(np.zeros((3, 4, 5)))
    signal = CoordinateNetwork((8,), max_iter=2, random_state=seed).fit(np.zeros(7))
    return every(
        sharp=above(psnr(image, model.render((16, 16))), 25.0),
        any_size=equal(model.render((40, 40)).shape, (40, 40)),
        three=equal(volume.render((2, 2, 2)).shape, (2, 2, 2)),
        one=equal(signal.render((9,)).shape, (9,)),
        not_four=raises(ValueError, lambda: CoordinateNetwork().fit(np.zeros((2, 2, 2, 2))), match="1 to 3"),
    )


@claim("example-burgers-equation")
def burgers_equation_has_these_values() -> Verdict:
    from margin.physics.burgers import VISCOSITY, burgers_exact, burgers_finite_differences

    values = atlas.row("example-burgers-equation").values
    t, x, u = np.array(values["solution"]).T
    grid, solution = burgers_finite_differences([0.0, 0.25, 0.5, 0.75], n=400)
    time, h = values["front_time"] / math.pi, 1e-5
    slope = (burgers_exact(time, h) - burgers_exact(time, -h)) / (2 * h)
    return every(
        viscosity=near(VISCOSITY, values["viscosity"], tolerance=5e-8),
        exact=near(burgers_exact(t, x), u, tolerance=1e-6),
        front=near(float(slope), values["front_slope"], tolerance=0.05),
        differences=near(solution[1][[300]], burgers_exact(0.25, grid[[300]]), tolerance=2e-3),
        ends=near(solution[:, [0, -1]], np.zeros((4, 2)), tolerance=0.0),
        start=near(solution[0], -np.sin(np.pi * grid), tolerance=1e-12),
    )
