"""Generative models of MNIST: ``python -m benchmarks.generative_images gan diffusion flow [--out DIR]``.

Each model is trained, samples are drawn as one picture, and their Frechet distance to test digits is measured on the
features of a LeNet-5 trained here, beside that of training digits (the best one can hope for) and of independent
pixels. A diffusion is also sampled by 'ddpm' with all steps and by 'dpm2' with 20: the same quality is the goal, in a
fraction of the time. A run that is killed goes on where it was: the state is saved in ``--out`` every few minutes.
Needs ``MARGIN_DATA``; results are printed as lines of JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from margin import data
from margin.generative import GAN, DiffusionModel, FlowMatching
from margin.generative.distances import frechet
from margin.neural import CNNClassifier
from margin.store.models import load_state, save_state

__all__ = ["MODELS", "features_of", "picture", "results"]

SIDE = 28
SAMPLES = 2000
SAVE_EVERY = 300.0  # seconds

DENOISER: dict[str, Any] = {
    "denoiser": "unet",
    "image_shape": (SIDE, SIDE),
    "n_steps": 1000,
    "batch_size": 128,
    "learning_rate_init": 1e-3,
    "weight_average": 0.999,
    "sampling_steps": 20,
}
MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "gan": (
        GAN,
        {"architecture": "dcgan", "hidden_layer_sizes": (128, 64), "image_shape": (SIDE, SIDE), "max_iter": 25},
    ),
    "diffusion": (DiffusionModel, {"hidden_layer_sizes": (32, 64, 64), "max_iter": 20, **DENOISER}),
    "flow": (FlowMatching, {"hidden_layer_sizes": (32, 64, 64), "max_iter": 20, **DENOISER}),
}


def digits(subset: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rows of pixels from 0 to 1, and classes."""
    part = data.load("mnist", subset=subset)
    return np.asarray(part.X[:n], dtype=np.float32), np.asarray(part.y[:n])


def features_of(n_images: int, epochs: int) -> Any:
    """A function of rows of pixels: what a LeNet-5 trained on digits sees of them before it decides."""
    X, y = digits("train", n_images)
    model = CNNClassifier(max_iter=epochs, batch_size=128, random_state=0).fit(_bytes(X), y)
    module = model._ready_module().eval()
    last = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1]
    seen: list[np.ndarray] = []
    last.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach().numpy()))

    def features(rows: np.ndarray) -> np.ndarray:
        seen.clear()
        model.predict(_bytes(rows))
        return np.concatenate(seen).astype(np.float64)

    return features


def _bytes(rows: np.ndarray) -> np.ndarray:
    return np.round(np.clip(rows, 0, 1) * 255).astype(np.uint8).reshape(-1, SIDE, SIDE)


def picture(rows: np.ndarray, path: Path, columns: int = 16) -> None:
    """Samples side by side as a gray PNG."""
    from PIL import Image

    tiles = _bytes(rows[: columns * (len(rows) // columns)]).reshape(-1, columns, SIDE, SIDE)
    Image.fromarray(255 - tiles.transpose(0, 2, 1, 3).reshape(-1, columns * SIDE)).save(path)


def trained(name: str, X: np.ndarray, out: Path, seed: int, epochs: int | None) -> tuple[Any, float]:
    """The model, and the CPU seconds of this run; a state that an earlier run left is continued."""
    cls, options = MODELS[name]
    model = cls(random_state=seed, **{**options, **({"max_iter": epochs} if epochs else {})})
    kept = out / f"{name}-{seed}.safetensors"
    state = load_state(kept)[0] if kept.exists() else None
    began, saved = time.process_time(), time.monotonic()
    for record in model.iterate(X, state=state):
        if time.monotonic() - saved > SAVE_EVERY:
            save_state(model.get_state(), kept)
            saved = time.monotonic()
            print(json.dumps({"model": name, "iteration": record.iteration}), flush=True)
    save_state(model.get_state(), kept)
    return model, time.process_time() - began


def results(names: list[str], n_images: int, out: Path, seed: int, epochs: int | None) -> Iterator[dict[str, Any]]:
    out.mkdir(parents=True, exist_ok=True)
    X, _ = digits("train", n_images)
    test, _ = digits("test")
    features = features_of(n_images, 5 if n_images > 10_000 else 2)
    real = features(test)
    noise = X.mean(axis=0) + X.std(axis=0) * np.random.default_rng(seed).standard_normal((SAMPLES, X.shape[1]))
    for name, rows in (("training digits", X[:SAMPLES]), ("independent pixels", noise)):
        yield {"model": name, "frechet": round(frechet(features(rows), real), 3)}
    for name in names:
        model, seconds = trained(name, X, out, seed, epochs)
        samplers = [None] if name == "gan" else [("dpm2", 20), ("ddim", 20), ("ddpm", None)]
        for sampler in samplers:
            if sampler is not None:
                model.set_params(sampler=sampler[0], sampling_steps=sampler[1])
            began = time.process_time()
            made = model.sample(SAMPLES if n_images > 10_000 else 200, random_state=seed)
            label = name if sampler is None else f"{name} {sampler[0]} {sampler[1] or 'all'}"
            picture(made[:128], out / f"{label.replace(' ', '-')}.png")
            yield {
                "model": label,
                "frechet": round(frechet(features(made), real), 3),
                "training_seconds": round(seconds, 1),
                "sampling_seconds": round(time.process_time() - began, 2),
                "seed": seed,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", choices=MODELS)
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("generative-images"))
    chosen = parser.parse_args()
    for line in results(chosen.models, chosen.images, chosen.out, chosen.seed, chosen.epochs):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
