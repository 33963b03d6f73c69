"""A language model's scores, maps and counts from its own network, read window by window."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.attention import maps_by_hand

from margin.core.verdict import Verdict, equal, every, near
from margin.text.language_model import LanguageModel

CONTEXT = 12


def codes(text: str, alphabet: str) -> list[int]:
    """0 before and after the text, characters from 1 on."""
    return [0, *(alphabet.index(letter) + 1 for letter in text), 0]


def log_probabilities(network: Any, ids: list[int]) -> np.ndarray:
    """Of every token after the first, given those before it; one pass for each."""
    log_p = []
    with torch.no_grad():
        for n in range(1, len(ids)):
            scores = network(torch.tensor([ids[:n]]))[0, -1].double()
            log_p.append(float(torch.log_softmax(scores, dim=0)[ids[n]]))
    return np.array(log_p)


@oracle("margin.text.language_model.LanguageModel")
def tokens_one_by_one(seed: int) -> Verdict:
    """Of 203 tokens the last 13 are held out; an epoch draws the other 190 once, in updates of four windows of 12.

    At the end the weights are those of the epoch whose loss on the held-out tokens was lowest.
    """
    letters, rng = "abcde\u00e9", np.random.default_rng(seed)
    text = letters + "".join(rng.choice(list(letters), 195))
    model = LanguageModel(d_model=8, n_heads=2, n_blocks=2, context=CONTEXT, d_ff=10, bias=True, activation="relu")
    model.set_params(batch_size=4, max_iter=2, early_stopping=True, validation_fraction=0.06, random_state=seed)
    ids = codes(text, letters)
    held = ids[-math.ceil(0.06 * len(ids)) :]
    losses, counts = [], []
    for record in model.iterate(text):
        if "valid_loss" in record.values:
            losses.append(record["valid_loss"])
            counts.append((model.t_, model.n_iter_))
    updates = (len(ids) - len(held)) // (CONTEXT * 4)
    network: Any = deepcopy(model._ready_module()).double()
    short = "ad\u00e9cab"
    known = log_probabilities(model._ready_module(), codes(short, letters))
    both = np.concatenate([known, log_probabilities(model._ready_module(), codes("eab", letters))])
    with torch.no_grad():
        maps = maps_by_hand(network.stack, network.embedding.tokens.weight[codes(short, letters)[:-1]])
    return every(
        held_out=near(min(losses), -log_probabilities(model._ready_module(), held).mean(), tolerance=1e-5),
        windows=equal(counts, [(epoch * updates * 4, epoch) for epoch in (1, 2)]),
        each=near(model.token_log_proba(short), known, tolerance=1e-5),
        means=near(model.score_samples([short, "eab"]), [known.mean(), both[7:].mean()], tolerance=1e-5),
        score=near(model.score([short, "eab"]), both.mean(), tolerance=1e-5),
        perplexity=near(model.perplexity([short, "eab"]), math.exp(-both.mean()), tolerance=1e-3),
        bits=near(model.bits_per_byte([short, "eab"]), -both.sum() / math.log(2) / 10, tolerance=1e-4),
        maps=near(np.stack(model.attention_maps(short)), torch.stack(maps).numpy(), tolerance=1e-5),
    )
