"""What a network looks at and what its parts add, against sums by hand and derivatives by differences."""

from __future__ import annotations

import math

import numpy as np
import torch
from tests.oracles import oracle
from torch import nn

from margin.core.verdict import Verdict, equal, every, near
from margin.interpretation import permutation_importance
from margin.interpretation.attribution import class_activation_map, grad_cam, resize_map
from margin.interpretation.language_parts import ablate, ablations, activations, completion_log_probability
from margin.neural.weights import build
from margin.text import LanguageModel

PATH = "margin.interpretation"


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng([seed, *shape]).normal(0.4, 1.3, size=shape))


@oracle(f"{PATH}.attribution.class_activation_map")
def maps_weighted_by_hand(seed: int) -> Verdict:
    """Odd sizes, a class of its own for every image."""
    maps, weight, labels = drawn(seed, 3, 4, 5, 2), drawn(seed, 6, 4), torch.tensor([5, 0, 2])
    expected = [sum(float(weight[y, k]) * maps[n, k].numpy() for k in range(4)) for n, y in enumerate(labels.tolist())]
    return every(
        per_image=near(class_activation_map(maps, weight, labels), np.stack(expected), tolerance=1e-10),
        one_class=near(class_activation_map(maps, weight, 2)[2], expected[2], tolerance=1e-10),
    )


@oracle(f"{PATH}.attribution.grad_cam")
def slopes_of_a_score_by_differences(seed: int) -> Verdict:
    """The mean slope of the score in every map, entry by entry, weighs the maps; what is below 0 is cut."""
    head = lambda: nn.Sequential(nn.Tanh(), nn.Flatten(), nn.Linear(3 * 4 * 3, 4))  # noqa: E731
    network = build(lambda: nn.Sequential(nn.Conv2d(2, 3, 2), head()), seed, torch.float64)
    x, labels = drawn(seed, 2, 2, 5, 4), torch.tensor([3, 1])
    with torch.no_grad():
        maps, expected = network[0](x), []
        for n, label in enumerate(labels.tolist()):
            slopes = torch.zeros_like(maps[n])
            for index in np.ndindex(*maps[n].shape):
                step = torch.zeros_like(maps[n])
                step[index] = 1e-5
                high, low = (network[1]((maps[n] + sign * step)[None])[0, label] for sign in (1, -1))
                slopes[index] = (high - low) / 2e-5
            heat = sum(slopes[k].mean() * maps[n, k] for k in range(3))
            expected.append(np.maximum(heat.numpy(), 0.0))
    return near(grad_cam(network, network[0], x, labels), np.stack(expected), tolerance=1e-6)


@oracle(f"{PATH}.attribution.resize_map")
def pixels_between_pixels(seed: int) -> Verdict:
    """Bilinear weights at the centers of the larger pixels, nothing beyond the outermost centers."""
    heat, (height, width) = drawn(seed, 2, 3, 4), (7, 6)
    expected = np.empty((2, height, width))
    for i, j in np.ndindex(height, width):
        y, x = (
            np.clip((k + 0.5) * small / large - 0.5, 0, small - 1)
            for k, small, large in ((i, 3, height), (j, 4, width))
        )
        top, left = min(int(y), 1), min(int(x), 2)
        v, u = y - top, x - left
        corners = heat[:, top : top + 2, left : left + 2].numpy()
        expected[:, i, j] = corners @ np.array([1 - u, u]) @ np.array([1 - v, v])
    return near(resize_map(heat, height, width), expected, tolerance=1e-9)


@oracle(*(f"{PATH}.language_parts.{name}" for name in ("ablate", "ablations")))
def a_part_that_writes_nothing(seed: int) -> Verdict:
    """Silencing a part is a model whose last matrix of that part is 0; afterwards all is as before."""
    texts = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog"]
    model = LanguageModel(d_model=16, n_heads=2, n_blocks=2, context=24, max_iter=2, random_state=seed).fit(texts)
    prompt, completion = "the cat", " sat"
    before = math.exp(completion_log_probability(model, prompt, completion))
    expected, silenced = [], []
    for block in range(2):
        for part, name in (("attention", "attention"), ("mlp", "feed")):
            owner = getattr(model._ready_module().stack.blocks[block], name)
            linears = [layer for layer in owner.modules() if isinstance(layer, nn.Linear)]
            kept = [p.detach().clone() for p in linears[-1].parameters()]
            with torch.no_grad():
                for p in linears[-1].parameters():
                    p.zero_()
                expected.append(math.exp(completion_log_probability(model, prompt, completion)))
                for p, old in zip(linears[-1].parameters(), kept):
                    p.copy_(old)
            with ablate(model, block, part):
                silenced.append(math.exp(completion_log_probability(model, prompt, completion)))
    found = ablations(model, prompt, completion)
    return every(
        inside=near(silenced, expected, tolerance=1e-7),
        table=near([one.after for one in found], expected, tolerance=1e-7),
        drops=near([one.drop for one in found], [before - after for after in expected], tolerance=1e-7),
        order=equal([(one.block, one.part) for one in found], [(b, p) for b in range(2) for p in ("attention", "mlp")]),
        as_before=near(math.exp(completion_log_probability(model, prompt, completion)), before, tolerance=0.0),
    )


@oracle("margin.interpretation.permutation_importance")
def columns_shuffled_one_by_one(seed: int) -> Verdict:
    """The same shuffles by the same seed, each scored by hand; a column that the model ignores loses nothing."""

    class Weighted:
        def score(self, X: np.ndarray, y: np.ndarray) -> float:
            return -float(np.mean((2 * X[:, 0] - X[:, 1] - y) ** 2))

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    y = 2 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=30)
    drops = permutation_importance(Weighted(), X, y, n_repeats=3, random_state=seed)
    again, expected = np.random.default_rng(seed), np.empty((3, 3))
    for j in range(3):
        for repeat in range(3):
            shuffled = X.copy()
            shuffled[:, j] = X[again.permutation(30), j]
            losses = [np.mean((2 * rows[:, 0] - rows[:, 1] - y) ** 2) for rows in (shuffled, X)]
            expected[j, repeat] = losses[0] - losses[1]
    return every(drops=near(drops, expected, tolerance=1e-10), ignored=near(drops[2], np.zeros(3), tolerance=0.0))


@oracle("margin.interpretation.language_parts.activations")
def what_parts_of_a_block_add(seed: int) -> Verdict:
    """Of two texts, from the weights: what leaves a block, and what its two parts add to what came in."""
    model = LanguageModel(d_model=8, n_heads=2, n_blocks=2, context=12, max_iter=1, random_state=seed)
    model.fit("".join(np.random.default_rng(seed).choice(list("abcd"), 120)))
    module, codes = model._ready_module(), model._codes()
    found: dict[str, list[np.ndarray]] = {"attention": [], "mlp": [], "block": []}
    with torch.no_grad():
        for text in ("abca", "dcb"):
            x = module.embedding(torch.from_numpy(codes.join_texts([text], "oracle")[:-1])[None])
            x = module.stack.blocks[0](x)
            block = module.stack.blocks[1]
            added = block.attention(block.attention_norm(x), causal=True)
            after = x + added
            out = block(x)
            for name, part in (("attention", added), ("mlp", out - after), ("block", out)):
                found[name].append(part[0, 1:].numpy())
    return every(
        **{
            name: near(activations(model, ["abca", "dcb"], 1, name), np.concatenate(parts), tolerance=1e-5)
            for name, parts in found.items()
        }
    )
