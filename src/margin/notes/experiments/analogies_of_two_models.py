r"""Analogies in the embeddings of a language model and in those of word2vec

A small transformer learns to say the next word, word2vec to say the words around, on one corpus of places. In both
matrices of embeddings :math:`b - a + c` leads from one country and its capital to the capital of another: the relation
is a direction in what either learns. It is put there by learning; the matrix that training starts with has none.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.notes.experiments.word_analogies import CAPITALS, COUNTRIES, atlas_of_countries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, BATCH = 16, 128
NAMES = ("language model", "word2vec", "before training")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.text.word2vec import Word2Vec

    sentences = atlas_of_countries(seed, 1200 if fast else 9000)
    other = Word2Vec(
        WIDTH, window=4, sample=0, min_count=1, max_iter=20, learning_rate_init=0.05, random_state=seed
    ).fit(sentences)  # fmt: skip
    words = sorted({word for sentence in sentences for word in sentence})
    start, learned, loss = embeddings_of_a_language_model(sentences, words, 200 if fast else 1500, seed)
    vectors = {NAMES[0]: (learned, words), NAMES[1]: (other.vectors_, other.vocabulary_), NAMES[2]: (start, words)}
    return {
        "accuracy": {name: accuracy(*pair) for name, pair in vectors.items()},
        "parallel": {name: parallel(*pair) for name, pair in vectors.items()},
        "pairs": {
            name: np.array([_of(*pair, names) for names in (COUNTRIES, CAPITALS)]) for name, pair in vectors.items()
        },
        "loss": loss,
        "uniform": float(np.log(len(words))),
    }


def embeddings_of_a_language_model(
    sentences: list[list[str]], words: list[str], steps: int, seed: int
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Rows of the embedding before and after training a decoder of one block on shuffled sentences."""
    import torch

    from margin.neural.attention.config import TransformerConfig
    from margin.neural.nets.language_nets import DecoderTransformer
    from margin.neural.weights import build
    from margin.text.language import next_token_loss

    number = {word: k for k, word in enumerate(words)}
    ids = torch.tensor([[number[word] for word in sentence] for sentence in sentences])
    config = TransformerConfig(d_model=WIDTH, n_heads=2, context=ids.shape[1])
    net: Any = build(lambda: DecoderTransformer(len(words), config, tied=True), seed)
    table = next(p for p in net.parameters() if p.shape == (len(words), WIDTH))
    start = table.detach().numpy().copy()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    noise, losses = torch.Generator().manual_seed(seed), []
    for _ in range(steps):
        batch = ids[torch.randint(len(ids), (BATCH,), generator=noise)]
        # A place may stand anywhere in its sentence, so that each word is asked for what comes with it.
        batch = batch[:, torch.randperm(ids.shape[1], generator=noise)]
        loss = next_token_loss(net(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return start, table.detach().numpy().copy(), losses


def accuracy(vectors: np.ndarray, words: list[str]) -> float:
    """How many capitals are the nearest word to the sum of the others."""
    from margin.text.word_vectors import analogy

    pairs = list(permutations(range(len(COUNTRIES)), 2))
    right = [analogy(vectors, words, COUNTRIES[i], CAPITALS[i], COUNTRIES[j])[0][0] == CAPITALS[j] for i, j in pairs]
    return float(np.mean(right))


def parallel(vectors: np.ndarray, words: list[str]) -> float:
    """Mean cosine between the differences of capital and country of two pairs."""
    steps = _of(vectors, words, CAPITALS) - _of(vectors, words, COUNTRIES)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    return float((steps @ steps.T)[np.triu_indices(len(steps), 1)].mean())


def _of(vectors: np.ndarray, words: list[str], names: tuple[str, ...]) -> np.ndarray:
    places = [list(words).index(name) for name in names]
    return np.array(vectors[places], dtype=float)


def check(data: dict[str, Any]) -> Verdict:
    found, along = data["accuracy"], data["parallel"]
    return every(
        language_model=above(found["language model"], 0.7),
        word2vec=above(found["word2vec"], 0.7),
        nothing_before_training=below(found["before training"], 0.3),
        one_direction=above(along["language model"], along["before training"] + 0.3),
        of_word2vec_too=above(along["word2vec"], along["before training"] + 0.3),
        it_learned=below(float(np.mean(data["loss"][-20:])), 0.8 * data["uniform"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    for ax, name in zip(figure.subplots(1, 3), NAMES):
        countries, capitals = data["pairs"][name]
        both = np.concatenate([countries, capitals])
        axes = np.linalg.svd(both - both.mean(axis=0), full_matrices=False)[2][:2]
        start, end = ((part - both.mean(axis=0)) @ axes.T for part in (countries, capitals))
        for a, b, color in zip(start, end, (f"C{k}" for k in range(len(start)))):
            ax.plot(*np.transpose([a, b]), color=color, lw=1.4)
            ax.plot(*a, "o", color=color, ms=6)
            ax.plot(*b, "s", color=color, ms=6, mfc="white")
        _name_ends(ax, start, end)
        ax.set(title=f"{name}: {100 * data['accuracy'][name]:.0f} % of analogies", xticks=[], yticks=[])
        ax.margins(0.24, 0.12)
    figure.supxlabel(
        "from every country (disk) to its capital (square): where the steps are alike, analogies are sums", fontsize=10
    )


def _name_ends(ax: Any, start: np.ndarray, end: np.ndarray) -> None:
    """The words at both ends of the arrows, beside them and not upon each other."""
    forward = (end - start).mean(axis=0)[0] > 0
    for points, words, outward in ((start, COUNTRIES, forward), (end, CAPITALS, not forward)):
        spread = np.ptp(np.concatenate([start, end])[:, 1])
        order = np.argsort(points[:, 1])
        heights = points[order, 1].copy()
        for i in range(1, len(heights)):
            heights[i] = max(heights[i], heights[i - 1] + 0.055 * spread)
        heights -= (heights - points[order, 1]).mean()
        for i, height in zip(order, heights):
            ax.annotate(
                words[i], (points[i, 0], height), (-7 if outward else 7, 0), textcoords="offset points", va="center",
                ha="right" if outward else "left", fontsize=8, color="C7",
            )  # fmt: skip
