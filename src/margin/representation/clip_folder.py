"""CLIP in the files of transformers: settings, weights, ``tokenizer.json`` and the scaling of pixels."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from margin.neural.attention.config import TransformerConfig
from margin.neural.estimators.pixel_scaling import read_scaling, write_scaling
from margin.neural.nets.clip import CLIPNetwork, ImageTower, TextTower
from margin.neural.nets.image_parts import Standardized
from margin.neural.transformers_layout import load_transformers, save_transformers
from margin.neural.transformers_layout.folder import read_json
from margin.neural.weights import copy_weights
from margin.text.folder_tokenizer import FolderTokenizer, folder_tokenizer

__all__ = ["is_of_folder", "read_clip", "tower_network", "tower_tokens", "write_clip"]

OWNER, TOKENIZER = "CLIP", "tokenizer.json"
BYTE = 255.0


def is_of_folder(described: Mapping[str, Any]) -> bool:
    """Whether a network is the two transformers of a folder."""
    return "texts" in described


def tower_network(described: Mapping[str, Any]) -> CLIPNetwork:
    """The network of two transformers that plain values describe."""
    c, h, w = described["shape"]
    n = described["n_components"]
    images = ImageTower((c, h, w), described["patch"], n, TransformerConfig(**described["images"]))
    texts = TextTower(described["vocabulary"], n, TransformerConfig(**described["texts"]), described["end"])
    return CLIPNetwork(Standardized(images, described["center"], described["scale"]), texts)


def read_clip(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray], str]:
    """Description, weights and tokenizer of a folder, for images as bytes."""
    folder = Path(folder)
    module = load_transformers(folder)
    if not isinstance(module, CLIPNetwork):
        raise ValueError(f"{OWNER}: {folder} must hold a CLIP; it holds a {type(module).__name__}.")
    images, texts = module.images, module.texts
    assert isinstance(images, ImageTower)
    assert isinstance(texts, TextTower)
    path = folder / TOKENIZER
    reading = json.dumps(read_json(path), ensure_ascii=False)
    n_rows = texts.embedding.tokens.num_embeddings
    network = {
        "shape": list(images.shape), "patch": images.patch, "n_components": texts.last.out_features,
        "vocabulary": n_rows, "end": texts.end, "images": asdict(images.config), "texts": asdict(texts.config),
    }  # fmt: skip
    scaling = read_scaling(folder, images.shape[0], OWNER)
    network |= {name: [BYTE * value for value in values] for name, values in scaling.items()}
    check_tokenizer(reading, network, f"{OWNER}: {path}")
    return network, {_stored_name(name): array for name, array in copy_weights(module).items()}, reading


def check_tokenizer(reading: str, network: Mapping[str, Any], where: str) -> FolderTokenizer:
    """The tokenizer, whose tokens the network reads and whose last mark is the one it looks at."""
    tokenizer = folder_tokenizer(reading)
    if len(tokenizer.tokens) > network["vocabulary"]:
        raise ValueError(
            f"{where} must have at most the network's {network['vocabulary']} tokens; got {len(tokenizer.tokens)}."
        )
    end = max(tokenizer.ids.values()) if network["end"] is None else network["end"]
    if tokenizer.after[:1] != [end]:
        raise ValueError(f"{where} must end every text with the token {end}, which the network looks at.")
    return tokenizer


def tower_tokens(texts: Sequence[str], reading: str, context: int) -> np.ndarray:
    """Ids (n, longest) between marks; the end of a text stands again behind it, and what is too long is cut."""
    tokenizer = folder_tokenizer(reading)
    rows = [tokenizer.encode(text, context) for text in texts]
    ids = np.full((len(rows), max(map(len, rows))), tokenizer.after[0], dtype=np.int64)
    for row, some in zip(ids, rows):
        row[: len(some)] = some
    return ids


def write_clip(folder: str | os.PathLike[str], module: CLIPNetwork, network: Mapping[str, Any], reading: str) -> Path:
    """Write such a folder from the network of an estimator."""
    pixels = module.images
    assert isinstance(pixels, Standardized)
    plain = CLIPNetwork(pixels.body, module.texts)
    plain.log_scale = module.log_scale
    folder = save_transformers(plain, folder)
    (folder / TOKENIZER).write_text(reading, encoding="utf-8")
    write_scaling(folder, network, BYTE, "CLIPImageProcessor")
    return folder


def _stored_name(name: str) -> str:
    """The name of a weight of the network behind the scaling of pixels."""
    return f"images.body.{name.removeprefix('images.')}" if name.startswith("images.") else name
