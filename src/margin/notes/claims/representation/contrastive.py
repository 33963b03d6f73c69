"""Claims on contrastive losses, views, SimCLR and CLIP."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS
from margin.notes.claims.representation import rows
from margin.representation.clip import CLIP, zero_shot_probabilities
from margin.representation.contrastive import clip_loss, nt_xent
from margin.representation.views import two_views

DARK, NOISE = 0.4, 0.03  # brightness of what is called dark, and the deviation of every pixel


@claim("nt-xent-loss")
def nt_xent_is_a_cross_entropy_over_all_other_views(seed: int) -> Verdict:
    z, tau, n = rows(seed, 8, 5), 0.4, 4
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    s = unit @ unit.T / tau

    def pair(i: int, j: int) -> float:
        return -math.log(math.exp(s[i, j]) / sum(math.exp(s[i, k]) for k in range(2 * n) if k != i))

    both = np.mean([(pair(k, n + k) + pair(n + k, k)) / 2 for k in range(n)])
    scale = np.random.default_rng(seed).uniform(0.1, 10, size=(8, 1))
    loss = float(nt_xent(torch.from_numpy(z), tau).mean())
    one_way = np.mean([pair(k, n + k) for k in range(n)])
    truth = every(
        double_loop=near(loss, both, tolerance=1e-12),
        coincide=near(float(nt_xent(torch.ones(8, 3, dtype=torch.float64), tau).mean()), 1.94591, tolerance=1e-5),
        scale=near(float(nt_xent(torch.from_numpy(z * scale), tau).mean()), loss, tolerance=1e-12),
    )
    return corrected(truth, printed=near(one_way, loss, tolerance=1e-6))


@claim("data-augmentation-two-views")
def views_are_correlated_and_follow_from_the_seed(seed: int) -> Verdict:
    from sklearn.datasets import load_digits

    images = torch.from_numpy(load_digits().images[:200, None] / 16)
    changes = ["crop 2", "flip", "contrast 0.3", "blur 0.5", "noise 0.1"]
    first, second = two_views(images, changes, seed)
    again = two_views(images, changes, seed)
    a, b = (v.reshape(200, -1) - v.mean(dim=0).reshape(1, -1) for v in (first, second))
    like = torch.nn.functional.cosine_similarity(a, b).mean()
    unlike = torch.nn.functional.cosine_similarity(a, b.roll(1, 0)).mean()
    return every(
        same_seed=equal(torch.equal(first, again[0]) and torch.equal(second, again[1]), True),
        different=above(float((first - second).abs().mean()), 0.01),
        correlated=above(float(like), float(unlike) + 0.2),
    )


def square_at(r: int, c: int) -> np.ndarray:
    image = np.zeros((10, 10))
    image[r - 2 : r + 2, c - 2 : c + 2] = 1
    return image


def square(rng: np.random.Generator) -> np.ndarray:
    return square_at(*rng.integers(2, 8, size=2))


@cache
def caption(seed: int, n_components: int = 512) -> dict[str, Any]:
    """Bars of four directions and two brightnesses; one combination is never shown in training."""
    rng = np.random.default_rng(seed)
    kinds, lights = ("row", "column", "square", "cross"), ("bright", "dark")
    images, captions = [], []
    for _ in range(480):
        kind, light = int(rng.integers(4)), int(rng.integers(2))
        image, (r, c) = np.zeros((10, 10)), rng.integers(2, 8, size=2)
        if kind in (0, 3):
            image[r, :] = 1
        if kind in (1, 3):
            image[:, c] = 1
        if kind == 2:
            image = square_at(r, c)
        images.append(image * (DARK if light else 1.0) + NOISE * rng.normal(size=image.shape))
        captions.append(f"a photo of a {lights[light]} {kinds[kind]}")
    held = np.array([text.endswith("dark square") for text in captions])
    pairs = np.array(images), np.array(captions)
    train = np.flatnonzero(~held)[:320]
    test = np.setdiff1d(np.arange(480), np.concatenate([train, np.flatnonzero(held)]))
    model = CLIP(
        ["conv 8 3", "pool 2", "conv 16 3", "pool 2"],
        n_components=n_components,
        max_iter=10,
        batch_size=32,
        random_state=seed,
    )
    model.fit(pairs[0][train], pairs[1][train].tolist())
    names = [f"{light} {kind}" for light in lights for kind in kinds]
    return {"model": model, "images": pairs[0], "captions": pairs[1], "held": held, "test": test, "names": names}


@claim("clip")
def images_find_their_captions(seed: int) -> Verdict:
    data = caption(seed)
    model, test, names = data["model"], data["test"], [n for n in data["names"] if n != "dark square"]
    prompts = [f"a photo of a {name}" for name in names]
    best = model.similarity(data["images"][test], prompts).argmax(axis=1)
    right = float(np.mean([prompts[k] == text for k, text in zip(best, data["captions"][test])]))
    same = torch.ones(16, 4, dtype=torch.float64)
    a, b = (torch.from_numpy(rows(seed + k, 6, 4)) for k in range(2))
    return every(
        retrieval=above(right, 0.9),  # chance is 1 / 7; seeds 0 to 4 find all
        coincide=near(float(clip_loss(same, same, 5.0).mean()), math.log(16), tolerance=1e-12),
        symmetric=near(float(clip_loss(a, b, 5.0).mean()), float(clip_loss(b, a, 5.0).mean()), tolerance=1e-12),
        loss_falls=below(model.loss_curve_[-1], model.loss_curve_[0]),
    )


@claim("zero-shot-classification-clip")
def names_of_classes_are_a_classifier(seed: int) -> Verdict:
    # Few coordinates: with 512 of them one model in ten does not carry brightness over to a shape it never saw dark.
    data, rng = caption(seed, 64), np.random.default_rng(seed + 1)
    model, test, names = data["model"], data["test"], data["names"]
    p = model.zero_shot(data["images"][test], names)
    right = np.mean([names[k] in text for k, text in zip(p.argmax(axis=1), data["captions"][test])])
    kinds = ["dark row", "dark column", "dark square", "dark cross"]
    squares = [square(rng) * DARK + NOISE * rng.normal(size=(10, 10)) for _ in range(400)]
    unseen = model.zero_shot(np.array(squares), kinds).argmax(axis=1)  # never shown together
    texts = model.encode_texts([f"a photo of a {name}" for name in names])
    images = model.encode_images(data["images"][test])
    return every(
        sums=near(p.sum(axis=1), np.ones(len(p)), tolerance=1e-6),
        scale_100=near(
            zero_shot_probabilities(images, texts), softmax(100.0 * images @ texts.T, axis=1), tolerance=1e-5
        ),
        held_out_images=above(float(right), 0.9),
        # Better than a guess among the four by more than five standard errors of the guesses.
        unseen_combination=above(float(np.mean(unseen == 2)), 0.25 + ERRORS * (0.25 * 0.75 / 400) ** 0.5),
    )


@claim("example-clip-cifar100")
def the_calls_of_the_snippet(seed: int) -> Verdict:
    model = caption(seed)["model"]
    names = [f"class {k}" for k in range(98)] + ["bright row", "dark cross"]
    image = caption(seed)["images"][:1]
    image_features = model.encode_images(image)
    text_features = model.encode_texts([f"a photo of a {name}" for name in names])
    similarity = zero_shot_probabilities(image_features, text_features, scale=100.0)
    top = np.argsort(-similarity[0], kind="stable")[:5]
    by_hand = np.exp(100.0 * (image_features @ text_features.T)[0].astype(float))
    return every(
        probabilities=near(similarity[0], by_hand / by_hand.sum(), tolerance=1e-5),
        shapes=equal((image_features.shape, text_features.shape, similarity.shape), ((1, 512), (100, 512), (1, 100))),
        unit=near(np.linalg.norm(text_features, axis=1), np.ones(100), tolerance=1e-5),
        sums=near(float(similarity.sum()), 1.0, tolerance=1e-6),
        five=equal(bool(np.all(np.diff(similarity[0, top]) <= 0)) and len(top) == 5, True),
    )
