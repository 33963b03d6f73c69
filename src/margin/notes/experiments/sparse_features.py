r"""What a sparse autoencoder finds inside a small language model

Inside the model a token is a dense vector. An autoencoder with more units than that vector has entries, of which each
token may use few, :math:`h = \mathrm{relu}(W x + b)`, :math:`\min \|x - V h\|^2 + \lambda \|h\|_1`, finds directions
some of which can be named: they answer to one word.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEATURES = 12  # that are looked at
PEOPLE = (
    "Michael Jordan", "Serena Williams", "Lionel Messi", "Marie Curie", "Isaac Newton", "Ada Lovelace", "Alan Turing",
    "Emmy Noether", "Niels Bohr", "Grace Hopper", "Leonhard Euler", "Sofia Kovalevskaya", "Pierre Fermat",
    "Carl Gauss", "Johann Bach", "Rosa Parks",
)  # fmt: skip
VERBS = ("met", "saw", "liked", "called", "thanked", "knew")


@cache
def who_met_whom(seed: int) -> tuple[Any, list[str]]:
    """A language model of two blocks that has read who met whom, by pieces that are whole names."""
    from margin.text import LanguageModel

    rng = np.random.default_rng(seed)
    texts = [f"{rng.choice(PEOPLE)} {rng.choice(VERBS)} {rng.choice(PEOPLE)}" for _ in range(400)]
    model = LanguageModel("bpe", vocab_size=520, d_model=32, n_heads=2, n_blocks=2, context=16, max_iter=12)
    return model.set_params(batch_size=16, learning_rate_init=0.01, random_state=seed).fit(texts), texts


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.generative import SparseAutoencoder
    from margin.interpretation.language_parts import activations

    model, texts = who_met_whom(seed)
    some = texts[:150]
    inside = activations(model, some, block=0)
    autoencoder = SparseAutoencoder(
        2.0, l1=0.5, max_iter=40 if fast else 150, learning_rate_init=0.03, batch_size=128, random_state=seed
    ).fit(inside)
    # Every verb alone: how much each entry of its vector, and each direction, answers to it.
    entries = np.array([activations(model, [f" {verb}"], block=0)[-1] for verb in VERBS])
    answers = autoencoder.transform(entries)
    codes = autoencoder.transform(inside)
    best = np.argsort(-answers.max(axis=0))[:FEATURES]
    return {
        "answers": answers[:, best],
        "entries": np.abs(entries),
        "used": float(np.mean(codes > 0)),
        "explained": autoencoder.score(inside),
    }


def answering_to_one(answers: np.ndarray) -> float:
    """The fraction of columns that the second verb moves less than half as much as the first."""
    ordered = np.sort(answers, axis=0)
    return float(np.mean(ordered[-2] < 0.5 * ordered[-1]))


def check(data: dict[str, Any]) -> Verdict:
    return every(
        explained=above(data["explained"], 0.8),
        by_few_at_a_time=below(data["used"], 0.35),
        more_answer_to_one_word_than_entries=above(
            answering_to_one(data["answers"]), 1.3 * answering_to_one(data["entries"])
        ),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    fractions = data["answers"] / data["answers"].max(axis=0)
    order = np.argsort(fractions.argmax(axis=0), kind="stable")
    image = axis.imshow(fractions[:, order], cmap="viridis", vmin=0, vmax=1, aspect="auto")
    axis.set_yticks(range(len(VERBS)), VERBS)
    axis.set(xlabel="direction", title="how much a direction answers to each verb (its most: 1)")
    figure.colorbar(image, ax=axis)
