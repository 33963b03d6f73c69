"""A masked language model in the files of transformers: settings, weights and ``tokenizer.json``.

The tokens stand in another order here, that of :class:`~margin.text.folder_codes.FolderTextCodes`. Of the two answers
about a second sentence, transformers has "next" first and Margin last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from margin.neural.attention.config import TransformerConfig
from margin.neural.nets.language_nets import BERT
from margin.neural.transformers_layout import load_transformers, save_transformers
from margin.neural.transformers_layout.folder import read_json
from margin.neural.weights import copy_weights, load_weights
from margin.text.decoder_folder import TOKENIZER, FolderModel
from margin.text.folder_codes import FolderTextCodes
from margin.text.token_codes import FOLDER, TextCodes

__all__ = ["described_sizes", "masked_network", "read_masked", "write_masked"]

OWNER = "MaskedLanguageModel"
SHARED = ("d_model", "n_heads", "n_blocks", "d_ff", "norm", "qk_norm", "activation", "feed_forward", "context",
          "position")  # fmt: skip
BY_TOKEN = ("embedding.tokens.weight", "token_bias")  # arrays that have a row for every token


def masked_network(network: Mapping[str, Any]) -> BERT:
    """The network that an estimator describes by plain values; ``parts`` are those of a folder."""
    return BERT(network["vocabulary"], TransformerConfig(**network["config"]), **network.get("parts", {}))


def described_sizes(network: Mapping[str, Any]) -> dict[str, Any]:
    """What parameters say of a network that a folder holds."""
    config = network["config"]
    sizes = {name: config[name] for name in SHARED}
    return {"vocabulary": network["vocabulary"], **sizes, "d_ff": TransformerConfig(**config).hidden}


def read_masked(folder: str | os.PathLike[str]) -> FolderModel:
    """The model of a folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``."""
    folder = Path(folder)
    module = load_transformers(folder)
    if not isinstance(module, BERT) or module.transform is None:
        raise ValueError(
            f"{OWNER}: {folder} must hold a BERT, RoBERTa or DistilBERT with a head that names hidden tokens, such as "
            f"BertForMaskedLM; it holds a {type(module).__name__}{' without' if isinstance(module, BERT) else ''}."
        )
    path, config = folder / TOKENIZER, asdict(module.config)
    codes = FolderTextCodes(json.dumps(read_json(path), ensure_ascii=False))
    n_rows, n_read = module.embedding.tokens.num_embeddings, len(codes.tokenizer.tokens)
    if n_read > n_rows:
        raise ValueError(f"{OWNER}: {path} must have at most the network's {n_rows} tokens; got {n_read}.")
    parts = {
        "model_type": module.model_type,
        "n_segments": 0 if module.segments is None else module.segments.num_embeddings,
        "pooler": module.pooler is not None,
        "next_sentence": module.next_sentence is not None,
    }
    network = {"vocabulary": len(codes.order), "config": config, "parts": parts}
    weights = {name: _read(name, array, codes) for name, array in copy_weights(module).items()}
    parameters = {name: config[name] for name in SHARED} | {"tokens": FOLDER}
    return FolderModel(parameters, codes.stored, network, weights)


def write_masked(
    folder: str | os.PathLike[str], codes: TextCodes, network: Mapping[str, Any], weights: Mapping[str, np.ndarray]
) -> Path:
    """Write such a folder."""
    if not isinstance(codes, FolderTextCodes):
        raise ValueError(f"{OWNER}: tokens must be 'folder' for the files of transformers; got {codes.kind!r}.")
    written = {name: _write(name, array, codes) for name, array in weights.items()}
    module = masked_network({**network, "vocabulary": len(codes.tokenizer.tokens)})
    load_weights(module, written)
    folder = save_transformers(module, folder)
    (folder / TOKENIZER).write_text(codes.content, encoding="utf-8")
    return folder


def _read(name: str, array: np.ndarray, codes: FolderTextCodes) -> np.ndarray:
    """Rows in our order; a token that the file has not is 0."""
    if name.startswith("next_sentence."):
        return array[::-1].copy()
    if name not in BY_TOKEN:
        return array
    return np.stack([np.zeros_like(array[0]) if i is None else array[i] for i in codes.order])


def _write(name: str, array: np.ndarray, codes: FolderTextCodes) -> np.ndarray:
    if name.startswith("next_sentence."):
        return array[::-1].copy()
    if name not in BY_TOKEN:
        return array
    return array[[codes.code[i] for i in range(len(codes.tokenizer.tokens))]]
