"""Allen and Cahn's and Schroedinger's equations: residuals of exact solutions, spectral solvers, networks."""

import warnings

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from sklearn.exceptions import ConvergenceWarning

from margin.physics.allen_cahn import (
    DIFFUSION,
    REACTION,
    allen_cahn_residual,
    allen_cahn_spectral,
    allen_cahn_start,
)
from margin.physics.pinn import PINN, Condition
from margin.physics.schrodinger import schrodinger_residual, schrodinger_spectral, schrodinger_start
from margin.physics.splitting import at_times


@pytest.fixture
def points():
    return torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, size=(20, 2))).requires_grad_()


def test_a_resting_front_leaves_nothing_of_allen_and_cahns_equation(points):
    steepness = (REACTION / (2 * DIFFUSION)) ** 0.5
    left = allen_cahn_residual(torch.tanh(steepness * points[:, 1:] / 30), points)
    resting = allen_cahn_residual(torch.tanh(steepness * points[:, 1:]), points)
    assert float(resting.detach().abs().max()) < 1e-9
    assert float(left.detach().abs().max()) > 0.1, "a front of another width moves"


def test_the_spectral_solution_is_that_of_lines_and_of_second_order():
    times = [0.0, 0.1, 0.4]
    x, found = allen_cahn_spectral(times, n=64, steps=1600)
    wave = np.pi * np.fft.rfftfreq(64, 1 / 64)

    def slope(_, u):
        return DIFFUSION * np.fft.irfft(-(wave**2) * np.fft.rfft(u), 64) - REACTION * (u**3 - u)

    lines = solve_ivp(slope, (0, 0.4), allen_cahn_start(x), t_eval=times, rtol=1e-10, atol=1e-12).y.T
    np.testing.assert_allclose(found, lines, atol=1e-6)
    errors = [np.abs(allen_cahn_spectral(times, 64, steps)[1] - lines).max() for steps in (25, 50)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)


def soliton(t, x, a=1.5):
    return a / np.cosh(a * x) * np.exp(0.5j * a**2 * t)


def test_a_soliton_leaves_nothing_of_schroedingers_equation_and_keeps_its_shape(points):
    a, t, x = 1.5, points[:, 0], points[:, 1]
    size, phase = a / torch.cosh(a * x), 0.5 * a**2 * t
    wave = torch.stack([size * torch.cos(phase), size * torch.sin(phase)], dim=1)
    for part in schrodinger_residual(wave, points):
        assert float(part.detach().abs().max()) < 1e-12
    places = np.linspace(-16, 16, 256, endpoint=False)
    x, found = schrodinger_spectral([0.0, 0.7], soliton(0.0, places), half_width=16.0)
    np.testing.assert_allclose(found[1], soliton(0.7, x), atol=1e-5)


def test_intensity_is_kept():
    start = schrodinger_start(np.linspace(-5, 5, 128, endpoint=False))
    _, found = schrodinger_spectral(np.linspace(0, 1, 5), start, steps=200)
    np.testing.assert_allclose((np.abs(found) ** 2).sum(axis=1), (np.abs(start) ** 2).sum(), rtol=1e-10)


def test_times_that_fall_are_refused():
    with pytest.raises(ValueError, match=r"times must not fall; got 0\.5 after 1"):
        at_times(lambda u, h: u, np.ones(1), [1.0, 0.5], steps=4)


def test_a_network_solves_schroedingers_equation_for_a_short_time():
    x = np.linspace(-5, 5, 64, endpoint=False)
    start = schrodinger_start(x)
    known = Condition(np.column_stack([np.zeros(64), x]), np.column_stack([start.real, start.imag]))
    points = np.random.default_rng(0).uniform(size=(400, 2)) * [0.1, 10.0] - [0.0, 5.0]
    model = PINN(
        schrodinger_residual, known, n_outputs=2, periods=[None, 10.0], solver="levenberg-marquardt",
        hidden_layer_sizes=(15, 15), condition_weight=100.0, max_iter=25, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points)
    places, wave = schrodinger_spectral([0.1], start)
    said = model.predict(np.column_stack([np.full(64, 0.1), places]))
    assert np.linalg.norm(said[:, 0] + 1j * said[:, 1] - wave[0]) < 0.05 * np.linalg.norm(wave[0])
