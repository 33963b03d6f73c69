r"""The adding problem: remember two numbers until the end

A series has numbers in one channel and two marks in the other; the target is the sum of the marked numbers. Gated cells
keep them in memory; a plain recurrent network of the same size does little better than the mean, whose error is the
variance of the target. A GRU does it with three quarters of the recurrent parameters of an LSTM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS = ("rnn", "lstm", "gru")


def problem(rng: np.random.Generator, n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Series (n, steps, 2) with a mark in the first and one in the second half, and the sums."""
    X = np.zeros((n, steps, 2), dtype=np.float32)
    X[:, :, 0] = rng.uniform(size=(n, steps))
    rows, half = np.arange(n), steps // 2
    first, second = rng.integers(half, size=n), rng.integers(half, steps, size=n)
    X[rows, first, 1] = X[rows, second, 1] = 1
    return X, X[rows, first, 0] + X[rows, second, 0]


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural import SequenceRegressor

    rng = np.random.default_rng(seed)
    steps, n, epochs = (12, 450, 20) if fast else (60, 10_000, 60)
    X, y = problem(rng, n, steps)
    new, y_new = problem(rng, 500, steps)
    errors, curves, parameters = {}, {}, {}
    for cell in CELLS:
        model = SequenceRegressor(
            cell, hidden_size=24, max_iter=epochs, batch_size=32, learning_rate_init=0.01, random_state=seed
        ).fit(X, y)
        errors[cell] = float(np.mean((model.predict(new) - y_new) ** 2) / np.var(y_new))
        curves[cell] = np.array(model.loss_curve_)
        parameters[cell] = sum(w.size for name, w in model.weights_.items() if name.startswith("layers."))
    return {"errors": errors, "curves": curves, "parameters": parameters, "steps": steps}


def check(data: dict[str, Any]) -> Verdict:
    errors, size = data["errors"], data["parameters"]
    best = min(errors["lstm"], errors["gru"])
    return every(
        gated_cells_learn=below(best, 0.3),
        plain_ones_do_not=below(best, 0.6 * errors["rnn"]),
        gru_is_smaller=below(size["gru"] / size["lstm"], 0.76),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    for cell in CELLS:
        label = f"{cell.upper()}, {data['parameters'][cell]} parameters: {data['errors'][cell]:.3f} of the variance"
        axis.semilogy(data["curves"][cell], label=label)
    axis.set(title=f"adding two of {data['steps']} numbers", xlabel="epoch", ylabel="training loss")
    axis.legend()
