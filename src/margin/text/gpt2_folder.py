"""A language model in the files of transformers: settings, weights and ``tokenizer.json`` of a GPT-2, read and written.

A token of GPT-2 is one number higher here, and the end of a text, which is GPT-2's last token, is 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from margin.neural.attention.config import TransformerConfig
from margin.neural.nets.transformer import DecoderTransformer
from margin.neural.transformers_layout import load_transformers, save_transformers
from margin.neural.transformers_layout.folder import read_json
from margin.neural.weights import copy_weights, load_weights
from margin.text.bpe import BytePairTokenizer
from margin.text.bpe_file import parsed
from margin.text.token_codes import TextCodes

__all__ = ["PretrainedGPT2", "read_gpt2", "write_gpt2"]

END_OF_TEXT = "<|endoftext|>"
TOKENIZER = "tokenizer.json"
SHARED = ("d_model", "n_heads", "n_blocks", "d_ff", "norm", "qk_norm", "activation", "feed_forward", "context", "bias")


@dataclass(frozen=True)
class PretrainedGPT2:
    """What a fitted language model consists of."""

    parameters: dict[str, Any]
    codes: dict[str, str]
    network: dict[str, Any]
    weights: dict[str, np.ndarray]


def read_gpt2(folder: str | os.PathLike[str]) -> PretrainedGPT2:
    """The model of a folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``."""
    folder = Path(folder)
    module = load_transformers(folder)
    if not isinstance(module, DecoderTransformer):
        raise ValueError(f"LanguageModel: {folder} must hold a GPT-2; it holds a {type(module).__name__}.")
    n_tokens = module.embedding.tokens.num_embeddings
    codes = TextCodes("bpe", _plain_tokenizer(folder / TOKENIZER, n_tokens).to_json())
    config = module.config
    parameters = {name: getattr(config, name) for name in SHARED}
    parameters |= {"tokens": "bpe", "vocab_size": max(256, n_tokens - 1), "position": "learned"}
    parameters |= {"dropout": config.dropout, "tie_weights": module.tied}
    weights = _moved(copy_weights(module), 1)
    network = {"vocabulary": n_tokens, "tied": module.tied, "config": asdict(config)}
    return PretrainedGPT2(parameters, codes.stored, network, weights)


def write_gpt2(
    folder: str | os.PathLike[str], codes: TextCodes, network: Mapping[str, Any], weights: Mapping[str, np.ndarray]
) -> Path:
    """Write such a folder; the model must have tokens by byte pairs and the blocks of GPT-2."""
    if codes.kind != "bpe":
        raise ValueError(f"LanguageModel: tokens must be 'bpe' for the files of GPT-2; got {codes.kind!r}.")
    with torch.device("meta"):
        module = DecoderTransformer(network["vocabulary"], TransformerConfig(**network["config"]), tied=network["tied"])
    module = module.to_empty(device="cpu")
    load_weights(module, _moved(weights, -1))
    folder = save_transformers(module, folder)
    plain = codes.pairs
    tokens = [plain.token_bytes(i) for i in range(plain.vocab_size)]
    known = {token: i for i, token in enumerate(tokens)}
    merges = [(known[a], known[b], known[a + b]) for a, b in plain.merges]
    special = {END_OF_TEXT: len(tokens)}
    BytePairTokenizer([*tokens, END_OF_TEXT.encode()], merges, special).save(folder / TOKENIZER)
    return folder


def _plain_tokenizer(path: Path, n_tokens: int) -> BytePairTokenizer:
    """The tokenizer without the end of a text, which must be the last of the network's ``n_tokens`` tokens."""
    tokens, merges, special = parsed(read_json(path))
    if list(special.values()) != [len(tokens) - 1] or len(tokens) != n_tokens:
        raise ValueError(
            f"LanguageModel: {path} must have {n_tokens} tokens, of which the last alone is special; "
            f"got {len(tokens)} and {sorted(special.values())}."
        )
    return BytePairTokenizer(tokens[:-1], merges, {})


def _moved(weights: Mapping[str, np.ndarray], by: int) -> dict[str, np.ndarray]:
    """Rows of the matrices that have one for every token, moved on in a circle: the last becomes the first."""
    by_token = ("embedding.tokens.weight", "head.weight")
    return {name: np.roll(array, by, axis=0) if name in by_token else array for name, array in weights.items()}
