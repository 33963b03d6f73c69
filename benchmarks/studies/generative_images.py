"""Images of MNIST: ``python -m benchmarks.studies.generative_images gan diffusion flow [--side 14] [--out DIR]``.

Each model is trained, samples are drawn as one picture, and their Frechet distance to test digits is measured on the
features of a LeNet-5 trained here, beside that of training digits (the best one can hope for) and of independent
pixels. A diffusion is also sampled by 'ddpm' with all steps and by the second-order samplers, 'dpm2' without and
'dpm2-sde' with new noise, with 20: the same quality is the goal, in a fraction of the time. With ``--side 14`` digits
are halved (means of 2 x 2 pixels) and the networks smaller; the LeNet sees every pixel as 2 x 2. A run that is killed
goes on where it was: the state is saved in ``--out`` every few minutes. Needs ``MARGIN_DATA``; results are printed as
lines of JSON, and those of a diffusion stored as findings.
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

from benchmarks.measuring.evidence import Finding, save_findings
from benchmarks.measuring.harness import same_threads
from benchmarks.peers.diffusion_loop import seconds_per_update
from margin import data
from margin.generative import GAN, DiffusionModel, FlowMatching
from margin.metrics.samples import frechet_distance
from margin.neural import CNNClassifier
from margin.store.models import load_state, save_state

__all__ = ["MODELS", "features_of", "picture", "results"]

FULL_SIDE = 28
FAST: list[tuple[str, int | None]] = [("dpm2-sde", 20), ("dpm2", 20), ("ddim", 20)]
SLOW: list[tuple[str, int | None]] = [("ddpm", None)]
SAVE_EVERY = 300.0  # seconds

IMAGES = {28: 60_000, 14: 20_000}
SAMPLES = {28: 2000, 14: 256}
DENOISER: dict[str, Any] = {
    "denoiser": "unet",
    "sampling_noise": 2.0,  # of 'dpm2-sde', chosen on the model of seed 0
    "n_steps": 1000,
    "learning_rate_init": 1e-3,
    "sampling_steps": 20,
}
LARGE = {"hidden_layer_sizes": (32, 64, 64), "max_iter": 20, "batch_size": 128, "weight_average": 0.999, **DENOISER}
SMALL = {"hidden_layer_sizes": (16, 32), "max_iter": 8, "batch_size": 64, "weight_average": 0.99, **DENOISER}
DCGAN: dict[str, Any] = {"architecture": "dcgan", "hidden_layer_sizes": (128, 64), "max_iter": 25}
MODELS: dict[str, tuple[type, dict[int, dict[str, Any]]]] = {
    "gan": (GAN, {28: DCGAN, 14: {**DCGAN, "hidden_layer_sizes": (64, 32), "max_iter": 10}}),
    "diffusion": (DiffusionModel, {28: LARGE, 14: SMALL}),
    "flow": (FlowMatching, {28: LARGE, 14: SMALL}),
}


def digits(subset: str, side: int, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rows of side x side pixels from 0 to 1, and classes."""
    part = data.load("mnist", subset=subset)
    X = np.asarray(part.X[:n], dtype=np.float32)
    if side != FULL_SIDE:
        X = X.reshape(-1, side, 2, side, 2).mean(axis=(2, 4)).reshape(len(X), -1)
    return X, np.asarray(part.y)[:n]


def features_of(n_images: int, side: int, epochs: int) -> Any:
    """A function of rows of pixels: what a LeNet-5 trained on digits sees of them before it decides."""
    X, y = digits("train", side, n_images)
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
    """Images of 28 x 28 gray values, whatever size the rows have."""
    side = round(rows.shape[1] ** 0.5)
    images = np.round(np.clip(rows, 0, 1) * 255).astype(np.uint8).reshape(-1, side, side)
    return images.repeat(FULL_SIDE // side, axis=1).repeat(FULL_SIDE // side, axis=2)


def picture(rows: np.ndarray, path: Path, columns: int = 16) -> None:
    """Samples side by side as a gray PNG."""
    from PIL import Image

    tiles = _bytes(rows[: columns * (len(rows) // columns)]).reshape(-1, columns, FULL_SIDE, FULL_SIDE)
    page = 255 - tiles.transpose(0, 2, 1, 3).reshape(-1, columns * FULL_SIDE)
    Image.fromarray(page).save(path, optimize=True)


def trained(name: str, X: np.ndarray, out: Path, seed: int, epochs: int | None) -> tuple[Any, float]:
    """The model, and the CPU seconds of this run; a state that an earlier run left is continued."""
    cls, options = MODELS[name]
    side = round(X.shape[1] ** 0.5)
    chosen = {**options[side], "image_shape": (side, side), **({"max_iter": epochs} if epochs else {})}
    model = cls(random_state=seed, **chosen)
    kept = out / f"{name}-{side}-{seed}.safetensors"
    state = load_state(kept)[0] if kept.exists() else None
    spent = kept.with_suffix(".seconds")  # of the runs before this one
    before = float(spent.read_text()) if spent.exists() else 0.0
    began, saved = time.process_time(), time.monotonic()

    def save() -> None:
        save_state(model.get_state(), kept)
        spent.write_text(str(before + time.process_time() - began))

    for record in model.iterate(X, state=state):
        if time.monotonic() - saved > SAVE_EVERY:
            save()
            saved = time.monotonic()
            print(json.dumps({"model": name, "iteration": record.iteration}), flush=True)
    save()
    return model, before + time.process_time() - began


def results(
    names: list[str], side: int, n_images: int, out: Path, seed: int, epochs: int | None
) -> Iterator[dict[str, Any]]:
    out.mkdir(parents=True, exist_ok=True)
    X, _ = digits("train", side, n_images)
    test, _ = digits("test", side)
    n = SAMPLES[side]
    features = features_of(n_images, side, 5 if n_images > 20_000 else 2)
    real = features(test)
    noise = X.mean(axis=0) + X.std(axis=0) * np.random.default_rng(seed).standard_normal((n, X.shape[1]))
    for name, rows in (("training digits", X[:n]), ("independent pixels", noise)):
        yield {"model": name, "frechet": round(frechet_distance(features(rows), real), 3)}
    for name in names:
        model, seconds = trained(name, X, out, seed, epochs)
        for sampler, steps in [("", None)] if name == "gan" else FAST + SLOW:
            if sampler:
                model.set_params(sampler=sampler, sampling_steps=steps)
            began = time.process_time()
            made = model.sample(n, random_state=seed)
            sampling = time.process_time() - began
            label = f"{name} {sampler} {steps or 'all'}" if sampler else name
            picture(made[:128], out / f"{label.replace(' ', '-')}.png")
            yield {
                "model": label,
                "frechet": round(frechet_distance(features(made), real), 3),
                "training_seconds": round(seconds, 1),
                "sampling_seconds": round(sampling, 2),
                "seed": seed,
            }


def store(rows: list[dict[str, Any]], side: int, n_images: int, race: dict[str, float]) -> None:
    """The findings of a diffusion; ``race`` has seconds per update of ours and of a plain loop."""
    by_name = {row["model"]: row for row in rows}
    fast, slow = by_name["diffusion dpm2-sde 20"], by_name["diffusion ddpm all"]
    options, n = MODELS["diffusion"][1][side], SAMPLES[side]
    ratio, speed = slow["sampling_seconds"] / fast["sampling_seconds"], race["plain loop"] / race["margin"]
    scale = f"training digits {by_name['training digits']['frechet']}, independent pixels"
    save_findings(
        "diffusion-mnist",
        f"Diffusion on MNIST, {side} x {side} pixels",
        protocol=f"{n_images:,} digits, U-Net with {options['hidden_layer_sizes']} channels, 1,000 steps of noise, "
        f"{options['max_iter']} epochs of batches of {options['batch_size']} ({fast['training_seconds']:.0f} s of one "
        f"core); Frechet distance of {n} samples to the 10,000 test digits on the features of our LeNet-5, by the same "
        f"number of rows everywhere ({scale} {by_name['independent pixels']['frechet']}); seed {fast['seed']}. The "
        f"amount of new noise, {options['sampling_noise']:g} times the chain's, was chosen on the model of seed 0. "
        "denoising-diffusion-pytorch needs torchvision, which is not installed here: the peer is a plain PyTorch loop "
        "over the same network.",
        command=f"python -m benchmarks.studies.generative_images diffusion --side {side} --seed {fast['seed']}",
        findings=[
            *(
                Finding(
                    f"20 steps of the second-order sampler {words} against all 1,000, Frechet distance",
                    f"{by_name[label]['frechet']} against {slow['frechet']}",
                    "as good",
                    bool(by_name[label]["frechet"] <= 1.05 * slow["frechet"]),
                )
                for label, words in (
                    ("diffusion dpm2-sde 20", "with new noise ('dpm2-sde')"),
                    ("diffusion dpm2 20", "without ('dpm2')"),
                )
            ),
            Finding("sampling, times faster than 1,000 steps", f"{ratio:.1f}", "40", bool(ratio >= 40)),
            Finding("20 steps of DDIM, Frechet distance", f"{by_name['diffusion ddim 20']['frechet']}"),
            Finding(
                "seconds per update, plain loop / ours",
                f"{speed:.2f} ({1000 * race['plain loop']:.1f} / {1000 * race['margin']:.1f} ms); the time to equal "
                "samples is a race of its own",
            ),
        ],
        raw={"rows": rows, "seconds per update": race},
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.generative_images", description=__doc__)
    parser.add_argument("models", nargs="+", choices=MODELS)
    parser.add_argument("--side", type=int, choices=sorted(SAMPLES), default=FULL_SIDE)
    parser.add_argument("--images", type=int)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("generative-images"))
    chosen = parser.parse_args()
    n_images = chosen.images or IMAGES[chosen.side]
    rows = []
    with same_threads(1):
        for line in results(chosen.models, chosen.side, n_images, chosen.out, chosen.seed, chosen.epochs):
            rows.append(line)
            print(json.dumps(line), flush=True)
        if "diffusion" in chosen.models:
            race = seconds_per_update(digits("train", chosen.side, 2000)[0], MODELS["diffusion"][1][chosen.side])
            print(json.dumps(race), flush=True)
            if chosen.images is None and chosen.epochs is None:
                store(rows, chosen.side, n_images, race)


if __name__ == "__main__":
    main()
