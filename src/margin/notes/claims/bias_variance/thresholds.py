"""Claims about interpolation: where it begins, what the error does there and beyond."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.linear.interpolation import interpolating_solutions
from margin.notes import atlas
from margin.notes.claims import claim
from margin.selection.double_descent import WidthSweep, legendre_features, random_relu_features, width_sweep

ROWS = 40


def _features(seed: int, n_features: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, X_test = rng.normal(size=(ROWS, 8)), rng.normal(size=(300, 8))
    Phi, Phi_test = random_relu_features(rng, X, X_test, n_features)
    weights = rng.normal(size=8) / np.sqrt(8)
    return Phi, X @ weights + 0.3 * rng.normal(size=ROWS), Phi_test, X_test @ weights


def _median(seed: int, widths: tuple[int, ...], draws: int = 15) -> tuple[np.ndarray, list[WidthSweep]]:
    sweeps = [width_sweep(*_features(1000 * seed + i), widths) for i in range(draws)]
    return np.median([sweep.test for sweep in sweeps], axis=0), sweeps


@claim("interpolation-threshold")
def parameters_per_output_equal_rows(seed: int) -> Verdict:
    Phi, y, Phi_test, y_test = _features(seed, 80)
    rng = np.random.default_rng([seed, 1])
    outputs = 3
    Y, Y_test = rng.normal(size=(ROWS, outputs)), rng.normal(size=(300, outputs))
    widths = (20, 30, 38, 39, 40, 41, 60)
    one, several = width_sweep(Phi, y, Phi_test, y_test, widths), width_sweep(Phi, Y, Phi_test, Y_test, widths)
    assert several.threshold is not None
    truth = every(
        one_output=equal(one.threshold, ROWS),
        before_it_some_error_is_left=above(float(one.train[3]), 1e-9),
        after_it_none=below(float(one.train[4:].max()), 1e-16),
        several_outputs=equal(several.threshold * outputs, ROWS * outputs),
    )
    return corrected(truth, printed=equal(several.threshold * outputs, ROWS))


@claim("double-descent")
def down_up_and_down_again(seed: int) -> Verdict:
    notes = atlas.row("double-descent").values
    n = notes["n"]
    widths = (1, 4, 10, 14, 20, 30, 40, 80, 600)
    test, sweeps = _median(seed, widths)
    best, peak = float(test[:5].min()), float(test[6])
    Phi, y, Phi_test, y_test = _features(seed)
    others = interpolating_solutions(Phi, y, 5, np.random.default_rng(seed))[1:]
    of_others = float(np.median(np.mean((Phi_test @ others.T - y_test[:, None]) ** 2, axis=0)))
    rng = np.random.default_rng([seed, 2])
    x = (2 * np.arange(12) + rng.uniform(0.5, 1.5, 12)) / 12 - 1
    powers = legendre_features(x, 14)
    polynomial = width_sweep(powers, rng.normal(size=12), powers, np.zeros(12), range(1, 15))
    Y = rng.normal(size=(ROWS, 2))
    outputs = width_sweep(Phi, Y, Phi_test, np.zeros((300, 2)), [30, 39, 40, 41])
    assert polynomial.threshold is not None
    assert outputs.threshold is not None
    truth = every(
        first_descent=below(best, 0.7 * float(test[0])),
        peak_at_n=equal(int(widths[int(np.argmax(test))]), n),
        peak_height=above(peak / best, 5.0),
        second_descent=below(float(test[-1]), best),
        heights=near(test[[4, 7, 8]], notes["heights"], tolerance=0.2),
        no_training_error=below(max(float(sweep.train[6:].max()) for sweep in sweeps), 1e-16),
        polynomial_of_degree_n_minus_one=equal(polynomial.threshold - 1, 11),
        two_outputs_need_twice_as_many=equal(outputs.threshold * 2, 2 * n),
    )
    return corrected(
        truth,
        threshold_of_two_outputs=equal(outputs.threshold * 2, n),
        polynomial_degree=equal(polynomial.threshold - 1, 12),
        any_interpolant=below(of_others, best),
        # As printed the error increases from the first width to the threshold.
        first_increases=above(float(np.diff(test[:7]).min()), 0.0),
    )


@claim("claim-threshold-fit-is-oscillatory")
def long_coefficients_and_rough_curves(seed: int) -> Verdict:
    widths = (20, 30, 40, 80, 600)
    _, sweeps = _median(seed, widths)
    norms = np.median([sweep.norm for sweep in sweeps], axis=0)
    grid, n, counts = np.linspace(-1, 1, 401), 16, (5, 10, 16, 32, 200)
    roughness = []
    for i in range(15):
        rng = np.random.default_rng([seed, i])
        x = (2 * np.arange(n) + rng.uniform(0.4, 1.6, n)) / n - 1
        y = np.sin(4 * x) + 0.3 * rng.normal(size=n)
        Phi, on_grid = legendre_features(x, 200, decay=1.0), legendre_features(grid, 200, decay=1.0)
        curves = [on_grid[:, :p] @ np.linalg.lstsq(Phi[:, :p], y, rcond=None)[0] for p in counts]
        roughness.append([float(np.mean(np.diff(curve, 2) ** 2)) for curve in curves])
    rough = np.median(roughness, axis=0)
    return every(
        longest_at_n=equal(int(widths[int(np.argmax(norms))]), ROWS),
        by_far=above(float(norms[2] / norms[-1]), 5.0),
        roughest_at_n=equal(int(counts[int(np.argmax(rough))]), n),
        calm_beyond=below(float(rough[-1] / rough[2]), 0.1),
    )
