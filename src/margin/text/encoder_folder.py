"""A pretrained encoder of texts in the files of transformers: settings, weights and ``tokenizer.json``.

BERT, RoBERTa or DistilBERT, with any head or none. Ids are one higher here, and 0 stands after the end of a text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from margin.neural.estimators.fine_tuning import PretrainedNetwork
from margin.neural.nets.encoder_scores import EncoderScores, ragged_encoder
from margin.neural.nets.language_nets import BERT
from margin.neural.transformers_layout import load_transformers, save_transformers
from margin.neural.transformers_layout.folder import CONFIG, name_classes, read_json
from margin.neural.weights import copy_weights, load_weights
from margin.text.folder_tokenizer import FolderTokenizer, folder_tokenizer

__all__ = ["FURTHER", "FolderCodes", "described_encoder", "read_encoder", "sorted_head", "write_encoder"]

TOKENIZER = "tokenizer.json"

# How pretrained encoders are trained further: small steps, for they know most already (Devlin et al., 2019).
FURTHER = {
    "solver": "adamw", "alpha": 0.01, "learning_rate": "linear", "learning_rate_init": 5e-5, "warmup": 0.1,
    "max_iter": 3, "token_dropout": 0.0,
}  # fmt: skip


class FolderCodes:
    """Ids of texts by the tokenizer of a folder, with the face of :class:`~margin.text.terms.TermCodes`."""

    kind = "folder"

    def __init__(self, content: str, max_length: int | None):
        self.content, self.max_length = content, max_length
        self.tokenizer: FolderTokenizer = folder_tokenizer(content)
        self.vocabulary = self.tokenizer.tokens

    @property
    def size(self) -> int:
        """How many ids there are."""
        return len(self.vocabulary)

    @property
    def unknown(self) -> int:
        """What a hidden token is read as."""
        return self.tokenizer.hidden + 1

    @property
    def spared(self) -> list[int]:
        """Marks, which are never hidden."""
        return sorted(i + 1 for i in self.tokenizer.special)

    def reading(self) -> dict[str, Any]:
        """Everything but the vocabulary, as plain values."""
        length = None if self.max_length is None else int(self.max_length)
        return {"kind": "folder", "lowercase": False, "longest_run": 1, "max_length": length, "pairs": self.content}

    def tokens(self, text: str) -> list[str]:
        """The pieces of ``text``, without marks."""
        return self.tokenizer.pieces(text)

    def encode(self, text: str) -> list[int]:
        """The ids of ``text`` between its marks."""
        return self.encode_tokens(self.tokens(text))

    def encode_tokens(self, tokens: Sequence[str]) -> list[int]:
        """The ids of pieces between marks; the empty string is a hidden one."""
        ids = [self.tokenizer.ids.get(token, self.tokenizer.hidden) for token in tokens]
        return [i + 1 for i in self.tokenizer.enclose(ids, self.max_length)]

    def encode_words(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The ids of a sentence between its marks, and 1 for the first piece of every word, else 0.

        By byte pairs every word but the first has the space before it. A word without pieces is a hidden one.
        """
        spaced = self.tokenizer.pairs is not None
        ids: list[int] = []
        first: list[int] = []
        for i, word in enumerate(words):
            pieces = self.tokenizer.pieces(f" {word}" if spaced and i else word)
            ids += [self.tokenizer.ids[piece] for piece in pieces] or [self.tokenizer.hidden]
            first += [1] + [0] * (max(len(pieces), 1) - 1)
        before, after = ([0] * len(marks) for marks in (self.tokenizer.before, self.tokenizer.after))
        return [i + 1 for i in self.tokenizer.enclose(ids)], [*before, *first, *after]


def read_encoder(folder: str | os.PathLike[str], owner: str, *, per_token: bool = False) -> PretrainedNetwork:
    """The encoder of a folder for the classes of texts or, ``per_token``, of tokens."""
    folder = Path(folder)
    module = load_transformers(folder)
    encoder = module.encoder if isinstance(module, EncoderScores) else module
    if not isinstance(encoder, BERT):
        raise ValueError(f"{owner}: {folder} must hold an encoder like BERT; it holds a {type(module).__name__}.")
    path = folder / TOKENIZER
    content = read_json(path)
    reading = json.dumps(content, ensure_ascii=False)
    n_tokens = encoder.embedding.tokens.num_embeddings
    n_read = len(folder_tokenizer(reading).tokens)
    if n_read > n_tokens:
        raise ValueError(f"{owner}: {path} must have at most the {n_tokens} tokens of the network; got {n_read}.")
    fits = isinstance(module, EncoderScores) and module.per_token == per_token
    network: dict[str, Any] = {
        "architecture": "pretrained",
        "model_type": encoder.model_type,
        "n_tokens": n_tokens,
        "n_segments": 0 if encoder.segments is None else encoder.segments.num_embeddings,
        "n_outputs": module.head.out_features if fits else 1,  # type: ignore[union-attr]
        "per_token": per_token,
        "config": asdict(encoder.config),
    }
    labels = _labels(read_json(folder / CONFIG), network["n_outputs"]) if fits else None
    return PretrainedNetwork(str(folder), network, _weights(module, encoder, fits), labels, reading)


def _weights(module: nn.Module, encoder: BERT, fits: bool) -> dict[str, np.ndarray]:
    """Weights by their names in :class:`EncoderScores`; the pooler of BERT is its layer before the scores."""
    if fits:
        return copy_weights(module)
    named = {}
    for name, array in copy_weights(encoder).items():
        if name.startswith("pooler."):
            named[name.replace("pooler", "dense")] = array
        elif name.startswith(("embedding", "segments", "stack")):
            named[f"encoder.{name}"] = array
    return named


def _labels(config: Mapping[str, Any], n_outputs: int) -> tuple[str, ...] | None:
    """The names of the classes; None where the folder has no names for all of them."""
    given = config.get("id2label")
    if not isinstance(given, dict):
        return None
    labels = [given.get(str(i)) for i in range(n_outputs)]
    if not all(isinstance(label, str) for label in labels) or len(set(labels)) < n_outputs:
        return None
    return tuple(map(str, labels))


def sorted_head(start: PretrainedNetwork) -> tuple[list[str], dict[str, np.ndarray]]:
    """The names of the head's outputs in alphabetical order, and all weights with the head's rows in that order."""
    assert start.labels is not None
    order = np.argsort(start.labels)
    head = {name: start.weights[name][order] for name in ("head.weight", "head.bias")}
    return [start.labels[i] for i in order], {name: array.copy() for name, array in start.weights.items()} | head


def described_encoder(pretrained: PretrainedNetwork, n_outputs: int, dropout: float) -> dict[str, Any]:
    """``network_`` for other classes and another dropout."""
    config = dict(pretrained.network["config"]) | {"dropout": float(dropout)}
    return dict(pretrained.network) | {"n_outputs": n_outputs, "config": config}


def write_encoder(
    folder: str | os.PathLike[str],
    network: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    reading: str,
    labels: Sequence[str],
) -> Path:
    """Write a folder from which transformers builds the network, with its tokenizer and the names of its classes."""
    module = ragged_encoder(network)
    load_weights(module, weights)
    folder = save_transformers(module, folder)
    name_classes(folder, labels)
    (folder / TOKENIZER).write_text(reading, encoding="utf-8")
    return folder
