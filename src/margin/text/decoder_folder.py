"""A language model in the files of transformers: settings, weights and ``tokenizer.json`` of a GPT-2 or a Llama.

The end of a text is 0 here, and every other token has a number from 1 on, in the order of the file. Tokens that the
file calls special and that do not end a text are ordinary ones, which no text is encoded to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from margin.core.arguments import refuse_told_twice
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.transformers_layout import load_transformers, save_transformers
from margin.neural.transformers_layout.folder import CONFIG, read_json
from margin.neural.weights import copy_weights, load_weights
from margin.text.bpe import BytePairTokenizer
from margin.text.bpe_file import parse
from margin.text.token_codes import TextCodes

__all__ = ["TOKENIZER", "FolderModel", "read_decoder", "write_decoder"]

END_OF_TEXT = "<|endoftext|>"
TOKENIZER = "tokenizer.json"
SHARED = (
    "d_model", "n_heads", "n_blocks", "d_ff", "norm", "qk_norm", "activation", "feed_forward", "context", "bias",
    "n_kv_heads", "position",
)  # fmt: skip
BY_TOKEN = ("embedding.tokens.weight", "head.weight")  # matrices that have a row for every token


@dataclass(frozen=True)
class FolderModel:
    """What a model of texts consists of that a folder holds."""

    parameters: dict[str, Any]
    codes: dict[str, str]
    network: dict[str, Any]
    weights: dict[str, np.ndarray]

    def build(self, model_class: type[Any], params: Mapping[str, Any]) -> Any:
        """The fitted model, with ``params`` for a fit that goes on."""
        refuse_told_twice(model_class.__name__, params, self.parameters.keys())
        model = model_class(**{**self.parameters, **params})
        model.codes_, model.network_, model.weights_ = self.codes, self.network, self.weights
        model._begin_counts()
        return model


def read_decoder(folder: str | os.PathLike[str]) -> FolderModel:
    """The model of a folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``.

    Without a token that ends a text, one is added whose vector is 0.
    """
    folder = Path(folder)
    module = load_transformers(folder)
    if not isinstance(module, DecoderTransformer):
        raise ValueError(f"LanguageModel: {folder} must hold a GPT-2 or a Llama; it holds a {type(module).__name__}.")
    path, n_rows = folder / TOKENIZER, module.embedding.tokens.num_embeddings
    tokens, merges, special = parse(read_json(path))
    if len(tokens) > n_rows:
        raise ValueError(f"LanguageModel: {path} must have at most the network's {n_rows} tokens; got {len(tokens)}.")
    end = _end(read_json(folder / CONFIG), sorted(special.values()))
    codes = TextCodes("bpe", _without(tokens, merges, end).to_json())
    config = module.config
    parameters = {name: getattr(config, name) for name in SHARED}
    parameters |= {"tokens": "bpe", "vocab_size": max(256, codes.size - 1)}
    parameters |= {"dropout": config.dropout, "tie_weights": module.tied}
    rows = [i for i in range(len(tokens)) if i != end]
    weights = {name: _order_rows(name, array, end, rows) for name, array in copy_weights(module).items()}
    network = {"vocabulary": codes.size, "tied": module.tied, "config": asdict(config)}
    return FolderModel(parameters, codes.stored, network, weights)


def write_decoder(
    folder: str | os.PathLike[str], codes: TextCodes, network: Mapping[str, Any], weights: Mapping[str, np.ndarray]
) -> Path:
    """Write such a folder; the model must have tokens by byte pairs and the blocks of GPT-2 or Llama."""
    if codes.kind != "bpe":
        raise ValueError(f"LanguageModel: tokens must be 'bpe' for the files of transformers; got {codes.kind!r}.")
    with torch.device("meta"):
        module = DecoderTransformer(network["vocabulary"], TransformerConfig(**network["config"]), tied=network["tied"])
    module = module.to_empty(device="cpu")
    last = {name: np.roll(array, -1, axis=0) if name in BY_TOKEN else array for name, array in weights.items()}
    load_weights(module, last)
    folder = save_transformers(module, folder)
    plain = codes.pairs
    tokens = [plain.token_bytes(i) for i in range(plain.vocab_size)]
    known = {token: i for i, token in enumerate(tokens)}
    merges = [(known[a], known[b], known[a + b]) for a, b in plain.merges]
    end = len(tokens)
    BytePairTokenizer([*tokens, END_OF_TEXT.encode()], merges, {END_OF_TEXT: end}).save(folder / TOKENIZER)
    settings = read_json(folder / CONFIG) | {"bos_token_id": end, "eos_token_id": end}
    (folder / CONFIG).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return folder


def _end(settings: Mapping[str, Any], special: Sequence[int]) -> int | None:
    """The special token that ends a text: the one that the settings name, else the last; None without any."""
    named = settings.get("eos_token_id")
    first = named[0] if isinstance(named, list) and named else named
    if isinstance(first, int) and first in special:
        return first
    return special[-1] if special else None


def _without(tokens: Sequence[bytes], merges: Sequence[tuple[int, int, int]], end: int | None) -> BytePairTokenizer:
    """The tokenizer without the end of a text."""
    rows = [i for i in range(len(tokens)) if i != end]
    now = {before: i for i, before in enumerate(rows)}
    return BytePairTokenizer([tokens[i] for i in rows], [(now[a], now[b], now[c]) for a, b, c in merges], {})


def _order_rows(name: str, array: np.ndarray, end: int | None, rows: list[int]) -> np.ndarray:
    """The end of a text first, then all other tokens; rows that no token has are left out."""
    if name not in BY_TOKEN:
        return array
    first = np.zeros_like(array[:1]) if end is None else array[end : end + 1]
    return np.concatenate([first, array[rows]])
