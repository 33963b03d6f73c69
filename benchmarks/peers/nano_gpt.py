"""nanoGPT's published recipe for a character model on a CPU, written plainly, as a user would.

Four blocks, four heads, width 128, windows of 64 characters, batches of 12, 2000 updates, learning rate 1e-3 that rises
over 100 updates and falls along a cosine to 1e-4, AdamW with betas 0.9 and 0.99 and decay 0.1 of matrices, gradients
clipped at 1, no dropout, no biases, learned positions, the embedding tied to the output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["BLOCK", "UPDATES", "CharacterGPT", "train_plainly"]

BLOCK, BATCH, UPDATES, WARMUP = 64, 12, 2000, 100
RATE, LAST_RATE = 1e-3, 1e-4
WIDTH, HEADS, LAYERS = 128, 4, 4


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(self.first(x)).split(WIDTH, dim=2)
        q, k, v = (part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        y: Tensor = x + self.down(functional.gelu(self.up(self.second(x))))
        return y


class CharacterGPT(nn.Module):
    """Scores of the next character at every position of a window."""

    def __init__(self, vocabulary: int):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                ends = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * LAYERS) if ends else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return functional.linear(self.norm(self.blocks(x)), self.tokens.weight)


def rate_at(update: int) -> float:
    if update < WARMUP:
        return RATE * (update + 1) / (WARMUP + 1)
    done = (update - WARMUP) / (UPDATES - WARMUP)
    return LAST_RATE + (RATE - LAST_RATE) * (1 + math.cos(math.pi * done)) / 2


def train_plainly(tokens: Tensor, vocabulary: int, seed: int) -> Iterator[tuple[int, nn.Module]]:
    """The number of updates and the network after each of them."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = CharacterGPT(vocabulary)
    matrices = [p for p in network.parameters() if p.ndim == 2]
    others = [p for p in network.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, RATE, betas=(0.9, 0.99))
    for update in range(UPDATES):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(update)
        starts = torch.randint(len(tokens) - BLOCK, (BATCH,), generator=generator)
        rows = torch.stack([tokens[start : start + BLOCK + 1] for start in starts.tolist()])
        loss = functional.cross_entropy(network(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        yield update + 1, network
