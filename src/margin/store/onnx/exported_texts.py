"""Networks on texts as modules that can be written outside: hidden tokens, tags, and tokens after tokens."""

from __future__ import annotations

import copy
from typing import Any, cast

import torch
from torch import Tensor, nn

from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.decoder import DecoderTransformer, TransformerBlock
from margin.neural.attention.masks import causal_mask
from margin.neural.attention.positions import LearnedPositions
from margin.neural.attention.relative import RelativeBias
from margin.neural.nets.language_nets import BERT
from margin.neural.nets.tagging import PiecesTaggingNetwork
from margin.neural.nets.text import TokenEncoder
from margin.store.onnx.graph import CannotExport

__all__ = ["CachedDecoder", "HiddenTokens", "Tags", "for_any_length"]


class CachedDecoder(nn.Module):
    """Tokens (n, t) after those with keys and values ``past`` (layers, 2, n, heads, p, d_head): scores, all of these.

    The masks are made here, for any t and p, so the blocks make none.
    """

    def __init__(self, module: DecoderTransformer):
        super().__init__()
        self.body = cast(DecoderTransformer, for_any_length(module))
        for block in self.body.stack.blocks:
            cast(TransformerBlock, block).causal = False

    def forward(self, ids: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        body, cache = self.body, KeyValueCache()
        layers = range(len(body.stack.blocks))
        for layer in layers:
            cache.layers[layer] = past[layer, 0], past[layer, 1]
        start = past.shape[-2]
        mask = causal_mask(ids.shape[1], start + ids.shape[1], ids.device)
        h = body.stack(body.embedding(ids, start), mask=mask, cache=cache)
        weight = body.embedding.tokens.weight if body.head is None else body.head.weight
        present = torch.stack([torch.stack(cache.layers[layer]) for layer in layers])
        return nn.functional.linear(h, weight), present


class TablePositions(nn.Module):
    """Learned positions as rows of a table; one too far is an error of the runtime."""

    def __init__(self, weight: nn.Parameter):
        super().__init__()
        self.weight = weight

    def forward(self, n: int, start: int, like: Tensor) -> Tensor:
        return self.weight.index_select(0, torch.arange(n, device=like.device) + start)


class TableBias(nn.Module):
    """A learned bias for every distance as entries of a table."""

    def __init__(self, table: nn.Parameter):
        super().__init__()
        self.table = table

    def forward(self, n_queries: int, n_keys: int) -> Tensor:
        queries = torch.arange(n_queries, device=self.table.device) + (n_keys - n_queries)
        distance = queries[:, None] - torch.arange(n_keys, device=self.table.device)
        return self.table[:, distance + self.table.shape[1] // 2]


class HiddenTokens(nn.Module):
    """Rows of tokens, 0 after their end, and their segments: scores of all tokens everywhere, and the vectors."""

    def __init__(self, module: BERT):
        super().__init__()
        self.body = cast(BERT, for_any_length(module))

    def forward(self, ids: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        states = self.body.states(ids, segments, (ids != 0)[:, None, None, :])
        return self.body.token_scores(states), states


class Tags(nn.Module):
    """Words and what stands beside them, (n, length), to the scores of their tags, and those of the chain if any."""

    def __init__(self, module: Any):
        super().__init__()
        self.body: Any = for_any_length(module)
        self.pieces, self.chain = isinstance(module, PiecesTaggingNetwork), bool(module.chain)

    def forward(self, ids: Tensor, beside: Tensor) -> Any:
        # Of pieces all have scores here; those of a word are read off its first piece, where ``beside`` is 1.
        scores = self.body.scores(ids) if self.pieces else self.body(ids, beside)
        chain = [getattr(self.body, name).clone() for name in ("first", "between", "last")] if self.chain else []
        return (scores, *chain) if chain else scores


class ReadBothWays(nn.Module):
    """A recurrent layer over sequences (n, t, d) of their own lengths, read from both ends.

    The second pass reads every sequence backward from its own end, so that what fills it up is read last.
    """

    def __init__(self, layer: Any):
        super().__init__()
        if not isinstance(layer, nn.GRU | nn.LSTM):
            raise CannotExport("export_onnx: recurrent layers of cell 'rnn' cannot be exported; 'gru' and 'lstm' can.")
        options = {"batch_first": True, "bias": layer.bias}
        self.forward_layer = type(layer)(layer.input_size, layer.hidden_size, **options)
        self.backward_layer = type(layer)(layer.input_size, layer.hidden_size, **options)
        for part, suffix in ((self.forward_layer, ""), (self.backward_layer, "_reverse")):
            part.load_state_dict({name: getattr(layer, name + suffix) for name in part.state_dict()})

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        steps = torch.arange(x.shape[1], device=x.device)
        back = (lengths[:, None] - 1 - steps).clamp(min=0)[..., None]
        reverse, _ = self.backward_layer(x.gather(1, back.expand(-1, -1, x.shape[2])))
        again = reverse.gather(1, back.expand(-1, -1, reverse.shape[2]))
        return torch.cat([self.forward_layer(x)[0], again], dim=2)


def read_padded(layers: nn.ModuleList, _: nn.Module, x: Tensor, lengths: Tensor) -> Tensor:
    """What recurrent layers read without packed sequences, which no graph of ONNX has."""
    inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    for layer in layers:
        x = layer(x, lengths)
    return x * inside[..., None]


def for_any_length(module: nn.Module) -> nn.Module:
    """A copy of the network whose parts ask nothing of the length of a text, so that a graph takes any.

    Positions are looked up without a check of how many there are, and recurrent layers read no packed sequences.
    """
    module = copy.deepcopy(module)
    for part in list(module.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, LearnedPositions):
                setattr(part, name, TablePositions(child.weight))
            elif isinstance(child, RelativeBias):
                setattr(part, name, TableBias(child.table))
        if isinstance(part, TokenEncoder) and part.architecture == "rnn":
            part.read_layers = read_padded
            part.layers = nn.ModuleList(ReadBothWays(layer) for layer in part.layers)
    return module
