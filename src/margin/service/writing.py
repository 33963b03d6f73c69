"""Texts from a trained model that writes, in pieces as they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from margin.service.prediction import last_step, open_model
from margin.service.requests import BadRequest

__all__ = ["write_texts", "writes"]


def writes(model: Any) -> bool:
    """Whether a model draws text piece by piece."""
    return callable(getattr(model, "stream", None))


def write_texts(model_path: str | Path, n: int, seed: int, prompt: str = "", **options: Any) -> Iterator[Iterator[str]]:
    """``n`` texts that follow ``prompt``, each as its pieces; ``options`` are those of the model's ``stream``."""
    model, _ = open_model(model_path)
    if not writes(model):
        raise BadRequest(
            f"{type(last_step(model)).__name__} in {model_path} writes no text: leave out the options on text."
        )
    rng = np.random.default_rng(seed)
    return (model.stream(prompt, random_state=rng, **options) for _ in range(n))
