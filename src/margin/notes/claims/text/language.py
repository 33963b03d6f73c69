"""What language models are trained on, and how they write."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.special import log_softmax

from margin.core.verdict import Verdict, equal, every, near
from margin.metrics.density import perplexity
from margin.notes.claims import claim
from margin.text.decoding import generate, next_token_log_probabilities
from margin.text.language import next_token_loss


@claim("language-model-loss")
def the_loss_is_the_log_probability_of_what_follows(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    logits, ids = rng.normal(size=(10, 6)), rng.integers(0, 6, size=10)
    log_p = log_softmax(logits, axis=1)
    steps = np.array([-log_p[n, ids[n + 1]] for n in range(9)])
    given = torch.from_numpy(logits), torch.from_numpy(ids)
    mean, uniform = float(next_token_loss(*given)), float(next_token_loss(torch.zeros(10, 6), given[1]))
    z = given[0].clone().requires_grad_()
    (slope,) = torch.autograd.grad(next_token_loss(z, given[1], reduction="sum"), z)
    return every(
        sum_of_steps=near(float(next_token_loss(*given, reduction="sum")), steps.sum(), tolerance=1e-12),
        mean=near(mean, steps.mean(), tolerance=1e-12),
        perplexity=near(perplexity(-steps), math.exp(mean), tolerance=1e-9),
        uniform=near(uniform, math.log(6), tolerance=1e-6),
        gradient=near(slope[:-1], np.exp(log_p[:-1]) - np.eye(6)[ids[1:]], tolerance=1e-12),
        last_position_has_no_target=equal(bool(slope[-1].any()), False),
    )


@claim("autoregressive-generation")
def each_token_is_fed_back(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    table = 2 * rng.normal(size=(8, 8))  # a model of the next token from the last one

    def model(ids: list[int]) -> np.ndarray:
        return table[ids[-1]]

    def draw(**options: object) -> tuple[list[int], list[float]]:
        tokens, log_p = zip(*generate(model, [0], 30, **options), strict=True)  # type: ignore[arg-type]
        return list(tokens), list(log_p)

    greedy, log_p = draw(mode="greedy")
    by_hand = [0]
    for _ in range(30):
        by_hand.append(int(table[by_hand[-1]].argmax()))
    sampled, sampled_log_p = draw(random_state=seed)
    before = [0, *sampled[:-1]]
    sequence = float(log_softmax(table, axis=1)[before, sampled].sum())
    few, _ = draw(top_k=2, random_state=seed)
    allowed = np.argsort(-table, axis=1)[:, :2]
    return every(
        greedy=equal(greedy, by_hand[1:]),
        greedy_is_deterministic=equal(draw(mode="greedy", random_state=seed + 1), (greedy, log_p)),
        same_seed_same_text=equal(draw(random_state=seed)[0], sampled),
        another_seed_another_text=equal(draw(random_state=seed + 1)[0] == sampled, False),
        temperature_zero_is_greedy=equal(draw(temperature=0.0, random_state=seed)[0], greedy),
        and_its_limit=equal(draw(temperature=1e-4, random_state=seed)[0], greedy),
        sum_of_steps=near(sum(sampled_log_p), sequence, tolerance=1e-9),
        top_k=equal(all(t in allowed[b] for b, t in zip([0, *few[:-1]], few, strict=True)), True),
        a_distribution=near(
            float(np.exp(next_token_log_probabilities(table[0], top_p=0.5)).sum()), 1.0, tolerance=1e-12
        ),
    )
