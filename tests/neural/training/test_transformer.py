"""Tokens: a small causal transformer on windows of one long array, with groups, an average and parts of a batch."""

import math

import numpy as np
import pytest
import torch
from killing import assert_a_kill_changes_nothing
from torch import nn
from torch.nn import functional

from margin.neural.training import (
    GlobalStream,
    Mean,
    Minimize,
    Plan,
    TokenWindows,
    Training,
    train,
)  # fmt: skip
from margin.neural.training.optimizers import decayed_names
from margin.neural.weights import build, copy_weights
from margin.optimize.rules import AdamW, Muon
from margin.optimize.schedules import cosine, warm_up

VOCABULARY, WIDTH, WINDOW = 7, 16, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mix, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))
        self.dropout = nn.Dropout(0.1)

    def forward(self, h):
        parts = self.mix(self.norm(h)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in parts)  # (B, heads, T, d_head)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        h = h + self.dropout(self.out(mixed))
        return h + self.dropout(self.feed(h))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(WINDOW, WIDTH)
        self.blocks, self.norm = nn.Sequential(Block(), Block()), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.tokens(x) + self.positions.weight[: x.shape[1]])))


def next_token(module, batch, _noise):
    inputs, targets = batch
    return {"loss": functional.cross_entropy(module(inputs).flatten(0, 1), targets.flatten())}


def counted(module, batch, _noise):
    """The same loss said as a total with a count of its own, over every second token only."""
    inputs, targets = batch
    losses = functional.cross_entropy(module(inputs).transpose(1, 2), targets, reduction="none")[:, ::2]
    return {"loss": Mean(losses.sum(), float(losses.numel()))}


TOKENS = (np.cumsum(np.random.default_rng(0).integers(1, 3, size=4000)) % VOCABULARY).astype(np.uint16)


RULES_OF = {"adamw": AdamW(weight_decay=0.1), "muon": Muon(0.95, weight_decay=0.1)}


def language_model(
    tokens=TOKENS, *, seed=0, epochs=3, accumulate=1, average=0.9, objective=next_token, name="adamw", batch=8,
    steps=20, dtype=torch.float32,
):  # fmt: skip
    module = build(Transformer, seed, dtype)
    rate = warm_up(cosine(1e-2, steps=epochs * steps), steps=5)
    step = Minimize(
        module, objective, RULES_OF[name], schedule=rate,
        clip_norm=1.0, accumulate=accumulate, average=average, seed=seed,
    )  # fmt: skip
    batches = TokenWindows(tokens, WINDOW, batch, seed + 1, steps_per_epoch=steps)
    return Training(batches, step, Plan(epochs, record_steps=6), stream=GlobalStream(seed + 2))


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_a_kill_changes_nothing(tmp_path, name):
    np.save(tmp_path / "tokens.npy", TOKENS)
    tokens = np.load(tmp_path / "tokens.npy", mmap_mode="r")
    small = {"epochs": 2, "batch": 4, "steps": 13}
    assert_a_kill_changes_nothing(lambda: language_model(tokens, name=name, **small), tmp_path, seed=3)


def test_it_is_a_hand_written_loop():
    """torch's AdamW with its own groups, scheduler and clipping; dropout from the same stream."""
    training = language_model(average=None, epochs=1, dtype=torch.float64)
    list(train(training))
    module = build(Transformer, 0, torch.float64)
    shrunk = decayed_names(module)
    groups = [
        {"params": [p for n, p in module.named_parameters() if n in shrunk], "weight_decay": 0.1},
        {"params": [p for n, p in module.named_parameters() if n not in shrunk], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    windows = TokenWindows(TOKENS, WINDOW, 8, seed=1)
    rate = warm_up(cosine(1e-2, steps=20), steps=5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        for step in range(20):
            for group in optimizer.param_groups:
                group["lr"] = rate(step)
            optimizer.zero_grad()
            next_token(module, windows.draw().tensors, None)["loss"].backward()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
    expected = copy_weights(module)
    for key, array in copy_weights(training.step.module).items():
        np.testing.assert_allclose(array, expected[key], rtol=1e-8, atol=1e-10, err_msg=key)


def test_embeddings_norms_and_biases_are_not_shrunk():
    names = decayed_names(Transformer())
    parts = ("mix", "out", "feed.1", "feed.3")
    assert names == {"head.weight"} | {f"blocks.{k}.{part}.weight" for k in (0, 1) for part in parts}


@pytest.mark.parametrize("objective", [next_token, counted], ids=["scalar", "own-count"])
def test_a_batch_in_parts_is_the_batch(objective):
    """Without dropout the gradient of four parts is that of the whole; 10 windows do not divide evenly."""
    ends = []
    for parts in (1, 4):
        training = language_model(
            accumulate=parts, objective=objective, epochs=1, batch=10, average=None, dtype=torch.float64
        )
        for layer in training.step.module.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = 0.0
        *_, record = train(training)
        ends.append((copy_weights(training.step.module), record["train_loss"]))
    (whole, loss), (parted, same) = ends
    assert same == pytest.approx(loss, rel=1e-10)
    for name, array in whole.items():
        np.testing.assert_allclose(parted[name], array, rtol=1e-7, atol=1e-10, err_msg=name)


def test_the_average_is_the_formula_and_is_the_result():
    training = language_model(epochs=1)
    average = copy_weights(training.step.module)
    for t in range(20):
        training.advance()
        decay = min(0.9, (1 + t) / (10 + t))
        average = {k: decay * a + (1 - decay) * copy_weights(training.step.module)[k] for k, a in average.items()}
    for name, array in copy_weights(training.step.result).items():
        np.testing.assert_allclose(array, average[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_it_learns_the_process_that_made_the_tokens():
    """Each token is the last one plus 1 or 2: the best loss is log 2 per token."""
    training = language_model(epochs=4, steps=40, batch=16)
    *_, record = train(training)
    assert record["train_loss"] < 1.2 * math.log(2)


def test_windows_follow_each_other_by_one_token_and_are_drawn_everywhere():
    windows = TokenWindows(np.arange(50), 8, 200, seed=0)
    inputs, targets = windows.draw().tensors
    assert torch.equal(inputs + 1, targets)
    assert inputs[:, 0].min() == 0
    assert targets[:, -1].max() == 49
    assert windows.draw().mass == 1600.0


@pytest.mark.parametrize(
    "tokens,sentence",
    [(np.zeros(50), "1-D array of integers; got 1-D of float64"), (np.arange(8), "more than the window of 8; got 8")],
)
def test_bad_tokens_are_refused(tokens, sentence):
    with pytest.raises(ValueError, match=sentence):
        TokenWindows(tokens, 8, 2, seed=0)
