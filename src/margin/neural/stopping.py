"""Early stopping: remember the best weights and how long there has been nothing better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import nn

from margin.neural.weights import copy_weights, load_weights

__all__ = ["EarlyStopping"]


class EarlyStopping:
    """Watches the validation loss of every epoch; ``patience`` epochs without a gain above ``tol`` are enough.

    The best weights are those of the lowest loss ever seen, however small the gain.
    """

    def __init__(self, patience: int, tol: float):
        self.patience = patience
        self.tol = tol
        self.stale_epochs = 0
        self.best_loss: float | None = None
        self.best_weights: dict[str, np.ndarray] = {}

    def see(self, loss: float, module: nn.Module) -> bool:
        """Take note of an epoch; True when it is time to stop."""
        gain = np.inf if self.best_loss is None else self.best_loss - loss
        self.stale_epochs = 0 if gain > self.tol else self.stale_epochs + 1
        if gain > 0:
            self.best_loss, self.best_weights = loss, copy_weights(module)
        return self.stale_epochs >= self.patience

    def restore_best(self, module: nn.Module) -> None:
        load_weights(module, self.best_weights)

    def state(self) -> dict[str, Any]:
        return {
            "stale_epochs": self.stale_epochs,
            "best_loss": self.best_loss,
            "best_weights": {name: array.copy() for name, array in self.best_weights.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.stale_epochs = int(state["stale_epochs"])
        self.best_loss = state["best_loss"]
        self.best_weights = {name: np.array(array) for name, array in state["best_weights"].items()}
