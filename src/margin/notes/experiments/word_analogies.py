r"""Capitals by arithmetic: what 3CosAdd finds, and what of it is the arithmetic

*a is to b as c is to* the word whose vector has the largest cosine with :math:`b - a + c` (3CosAdd). By custom a, b and
c are left out of the answers, which can only help; an honest count keeps them in. Here, where words of a place and of a
kind stand together, both counts agree, and the neighbor of c alone, without any arithmetic, answers nothing.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTRIES = ("wales", "italy", "france", "spain", "japan", "peru")
CAPITALS = ("cardiff", "rome", "paris", "madrid", "tokyo", "lima")
WAYS = ("3CosAdd,\na, b, c left out", "3CosAdd,\nall words", "nearest to c\nalone")


def atlas_of_countries(seed: int, n: int = 3000) -> list[list[str]]:
    """A place is mentioned with words of its region and with words of its kind, country or capital."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n):
        i, kind = rng.integers(len(COUNTRIES)), rng.integers(2)
        region = [f"{COUNTRIES[i]}-{k}" for k in rng.integers(3, size=2)]
        kinds = [f"{('nation', 'city')[kind]}-{k}" for k in rng.integers(3, size=2)]
        sentences.append([(COUNTRIES, CAPITALS)[kind][i], *rng.permutation(region + kinds).tolist()])
    return sentences


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.text.word2vec import Word2Vec
    from margin.text.word_vectors import analogy, nearest_words

    model = Word2Vec(
        16, window=4, sample=0, min_count=1, max_iter=15, learning_rate_init=0.05, random_state=seed
    ).fit(atlas_of_countries(seed, 3000 if fast else 9000))  # fmt: skip
    vectors, words = model.vectors_, model.vocabulary_
    right = np.zeros(3)
    pairs = list(permutations(range(len(COUNTRIES)), 2))
    for i, j in pairs:
        a, b, c, answer = COUNTRIES[i], CAPITALS[i], COUNTRIES[j], CAPITALS[j]
        sum_of = model.vector(b) - model.vector(a) + model.vector(c)
        nearest = (
            analogy(vectors, words, a, b, c)[0][0],
            nearest_words(vectors, words, sum_of, n=1)[0][0],
            nearest_words(vectors, words, model.vector(c), n=1, without=[a, b, c])[0][0],
        )
        right += [word == answer for word in nearest]
    pairs_of_vectors = np.array([[model.vector(pair[k]) for pair in zip(COUNTRIES, CAPITALS)] for k in range(2)])
    return {"accuracy": right / len(pairs), "vectors": pairs_of_vectors, "countries": COUNTRIES, "capitals": CAPITALS}


def check(data: dict[str, Any]) -> Verdict:
    usual, honest, neighbor = data["accuracy"]
    return every(
        by_arithmetic=above(usual, 0.7),
        without_arithmetic=below(neighbor, usual - 0.2),
        counting_all_words=above(honest, 0.7),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5.5)
    plane, bars = figure.subplots(1, 2, width_ratios=[1.3, 1])
    everything = data["vectors"].reshape(-1, data["vectors"].shape[-1])
    center = everything.mean(axis=0)
    axes = np.linalg.svd(everything - center, full_matrices=False)[2][:2]
    for country, capital, (start, end) in zip(
        data["countries"], data["capitals"], ((data["vectors"] - center) @ axes.T).transpose(1, 0, 2)
    ):
        plane.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "gray"})
        for word, place in ((country, start), (capital, end)):
            plane.annotate(word, place, xytext=(0, 5), textcoords="offset points", ha="center", fontsize=9)
        plane.plot(*np.stack([start, end]).T, ".", color="black")
    plane.set(title="One direction leads from every country to its capital", xticks=[], yticks=[])
    bars.bar_label(bars.bar(WAYS, data["accuracy"]), fmt="{:.0%}", padding=2)
    bars.set(title="Fraction of questions answered", ylim=(0, 1.1), yticks=[0, 0.5, 1])
    plane.margins(0.15)
