"""Which tensor of a file is which of ours, for GPT-2, BERT and ViT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, cat, nn

from margin.neural.nets.language_nets import BERT
from margin.neural.nets.transformer import DecoderTransformer
from margin.neural.nets.vision_transformer import ViT

__all__ = ["MODEL_TYPES", "WeightName", "entries_of", "model_type_of"]

MODEL_TYPES = {"gpt2": DecoderTransformer, "bert": BERT, "vit": ViT}


@dataclass(frozen=True)
class WeightName:
    """One tensor of a file: the same as ours; ``"transposed"``, as GPT-2 stores the matrices of its layers;
    ``"thirds"``, query, key and value in one of those; ``"patches"``, the filters of a convolution that cuts patches.
    """

    theirs: str
    ours: tuple[str, ...]
    kind: str = "same"
    patch: int = 0

    def read(self, tensor: Tensor) -> dict[str, Tensor]:
        """Ours by name."""
        if self.kind == "patches":  # (d, C, p, p) to (d, p p C)
            tensor = tensor.permute(0, 2, 3, 1).flatten(1)
        elif self.kind != "same" and tensor.ndim == 2:
            tensor = tensor.T
        parts = tensor.chunk(3) if self.kind == "thirds" else (tensor,)
        return {name: part.contiguous() for name, part in zip(self.ours, parts, strict=True)}

    def written(self, ours: dict[str, Tensor]) -> Tensor:
        """Theirs, from ours by name; of tensors without content the shape alone."""
        tensor = cat([ours[name] for name in self.ours]) if self.kind == "thirds" else ours[self.ours[0]]
        if self.kind == "patches":
            tensor = tensor.unflatten(1, (self.patch, self.patch, -1)).permute(0, 3, 1, 2)
        elif self.kind != "same" and tensor.ndim == 2:
            tensor = tensor.T
        return tensor.contiguous()


def model_type_of(module: nn.Module) -> str:
    """The name that transformers gives to networks like ``module``."""
    for name, kind in MODEL_TYPES.items():
        if isinstance(module, kind):
            return name
    raise ValueError(
        "save_transformers: module must be a DecoderTransformer, a BERT or a ViT; "
        f"it is of type {type(module).__name__}."
    )


def entries_of(module: nn.Module) -> list[WeightName]:
    """All tensors of the file of ``module``."""
    table = {"gpt2": _gpt2, "bert": _bert, "vit": _vit}[model_type_of(module)]
    return list(table(module))  # type: ignore[operator]


def _both(theirs: str, ours: str, kind: str = "same") -> Iterator[WeightName]:
    for part in ("weight", "bias"):
        yield WeightName(f"{theirs}.{part}", (f"{ours}.{part}",), kind)


def _gpt2(module: DecoderTransformer) -> Iterator[WeightName]:
    yield WeightName("transformer.wte.weight", ("embedding.tokens.weight",))
    yield WeightName("transformer.wpe.weight", ("embedding.positions.weight",))
    for i in range(module.config.n_blocks):
        theirs, ours = f"transformer.h.{i}", f"stack.blocks.{i}"
        yield from _both(f"{theirs}.ln_1", f"{ours}.attention_norm")
        for part in ("weight", "bias"):
            parts = tuple(f"{ours}.attention.{name}.{part}" for name in ("query", "key", "value"))
            yield WeightName(f"{theirs}.attn.c_attn.{part}", parts, "thirds")
        yield from _both(f"{theirs}.attn.c_proj", f"{ours}.attention.out", "transposed")
        yield from _both(f"{theirs}.ln_2", f"{ours}.feed_norm")
        yield from _both(f"{theirs}.mlp.c_fc", f"{ours}.feed.up", "transposed")
        yield from _both(f"{theirs}.mlp.c_proj", f"{ours}.feed.down", "transposed")
    yield from _both("transformer.ln_f", "stack.norm")
    if not module.tied:
        yield WeightName("lm_head.weight", ("head.weight",))


def _encoder_block(theirs: str, ours: str, attention: str) -> Iterator[WeightName]:
    for name in ("query", "key", "value"):
        yield from _both(f"{theirs}.attention.{attention}.{name}", f"{ours}.attention.{name}")
    yield from _both(f"{theirs}.attention.output.dense", f"{ours}.attention.out")
    yield from _both(f"{theirs}.intermediate.dense", f"{ours}.feed.up")
    yield from _both(f"{theirs}.output.dense", f"{ours}.feed.down")


def _bert(module: BERT) -> Iterator[WeightName]:
    yield WeightName("bert.embeddings.word_embeddings.weight", ("embedding.tokens.weight",))
    yield WeightName("bert.embeddings.position_embeddings.weight", ("embedding.positions.weight",))
    yield WeightName("bert.embeddings.token_type_embeddings.weight", ("segments.weight",))
    yield from _both("bert.embeddings.LayerNorm", "embedding_norm")
    for i in range(module.config.n_blocks):
        theirs, ours = f"bert.encoder.layer.{i}", f"stack.blocks.{i}"
        yield from _encoder_block(theirs, ours, "self")
        yield from _both(f"{theirs}.attention.output.LayerNorm", f"{ours}.attention_norm")
        yield from _both(f"{theirs}.output.LayerNorm", f"{ours}.feed_norm")
    yield from _both("bert.pooler.dense", "pooler")
    yield from _both("cls.predictions.transform.dense", "transform")
    yield from _both("cls.predictions.transform.LayerNorm", "transform_norm")
    yield WeightName("cls.predictions.bias", ("token_bias",))
    yield from _both("cls.seq_relationship", "next_sentence")


def _vit(module: ViT) -> Iterator[WeightName]:
    yield WeightName("vit.embeddings.cls_token", ("first",))
    yield WeightName("vit.embeddings.position_embeddings", ("positions",))
    projection = "vit.embeddings.patch_embeddings.projection"
    yield WeightName(f"{projection}.weight", ("project.weight",), "patches", module.patch)
    yield WeightName(f"{projection}.bias", ("project.bias",))
    for i in range(len(module.stack.blocks)):
        theirs, ours = f"vit.encoder.layer.{i}", f"stack.blocks.{i}"
        yield from _encoder_block(theirs, ours, "attention")
        yield from _both(f"{theirs}.layernorm_before", f"{ours}.attention_norm")
        yield from _both(f"{theirs}.layernorm_after", f"{ours}.feed_norm")
    yield from _both("vit.layernorm", "stack.norm")
    yield from _both("classifier", "head")
