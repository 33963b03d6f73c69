"""Claims on pre-training without labels."""

from __future__ import annotations

import math

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every
from margin.notes.claims import claim
from margin.representation.pretraining import masked_words, next_words, pretrain

TOPICS, WORDS, LENGTH, LABELED = 4, 30, 6, 24


def sentences(rng: np.random.Generator, n: int) -> tuple[list[str], np.ndarray]:
    """Texts of six words, each of one of four topics that have thirty words of their own."""
    topic = rng.integers(TOPICS, size=n)
    drawn = rng.integers(WORDS, size=(n, LENGTH))
    return [" ".join(f"t{t}w{w}" for w in words) for t, words in zip(topic, drawn)], topic


@claim("self-supervised-pretraining")
def labels_come_from_the_text(seed: int) -> Verdict:
    from margin.linear import LogisticRegression

    rng = np.random.default_rng(seed)
    corpus, _ = sentences(rng, 1500)
    few, labels = sentences(rng, LABELED)
    test, truth = sentences(rng, 400)

    def probe(steps: int, objective: str) -> tuple[float, list[float]]:
        model = pretrain(objective, corpus, steps=steps, seed=seed)
        rows = model.encode([*few, *test])
        rows = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-6)
        fitted = LogisticRegression(C=1.0).fit(rows[:LABELED], labels)
        return float(fitted.score(rows[LABELED:], truth)), model.losses

    untrained, _ = probe(0, "masked")
    masked, losses = probe(150, "masked")
    following, _ = probe(60, "next")
    codes = np.array([[4, 5, 6], [7, 8, 0]])
    inputs, words = masked_words(codes, rng)
    hidden = np.argwhere(inputs != codes)
    return every(
        one_word_is_hidden=equal(codes[tuple(hidden.T)].tolist(), words.tolist()),
        the_next_word_is_the_label=equal(next_words(codes)[1].tolist(), [5, 8, 6]),
        masked_over_random=above(masked, untrained + 0.15),
        next_over_random=above(following, untrained + 0.15),
        # Knowing the topic leaves one of its thirty words to guess.
        learns_the_topics=below(losses[-1], math.log(TOPICS * WORDS) - 0.5 * math.log(TOPICS)),
    )
