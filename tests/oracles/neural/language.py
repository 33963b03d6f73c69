"""Language networks against their parts put together by hand, and counts of parameters against built networks."""

from __future__ import annotations

import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, same
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.nets.language_nets import BERT, decoder_parameters
from margin.neural.weights import build


@oracle(f"{PATH}.nets.language_nets.BERT", f"{PATH}.nets.language_nets.decoder_parameters")
def texts_through_bert(seed: int) -> Verdict:
    """Segments are added before the norm, the first token is pooled, tokens are scored by their own embedding."""
    config = TransformerConfig(d_model=6, n_heads=2, n_blocks=1, context=8, norm_first=False, d_ff=10)
    net = build(lambda: BERT(9, config), seed, torch.float64).eval().requires_grad_(False)
    ids, segments = torch.tensor([[1, 4, 2, 8], [0, 3, 3, 5]]), torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]])
    embedded = net.embedding(ids) + net.segments.weight[segments]
    states = net.stack(functional.layer_norm(embedded, (6,), net.embedding_norm.weight, net.embedding_norm.bias))
    pooled = torch.tanh(states[:, 0] @ net.pooler.weight.T + net.pooler.bias)
    h = functional.gelu(states @ net.transform.weight.T + net.transform.bias)
    h = functional.layer_norm(h, (6,), net.transform_norm.weight, net.transform_norm.bias)
    outputs = net(ids, segments)
    small = TransformerConfig(d_model=6, n_heads=2, n_blocks=3, context=11, d_ff=14)
    return every(
        states=same(net.states(ids, segments), states),
        no_segments=same(net.states(ids), net.states(ids, torch.zeros_like(ids))),
        pooled=same(net.pool(states), pooled),
        tokens=same(outputs.tokens, h @ net.embedding.tokens.weight.T + net.token_bias),
        next_sentence=same(outputs.next_sentence, pooled @ net.next_sentence.weight.T + net.next_sentence.bias),
        parameters=equal(
            decoder_parameters(17, small), sum(p.numel() for p in DecoderTransformer(17, small).parameters())
        ),
    )
