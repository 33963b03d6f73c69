"""What a masked language model has learned, as where a classifier of texts begins.

The classifier reads byte pairs between the marks of the rows that the model learned from: a ``tokenizer.json`` says so.
Its token i is the model's i + 1, whose 0 fills rows up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from margin.neural.estimators.fine_tuning import PretrainedNetwork
from margin.text.bpe_file import ADDED
from margin.text.encoder_folder import read_encoder
from margin.text.masked_folder import write_masked
from margin.text.token_codes import FOLDER, TextCodes

__all__ = ["masked_start"]

FIRST, SEPARATOR, MASK = "[CLS]", "[SEP]", "[MASK]"


def masked_start(
    owner: str, codes: TextCodes, network: Mapping[str, Any], weights: Mapping[str, np.ndarray]
) -> PretrainedNetwork:
    """The encoder behind ``weights``, with its tokenizer."""
    if codes.kind == FOLDER:
        with TemporaryDirectory() as folder:
            return read_encoder(write_masked(Path(folder) / "encoder", codes, network, weights), owner)
    if codes.kind != "bpe":
        raise ValueError(f"{owner}: a classifier can begin with tokens 'bpe' or 'folder'; got {codes.kind!r}.")
    described = {
        "architecture": "pretrained",
        "model_type": "bert",
        "n_tokens": int(network["vocabulary"]) - 1,
        "n_segments": 2,
        "n_outputs": 1,
        "per_token": False,
        "config": dict(network["config"]),
    }
    return PretrainedNetwork(owner, described, _encoder_weights(weights), None, _tokenizer(codes))


def _encoder_weights(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights by their names in the classifier; the pooler is its layer before the scores."""
    named = {}
    for name, array in weights.items():
        if name.startswith("pooler."):
            named[name.replace("pooler", "dense")] = array.copy()
        elif name.startswith(("embedding", "segments", "stack")):
            named[f"encoder.{name}"] = array[1:].copy() if name == "embedding.tokens.weight" else array.copy()
    return named


def _tokenizer(codes: TextCodes) -> str:
    """The ``tokenizer.json`` of byte pairs between marks."""
    content = json.loads(codes.pairs.to_json())
    ids = {mark: codes.pairs.vocab_size + k for k, mark in enumerate((FIRST, SEPARATOR, MASK))}
    content["added_tokens"] = [{"id": i, "content": mark, **ADDED} for mark, i in ids.items()]
    parts = [{"SpecialToken": {"id": FIRST, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": SEPARATOR, "type_id": 0}}]  # fmt: skip
    marks = {mark: {"id": mark, "ids": [ids[mark]], "tokens": [mark]} for mark in (FIRST, SEPARATOR)}
    content["post_processor"] = {"type": "TemplateProcessing", "single": parts, "pair": [], "special_tokens": marks}
    return json.dumps(content, ensure_ascii=False)
