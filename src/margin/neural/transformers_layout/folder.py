"""Read and write a folder of transformers. Files are not trusted: names, shapes and kinds of numbers are compared with
what the settings ask for before any memory is taken, and nothing in them is ever executed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.transformers_layout.described import describe
from margin.neural.transformers_layout.entries import entries_of
from margin.neural.transformers_layout.settings import Settings, build
from margin.neural.transformers_layout.tables import PREFIX, WeightName

__all__ = ["load_transformers", "name_classes", "read_json", "save_transformers"]

CONFIG, WEIGHTS = "config.json", "model.safetensors"
MOST_JSON = 2**24  # bytes
NUMBERS = {"F64", "F32", "F16", "BF16"}

POOLER = (".pooler.dense.weight", ".pooler.dense.bias")
# What files hold beside the weights of the network: masks as buffers, copies of tied matrices, heads not built here.
EXTRA = {
    "gpt2": (".attn.bias", ".attn.masked_bias", "lm_head.weight"),
    "llama": (".rotary_emb.inv_freq", "lm_head.weight"),
    "bert": (".position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias", *POOLER),
    "roberta": (".position_ids", "lm_head.decoder.weight", "lm_head.decoder.bias", *POOLER),
    "distilbert": (".position_ids", "vocab_projector.weight"),
    "vit": POOLER,
    "clip": (".position_ids",),
}
HEADS = ("cls.", "lm_head.", "classifier.", "pre_classifier.", "vocab_")  # names that never have the prefix


def load_transformers(folder: str | os.PathLike[str]) -> nn.Module:
    """The network of a folder with ``config.json`` and ``model.safetensors``, as transformers writes it.

    GPT-2 and Llama become a :class:`~margin.neural.attention.decoder.DecoderTransformer`; BERT, RoBERTa and DistilBERT,
    with the heads of pre-training that the file has, a :class:`~margin.neural.nets.language_nets.BERT`, or, with a
    head for classes of texts or of tokens, an :class:`~margin.neural.nets.encoder_scores.EncoderScores`; ViT a
    :class:`~margin.neural.nets.vision_transformer.ViT` and CLIP a :class:`~margin.neural.nets.clip.CLIPNetwork`: in
    float32 and set to evaluate. A file that is not what its
    settings say is refused with one sentence, before anything is built.
    """
    from safetensors import SafetensorError, safe_open

    folder = Path(folder)
    settings = Settings(str(folder / CONFIG), read_json(folder / CONFIG))
    path = folder / WEIGHTS
    if not path.is_file():
        raise ValueError(f"load_transformers: {folder} must have a file {WEIGHTS}; pickled weights are not read.")
    try:
        with safe_open(path, framework="pt") as file:
            stored = _stored_names(file.keys(), str(settings.kind))
            n_blocks = max(part.n_blocks for part in settings.parts)
            if n_blocks > len(stored):
                raise ValueError(f"load_transformers: {path} has too few tensors for {n_blocks} blocks.")
            with torch.device("meta"):
                module = build(settings, stored)
            entries = entries_of(module)
            _check(path, file, stored, entries, module, str(settings.kind))
            state: dict[str, Tensor] = {}
            for entry in entries:
                state |= entry.read(file.get_tensor(stored[entry.theirs]).float())
    except (SafetensorError, OSError, RuntimeError) as error:
        raise ValueError(f"load_transformers: {path} cannot be read ({str(error)[:200]}).") from None
    module.load_state_dict(state, assign=True)
    return module.requires_grad_().eval()


def save_transformers(module: nn.Module, folder: str | os.PathLike[str]) -> Path:
    """Write ``config.json`` and ``model.safetensors`` such that transformers builds the same network from them."""
    from safetensors.torch import save_file

    folder, settings = Path(folder), describe(module)
    ours = {name: tensor.detach() for name, tensor in module.state_dict().items()}
    tensors = {entry.theirs: entry.to_theirs(ours).clone() for entry in entries_of(module)}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return folder


def name_classes(folder: Path, labels: Sequence[str]) -> None:
    """Write the names of the classes into the settings of a folder."""
    path = folder / CONFIG
    settings = read_json(path) | {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object in a file of bounded size."""
    try:
        if path.stat().st_size > MOST_JSON:
            raise ValueError(f"load_transformers: {path} must be at most {MOST_JSON} bytes; it is larger.")
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"load_transformers: {path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"load_transformers: {path} must be JSON ({str(error)[:100]}).") from None
    if not isinstance(content, dict):
        raise ValueError(f"load_transformers: {path} must hold a JSON object; got {type(content).__name__}.")
    return content


def _stored_names(names: Any, kind: str) -> dict[str, str]:
    """The names in the file by today's names: the first files of BERT called weights of norms gamma and beta, and a
    network without its head has no prefix."""
    stored_names = {}
    for name in names:
        new = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        if not new.startswith((PREFIX[kind], *HEADS)):
            new = PREFIX[kind] + new
        stored_names[new] = name
    return stored_names


def _check(
    path: Path, file: Any, stored: Mapping[str, str], entries: list[WeightName], module: nn.Module, kind: str
) -> None:
    """Every tensor that the network needs is there with its shape, and none that nobody knows."""
    ours = dict(module.state_dict())
    for entry in entries:
        if entry.theirs not in stored:
            raise ValueError(f"load_transformers: {path} must have the tensor {entry.theirs}; it has none.")
        tensor = file.get_slice(stored[entry.theirs])
        shape, needed = tuple(tensor.get_shape()), tuple(entry.to_theirs(ours).shape)
        if shape != needed:
            raise ValueError(f"load_transformers: {entry.theirs} in {path} must have shape {needed}; got {shape}.")
        if tensor.get_dtype() not in NUMBERS:
            raise ValueError(
                f"load_transformers: {entry.theirs} in {path} must be of {', '.join(sorted(NUMBERS))}; "
                f"got {tensor.get_dtype()}."
            )
    unknown = sorted(n for n in stored.keys() - {e.theirs for e in entries} if not n.endswith(EXTRA[kind]))
    if unknown:
        raise ValueError(f"load_transformers: {path} has the tensor {unknown[0]}, which {kind} here does not know.")
