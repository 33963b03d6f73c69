r"""Training and validation loss of a perceptron, and where early stopping ends it

On few noisy rows a large network keeps lowering its training loss
:math:`\frac1n\sum_i -\log p_\theta(y_i|x_i)` long after the loss on held-out rows has begun to rise. Stopping at the
lowest validation loss, with the weights of that epoch, costs fewer epochs and gives better probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 400
TEST_ROWS = 2000
FEATURES = 10  # of which three matter
FLIPPED = 0.1  # share of labels that are wrong
PATIENCE = 10


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural import MLPClassifier

    rng = np.random.default_rng(seed)
    X, y = noisy_products(ROWS, rng)
    X_test, y_test = noisy_products(TEST_ROWS, rng)
    epochs = 40 if fast else 80
    # No penalty: what early stopping prevents is to be seen.
    model = MLPClassifier((128, 128), alpha=0.0, max_iter=epochs, batch_size=32, learning_rate_init=3e-3)
    model.set_params(early_stopping=True, validation_fraction=0.25, random_state=seed)
    everything = follow(model.set_params(n_iter_no_change=epochs), X, y, X_test, y_test)
    stopped = follow(model.set_params(n_iter_no_change=PATIENCE), X, y, X_test, y_test)
    return {
        "curves": everything,
        "stopped_after": int(stopped["epoch"][-1]),
        "best_epoch": int(everything["epoch"][np.argmin(everything["valid_loss"])]),
        "test_loss_stopped": stopped["test_loss_at_end"],
        "test_loss_of_last_epoch": everything["test_loss"][-2],
    }


def noisy_products(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose class is the sign of a product of two inputs plus a third, with some labels flipped."""
    X = rng.normal(size=(n, FEATURES))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    return X, np.where(rng.random(n) < FLIPPED, 1 - y, y)


def follow(model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, Any]:
    """Losses at the end of every epoch; after the last one the best weights are in place."""
    curves: dict[str, list[float]] = {"epoch": [], "train_loss": [], "valid_loss": [], "test_loss": []}
    for record in model.iterate(X, y):
        if "valid_loss" not in record.values:
            continue
        for name in ("epoch", "train_loss", "valid_loss"):
            curves[name].append(record[name])
        curves["test_loss"].append(log_loss(model, X_test, y_test))
    return {**{name: np.array(values) for name, values in curves.items()}, "test_loss_at_end": curves["test_loss"][-1]}


def log_loss(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(-model.predict_log_proba(X)[np.arange(len(y)), y].mean())


def check(data: dict[str, Any]) -> Verdict:
    curves = data["curves"]
    return every(
        training_loss_keeps_falling=below(curves["train_loss"][-1], 0.9 * curves["train_loss"][data["best_epoch"] - 1]),
        validation_loss_rises_again=above(curves["valid_loss"][-1], 1.05 * curves["valid_loss"].min()),
        stops_before_the_end=below(data["stopped_after"], len(curves["epoch"])),
        stopped_model_is_better=below(data["test_loss_stopped"], data["test_loss_of_last_epoch"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    curves, ax = data["curves"], figure.subplots()
    names = {"train_loss": "training rows", "valid_loss": "validation rows", "test_loss": "test rows"}
    for name, label in names.items():
        # The last entry of the test curve belongs to the restored best weights, not to the last epoch.
        ax.plot(curves["epoch"][:-1], curves[name][:-1], label=label)
    ax.axvline(data["best_epoch"], color="black", linestyle=":", label="lowest validation loss")
    ax.axvline(
        data["stopped_after"], color="gray", linestyle="--", label=f"stopped after {PATIENCE} epochs without gain"
    )
    ax.set(
        xlabel="epoch", ylabel="cross-entropy (nats)", title="Where to stop: the validation rows know", ylim=(0, None)
    )
    ax.legend()
