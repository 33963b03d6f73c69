r"""Training and validation loss over epochs, and where to stop

The training loss keeps falling; the loss of held-out rows has a minimum, after which the network learns noise. Early
stopping keeps the weights of that epoch, and they predict new rows better than the last ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS = 50
DRAWS = 5  # tables; curves and errors are means over them, as a single curve may have its minimum anywhere


def run(seed: int, fast: bool) -> dict[str, Any]:
    draws = [_curves(1000 * seed + k, 500 if fast else 5000) for k in range(DRAWS if fast else 5 * DRAWS)]
    mean: dict[str, Any] = {name: np.mean([draw[name] for draw in draws], axis=0) for name in ("train", "valid")}
    test = {name: float(np.mean([draw["test"][name] for draw in draws])) for name in draws[0]["test"]}
    return {**mean, "test": test, "stopped_after": max(draw["stopped_after"] for draw in draws)}


def _curves(seed: int, n_new: int) -> dict[str, Any]:
    """Losses by epoch on one table of 120 rows to learn from and 120 held out, and errors on new rows."""
    from margin.neural import MLPRegressor
    from margin.neural.generators import Seeds
    from margin.neural.training import validation_split

    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(240, 10)), rng.normal(size=(n_new, 10))
    f = lambda A: np.sin(A[:, 0]) + 0.5 * A[:, 1]  # noqa: E731
    y, y_new = f(X) + rng.normal(size=240), f(new)
    params: dict[str, Any] = {
        "hidden_layer_sizes": (100,),
        "learning_rate_init": 0.01,
        "batch_size": 32,
        "alpha": 0.0,
        "max_iter": EPOCHS,
    }
    held: dict[str, Any] = {"early_stopping": True, "validation_fraction": 0.5, "tol": 0.0}
    stopped = MLPRegressor(**params, **held, n_iter_no_change=EPOCHS, random_state=seed)
    records = [r for r in stopped.iterate(X, y) if "valid_loss" in r.values]
    train, _ = validation_split(240, 0.5, Seeds.of(stopped.get_state()["seed"]).split)
    last = MLPRegressor(**params, n_iter_no_change=EPOCHS, random_state=seed).fit(X[train], y[train])
    patient = MLPRegressor(**params, **held, n_iter_no_change=8, random_state=seed).fit(X, y)
    error = lambda model: float(np.mean((model.predict(new) - y_new) ** 2))  # noqa: E731
    return {
        "train": [r["train_loss"] for r in records], "valid": [r["valid_loss"] for r in records],
        "test": {"best epoch": error(stopped), "last epoch": error(last)}, "stopped_after": patient.n_iter_,
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    best = int(data["valid"].argmin())
    return every(
        training_falls=below(data["train"][-1], 0.3 * data["train"][0]),
        minimum_is_inside=equal(0 < best < EPOCHS - 5, True),
        validation_rises=above(data["valid"][-1], 1.1 * data["valid"][best]),
        early_is_better=below(data["test"]["best epoch"], data["test"]["last epoch"]),
        patience_ends_it=below(data["stopped_after"], EPOCHS),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    epochs = np.arange(1, EPOCHS + 1)
    best = int(data["valid"].argmin())
    axis.plot(epochs, data["train"], label="training")
    axis.plot(epochs, data["valid"], label="validation")
    axis.axvline(best + 1, ls=":", color="0.35", lw=1.6, label=f"lowest validation loss, epoch {best + 1}")
    axis.axvline(data["stopped_after"], ls="--", color="C3", lw=1.4, label="a patience of 8 stops by here")
    errors = ", ".join(f"{name} {value:.3f}" for name, value in data["test"].items())
    axis.set(title=f"Error on new rows: {errors}", xlabel="epoch", ylabel="loss")
    axis.legend()
