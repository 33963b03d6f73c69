"""Steps, systems and equations of physics against SciPy's integrators, filters and derivatives by hand."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from scipy.integrate import quad, solve_ivp
from sklearn.exceptions import ConvergenceWarning
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.physics import burgers, inverse, ode, pde, steps
from margin.physics.pinn import PINN, Condition
from margin.physics.tableaus import EXPLICIT

PATH = "margin.physics"


def swing(t: float, y: np.ndarray) -> np.ndarray:
    """A slope that depends on the time too."""
    return np.array([y[1] + 0.3 * t, -1.7 * y[0] + np.cos(2 * t)])


@oracle(
    *(f"{PATH}.ode.{name}" for name in ("solve_ode", "linear_system", "integral_curve")),
    *(f"{PATH}.steps.{name}" for name in ("explicit_step", "rk4", "euler", "rk4_slopes")),
)
def integrated_curves(seed: int) -> Verdict:
    """From a time that is not 0, forward and backward, at uneven times; every stage of the fourth order by hand."""
    y0 = np.random.default_rng(seed).normal(size=2)
    times = np.array([0.4, 0.9, 2.1, 3.0])
    parts: dict[str, Verdict] = {}
    for name, t in (("forward", times), ("backward", times[::-1])):
        theirs = solve_ivp(swing, (t[0], t[-1]), y0, t_eval=t, rtol=1e-10, atol=1e-12).y.T
        for method, count, tolerance in (("dopri5", None, 1e-6), ("rk4", 60, 1e-5), ("euler", 4000, 2e-2)):
            curve = ode.solve_ode(swing, y0, t, method=method, steps=count)
            parts[f"{name}_{method}"] = near(curve, theirs, tolerance=tolerance)
    h, t0 = 0.3, 0.4
    k1 = swing(t0, y0)
    k2 = swing(t0 + h / 2, y0 + h / 2 * k1)
    k3 = swing(t0 + h / 2, y0 + h / 2 * k2)
    k4 = swing(t0 + h, y0 + h * k3)
    ended, slopes = steps.explicit_step(swing, t0, y0, h, EXPLICIT["rk4"])
    again, _ = steps.rk4_slopes(swing, t0, y0, h)
    walked, states = steps.euler(swing, y0, t0, h, 2)
    system = ode.linear_system([lambda x: 2 + x, lambda x: -x, lambda x: 3 + x * x], b=lambda x: 0.5 * x)
    round_and_round = ode.integral_curve(lambda p: np.array([-2 * p[1], 2 * p[0]]), [1.0, 0.5], [0.2, 0.7, 1.1])
    angle = 2 * (np.array([0.2, 0.7, 1.1]) - 0.2)
    circle = np.column_stack([np.cos(angle) - 0.5 * np.sin(angle), np.sin(angle) + 0.5 * np.cos(angle)])
    return every(
        **parts,
        stages=near(slopes, [k1, k2, k3, k4], tolerance=1e-12),
        step=near(ended, y0 + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), tolerance=1e-12),
        again=near([again, steps.rk4(swing, y0, t0, h, 1)[1][1]], [ended, ended], tolerance=1e-12),
        walked=near(states[2], y0 + h * k1 + h * swing(t0 + h, y0 + h * k1), tolerance=1e-12),
        when=near(walked, [0.4, 0.7, 1.0], tolerance=1e-12),
        system=near(system(0.6, [1.1, -0.4]), [-0.4, -(0.3 + 2.6 * 1.1 - 0.6 * -0.4) / 3.36], tolerance=1e-12),
        circle=near(round_and_round, circle, tolerance=1e-6),
    )


@oracle(*(f"{PATH}.pde.{name}" for name in ("solve_poisson", "pde_residual")))
def equations_on_grids(seed: int) -> Verdict:
    """A cubic is solved exactly by the five-point formula, on a grid that is not square; derivatives by hand."""
    a, b, c = np.random.default_rng(seed).normal(size=3)
    h = 0.25
    x, y = np.meshgrid(1 + h * np.arange(6), -0.5 + h * np.arange(9), indexing="ij")
    u = a * x**3 + b * x * y**2 + c * x * x * y + x - 2 * y
    laplace = 6 * a * x + 2 * b * x + 2 * c * y
    frame = u.copy()
    frame[1:-1, 1:-1] = 99.0  # only the frame may count
    form = pde.SecondOrder(A=0.7, B=-1.3, C=0.4, D=0.9, E=-0.6, F=1.1, G=0.3)
    points = torch.from_numpy(np.column_stack([x.ravel(), y.ravel()]))
    left = pde.pde_residual(lambda p: torch.sin(p[:, 0] * 2 + p[:, 1]) + p[:, 1] ** 3, form, points).detach().numpy()
    s, k = np.sin(2 * x + y).ravel(), np.cos(2 * x + y).ravel()
    v = y.ravel()
    expected = 0.7 * -4 * s + 2 * -1.3 * -2 * s + 0.4 * (-s + 6 * v) + 0.9 * 2 * k - 0.6 * (k + 3 * v**2)
    return every(
        solved=near(pde.solve_poisson(laplace, frame, h), u, tolerance=1e-8),
        residual=near(left, expected + 1.1 * (s + v**3) + 0.3, tolerance=1e-9),
    )


@oracle(*(f"{PATH}.inverse.{name}" for name in ("blur_matrix", "deblur")))
def blurred_signals(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    K = inverse.blur_matrix(7, 1.3)
    weights = np.array([[np.exp(-((i - j) ** 2) / (2 * 1.69)) for j in range(7)] for i in range(7)])
    y = rng.normal(size=7)
    deblurred = inverse.deblur(y, K, 0.4)
    loss = lambda x: np.sum((y - K @ x) ** 2) + 0.4 * np.sum((x[1:] - x[:-1]) ** 2)  # noqa: E731
    slope = [(loss(deblurred + d) - loss(deblurred - d)) / 2e-4 for d in 1e-4 * np.eye(7)]
    return every(
        kernel=near(K, [row / sum(row) for row in weights], tolerance=1e-12),
        flat=near(slope, np.zeros(7), tolerance=1e-6),
        exact=near(inverse.deblur(K @ y, K, 0), y, tolerance=1e-5),
    )


@oracle(f"{PATH}.pde.solve_heat", f"{PATH}.pde.solve_wave")
def steps_in_time(seed: int) -> Verdict:
    """Both formulas with dense matrices, ends that are not 0, and a wave that begins with a velocity."""
    rng = np.random.default_rng(seed)
    u0, velocity = rng.normal(size=7), rng.normal(size=7)
    h, dt, a, c = 0.3, 0.05, 0.7, 1.9
    second = (np.eye(7, k=1) - 2 * np.eye(7) + np.eye(7, k=-1)) / h**2
    second[[0, -1]] = 0.0  # the ends stay
    left, right = np.eye(7) - dt / 2 * a * second, np.eye(7) + dt / 2 * a * second
    heat, wave = [u0], [u0]
    first = u0 + dt * velocity + dt**2 / 2 * c**2 * second @ u0
    first[[0, -1]] = u0[[0, -1]]
    wave.append(first)
    for _ in range(3):
        heat.append(np.asarray(np.linalg.solve(left, right @ heat[-1]), dtype=np.float64))
        wave.append(2 * wave[-1] - wave[-2] + (c * dt) ** 2 * second @ wave[-1])
    return every(
        heat=near(pde.solve_heat(u0, a, h, dt, 3), heat, tolerance=1e-10),
        wave=near(pde.solve_wave(u0, velocity, c, h, dt, 4), wave, tolerance=1e-10),
        beginning=equal(pde.solve_wave(u0, velocity, c, h, dt, 1).shape, (2, 7)),
    )


@oracle(*(f"{PATH}.burgers.{name}" for name in ("burgers_exact", "burgers_finite_differences", "burgers_residual")))
def shocks(seed: int) -> Verdict:
    """Cole and Hopf's integrals by adaptive quadrature; differences agree with them; the residual of a known wave."""
    rng = np.random.default_rng(seed)
    viscosity = float(rng.uniform(0.08, 0.2))
    t, x = rng.uniform(0.1, 0.9, size=2), rng.uniform(-0.9, 0.9, size=2)

    def solution(t: float, x: float) -> float:
        def weight(eta: float) -> float:
            return float(np.exp(-np.cos(np.pi * (x - eta)) / (2 * np.pi * viscosity) - eta**2 / (4 * viscosity * t)))

        ends = 12 * np.sqrt(2 * viscosity * t)
        over = quad(lambda e: -np.sin(np.pi * (x - e)) * weight(e), -ends, ends, epsabs=1e-13, limit=400)[0]
        return over / quad(weight, -ends, ends, epsabs=1e-13, limit=400)[0]

    grid, values = burgers.burgers_finite_differences([0.0, 0.3, 0.6], n=120, viscosity=viscosity)
    exact = burgers.burgers_exact(np.array([[0.3], [0.6]]), grid[None], viscosity)
    points = torch.from_numpy(np.column_stack([t, x])).requires_grad_()
    k, speed = 1.7, 0.4  # u = speed - 2 nu k tanh(k (x - speed t)) moves without change
    wave = speed - 2 * viscosity * k * torch.tanh(k * (points[:, 1] - speed * points[:, 0]))
    other = torch.sin(points[:, 0] + 2 * points[:, 1])
    s, c = np.sin(t + 2 * x), np.cos(t + 2 * x)
    return every(
        exact=near(burgers.burgers_exact(t, x, viscosity), [solution(a, b) for a, b in zip(t, x)], tolerance=1e-6),
        places=equal(len(grid), 121),
        start=near(values[0], -np.sin(np.pi * grid), tolerance=1e-12),
        differences=near(values[1:], exact, tolerance=5e-3),
        moving=near(burgers.burgers_residual(wave, points, viscosity).detach().numpy(), np.zeros(2), tolerance=1e-9),
        residual=near(
            burgers.burgers_residual(other, points, viscosity).detach().numpy(),
            c + s * 2 * c + viscosity * 4 * s,
            tolerance=1e-9,
        ),
    )


@oracle(f"{PATH}.pinn.PINN")
def boxes_of_networks(seed: int) -> Verdict:
    """A network is told the box of all points and conditions; where a coordinate does not vary it is 1 wide."""
    rng = np.random.default_rng(seed)
    X, ends = np.column_stack([rng.uniform(2, 3, size=12), np.full(12, 0.7)]), np.array([[1.0, 0.7], [5.0, 0.7]])
    model = PINN(None, Condition(ends, np.array([0.5, -1.0])), hidden_layer_sizes=(3,), max_iter=2, random_state=seed)
    with warnings.catch_warnings():  # two steps are enough to see the box
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return every(
        low=near(model.network_["low"], [1.0, 0.7], tolerance=1e-6),
        high=near(model.network_["high"], [5.0, 1.7], tolerance=1e-6),
        sizes=equal(list(model.network_["sizes"]), [2, 3, 1]),
        values=equal(model.predict(X).shape, (12,)),
    )
