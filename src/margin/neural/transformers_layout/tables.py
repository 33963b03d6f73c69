"""Which tensor of a file is which of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, cat, nn

from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.nets.clip import CLIPNetwork, ImageTower
from margin.neural.nets.encoder_scores import EncoderScores
from margin.neural.nets.language_nets import BERT
from margin.neural.nets.vision_transformer import ViT

__all__ = ["MODEL_TYPES", "PREFIX", "WeightName", "both", "model_type_of"]

MODEL_TYPES = {
    "gpt2": DecoderTransformer,
    "llama": DecoderTransformer,
    "bert": BERT,
    "roberta": BERT,
    "distilbert": BERT,
    "vit": ViT,
    "clip": CLIPNetwork,
}

# What the names of the network itself begin with; those of a network without a head have no prefix.
PREFIX = {
    "gpt2": "transformer.",
    "llama": "model.",
    "bert": "bert.",
    "roberta": "roberta.",
    "distilbert": "distilbert.",
    "vit": "vit.",
    "clip": "",
}


@dataclass(frozen=True)
class WeightName:
    """One tensor of a file: the same as ours; ``"transposed"``, as GPT-2 stores the matrices of its layers;
    ``"thirds"``, query, key and value in one of those; ``"patches"``, the filters of a convolution that cuts patches;
    ``"after two"``, RoBERTa's positions, the first two of which stand for padding.
    """

    theirs: str
    ours: tuple[str, ...]
    kind: str = "same"
    patch: int = 0

    def read(self, tensor: Tensor) -> dict[str, Tensor]:
        """Ours by name."""
        if self.kind == "patches":  # (d, C, p, p) to (d, p p C)
            tensor = tensor.permute(0, 2, 3, 1).flatten(1)
        elif self.kind == "after two":
            tensor = tensor[2:]
        elif self.kind != "same" and tensor.ndim == 2:
            tensor = tensor.T
        parts = tensor.chunk(3) if self.kind == "thirds" else (tensor,)
        return {name: part.contiguous() for name, part in zip(self.ours, parts, strict=True)}

    def to_theirs(self, ours: dict[str, Tensor]) -> Tensor:
        """Theirs, from ours by name; of tensors without content the shape alone."""
        tensor = cat([ours[name] for name in self.ours]) if self.kind == "thirds" else ours[self.ours[0]]
        if self.kind == "patches":
            tensor = tensor.unflatten(1, (self.patch, self.patch, -1)).permute(0, 3, 1, 2)
        elif self.kind == "after two":
            tensor = cat([torch.zeros_like(tensor[:2]), tensor])
        elif self.kind != "same" and tensor.ndim == 2:
            tensor = tensor.T
        return tensor.contiguous()


def model_type_of(module: nn.Module) -> str:
    """The name that transformers gives to networks like ``module``."""
    if isinstance(module, EncoderScores):
        module = module.encoder
    if isinstance(module, DecoderTransformer):
        return "llama" if module.config.position == "rope" else "gpt2"
    if isinstance(module, BERT):
        return module.model_type
    if isinstance(module, ViT):
        return "vit"
    if isinstance(module, CLIPNetwork) and isinstance(module.images, ImageTower):
        return "clip"
    raise ValueError(
        "save_transformers: module must be a DecoderTransformer, a BERT, an EncoderScores, a ViT or a CLIP; "
        f"it is of type {type(module).__name__}."
    )


def both(theirs: str, ours: str, kind: str = "same") -> Iterator[WeightName]:
    """Weight and bias of a layer."""
    for part in ("weight", "bias"):
        yield WeightName(f"{theirs}.{part}", (f"{ours}.{part}",), kind)
