"""How encoders are pre-trained: masked tokens, and whether two sentences follow each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, above, equal, every, near, within
from margin.neural.attention.config import TransformerConfig
from margin.neural.nets.language_nets import BERT, BERT_BASE
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.text.language import mask_tokens, masked_token_loss, sentence_pairs

CONFIG = TransformerConfig(d_model=32, n_heads=2, n_blocks=1, context=16)


def small_bert(vocabulary: int, seed: int) -> BERT:
    """BERT 32 wide. Its initial deviation of 0.02 suits 768; a narrower one needs more to learn in few updates."""
    model = build(lambda: BERT(vocabulary, CONFIG), seed)
    with torch.no_grad():
        for matrix in model.parameters():
            if matrix.ndim > 1:
                matrix.mul_((BERT_BASE.d_model / CONFIG.d_model) ** 0.5)
    return model


def train(model: nn.Module, loss: Callable[[int], Tensor], steps: int, rate: float = 5e-3) -> None:
    """Adam on ``loss(step)``."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        optimizer.zero_grad()
        torch.autograd.backward(loss(step))
        optimizer.step()


def subjects(rng: np.random.Generator, n: int) -> np.ndarray:
    """Sentences of four words on one of five subjects: word k of subject s is token 4 s + k."""
    return 4 * rng.integers(5, size=(n, 1)) + np.arange(4)


@claim("masked-language-modelling")
def hidden_tokens_are_told_from_their_surroundings(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    mask = 20
    model = small_bert(21, seed)
    given = [mask_tokens(subjects(rng, 32), mask, rate=0.25, random_state=rng) for _ in range(100)]

    def loss(step: int) -> Tensor:
        inputs, targets, positions = (torch.from_numpy(part) for part in given[step])
        return masked_token_loss(model(inputs).tokens, targets, positions)

    train(model, loss, len(given))
    inputs, targets, positions = mask_tokens(subjects(rng, 500), mask, rate=0.25, random_state=seed)
    with torch.no_grad():
        scores = model(torch.from_numpy(inputs)).tokens
    right = float((scores.argmax(dim=-1).numpy() == targets)[positions].mean())
    commonest = float(np.bincount(targets[positions]).max() / positions.sum())
    changed = scores.clone()
    changed[torch.from_numpy(~positions)] += torch.from_numpy(rng.normal(size=21)).float()
    where = torch.from_numpy(targets), torch.from_numpy(positions)
    return every(
        rate=within(float(positions.mean()), 0.2, 0.3),
        replaced=equal(bool((inputs[positions] == mask).all()), True),
        others_stay=equal(inputs[~positions], targets[~positions]),
        only_masked_positions_count=near(
            float(masked_token_loss(changed, *where)), float(masked_token_loss(scores, *where)), tolerance=0.0
        ),
        loss=near(float(masked_token_loss(scores, *where)), _mean_surprise(scores, targets, positions), tolerance=1e-5),
        better_than_the_commonest_word=above(right, commonest + 0.4),
    )


def _mean_surprise(scores: Tensor, targets: np.ndarray, positions: np.ndarray) -> float:
    """-log p of the hidden tokens, one by one."""
    surprises = []
    for row, place in np.argwhere(positions):
        odds = np.exp(scores[row, place].double().numpy())
        surprises.append(-np.log(odds[targets[row, place]] / odds.sum()))
    return float(np.mean(surprises))


def documents(rng: np.random.Generator, n: int, length: int = 4) -> list[list[str]]:
    """Three documents of ``n`` sentences; the words of each are its own (1-4, 5-8, 9-12)."""
    return [[" ".join(map(str, rng.integers(1 + 4 * d, 5 + 4 * d, size=length))) for _ in range(n)] for d in range(3)]


def as_ids(pairs: list[tuple[str, str, bool]]) -> tuple[Tensor, Tensor, Tensor]:
    """Token 0 stands first, then both sentences; segments tell them apart."""
    ids = np.array([[0, *map(int, first.split()), *map(int, second.split())] for first, second, _ in pairs])
    segments = np.zeros_like(ids)
    segments[:, 5:] = 1
    follows = np.array([int(follows) for *_, follows in pairs])
    return torch.from_numpy(ids), torch.from_numpy(segments), torch.from_numpy(follows)


@claim("next-sentence-prediction")
def the_first_token_tells_whether_sentences_follow(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    pairs = sentence_pairs(documents(rng, 120), random_state=seed)
    ids, segments, follows = as_ids(pairs)
    model: Any = small_bert(13, seed)
    order = [rng.integers(len(ids), size=32) for _ in range(250)]

    def loss(step: int) -> Tensor:
        rows = torch.from_numpy(order[step])
        states = model.states(ids[rows], segments[rows])
        return functional.cross_entropy(model.next_sentence(model.pool(states)), follows[rows])

    train(model, loss, len(order))
    new_ids, new_segments, true = as_ids(sentence_pairs(documents(rng, 60), random_state=seed + 1))
    with torch.no_grad():
        predicted = model.next_sentence(model.pool(model.states(new_ids, new_segments))).argmax(dim=1)
    return every(
        half_are_true=within(float(follows.double().mean()), 0.499, 0.502),
        true_pairs_follow=equal(all(set(a.split()) <= words_of(b) for a, b, follows in pairs if follows), True),
        others_do_not=equal(any(set(a.split()) <= words_of(b) for a, b, follows in pairs if not follows), False),
        above_chance=above(
            float((predicted == true).double().mean()), 0.5 + 3 * 0.5 / len(true) ** 0.5
        ),  # 3 deviations
    )


def words_of(sentence: str) -> set[str]:
    """The words of the document from which a sentence comes."""
    first = 1 + 4 * ((int(sentence.split()[0]) - 1) // 4)
    return {str(word) for word in range(first, first + 4)}
