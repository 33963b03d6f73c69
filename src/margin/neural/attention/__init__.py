"""Attention explained: the equations as readable functions, equal to torch's, and the layers built from them.

Read in this order: masks, dot_product, additive, positions, relative, rotary, cache, feed_forward, config, decoder,
backward, subquadratic, patches, trace. A whole decoder is ``decoder``, from top to bottom.
"""

from margin.neural.attention.additive import additive_attention, additive_scores
from margin.neural.attention.backward import attention_backward, block_backward, softmax_backward
from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import FeedForward, MultiHeadAttention, TransformerBlock, join_heads, split_heads
from margin.neural.attention.dot_product import (
    Attended,
    Projections,
    attention,
    attention_scores,
    attention_weights,
    column_attention,
    masked_softmax,
    qkv,
)
from margin.neural.attention.feed_forward import MixtureOfExperts, SquaredReLU, SwiGLU, load_balancing_loss, route
from margin.neural.attention.masks import causal_mask, padding_mask, window_mask
from margin.neural.attention.patches import patchify, unpatchify
from margin.neural.attention.positions import LearnedPositions, SinusoidalPositions, sinusoidal
from margin.neural.attention.relative import RelativeBias, alibi_bias, alibi_slopes, relative_bias
from margin.neural.attention.rotary import rotary, rotary_angles
from margin.neural.attention.subquadratic import kernel_attention, linear_attention, random_feature_attention
from margin.neural.attention.trace import AttentionStage, trace

__all__ = [
    "Attended",
    "AttentionStage",
    "FeedForward",
    "KeyValueCache",
    "LearnedPositions",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "Projections",
    "RelativeBias",
    "SinusoidalPositions",
    "SquaredReLU",
    "SwiGLU",
    "TransformerBlock",
    "TransformerConfig",
    "additive_attention",
    "additive_scores",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "attention_backward",
    "attention_scores",
    "attention_weights",
    "block_backward",
    "causal_mask",
    "column_attention",
    "join_heads",
    "kernel_attention",
    "linear_attention",
    "load_balancing_loss",
    "masked_softmax",
    "padding_mask",
    "patchify",
    "qkv",
    "random_feature_attention",
    "relative_bias",
    "rotary",
    "rotary_angles",
    "route",
    "sinusoidal",
    "softmax_backward",
    "split_heads",
    "trace",
    "unpatchify",
    "window_mask",
]
