"""All tensors of a file, by the kind of the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.nets.encoder_scores import EncoderScores
from margin.neural.nets.language_nets import BERT
from margin.neural.nets.vision_transformer import ViT
from margin.neural.transformers_layout.tables import WeightName, both, model_type_of

__all__ = ["entries_of"]


def entries_of(module: nn.Module) -> list[WeightName]:
    """All tensors of the file of ``module``."""
    return list(TABLES[model_type_of(module)](module))


def _gpt2(module: DecoderTransformer) -> Iterator[WeightName]:
    yield WeightName("transformer.wte.weight", ("embedding.tokens.weight",))
    yield WeightName("transformer.wpe.weight", ("embedding.positions.weight",))
    for i in range(module.config.n_blocks):
        theirs, ours = f"transformer.h.{i}", f"stack.blocks.{i}"
        yield from both(f"{theirs}.ln_1", f"{ours}.attention_norm")
        for part in ("weight", "bias"):
            parts = tuple(f"{ours}.attention.{name}.{part}" for name in ("query", "key", "value"))
            yield WeightName(f"{theirs}.attn.c_attn.{part}", parts, "thirds")
        yield from both(f"{theirs}.attn.c_proj", f"{ours}.attention.out", "transposed")
        yield from both(f"{theirs}.ln_2", f"{ours}.feed_norm")
        yield from both(f"{theirs}.mlp.c_fc", f"{ours}.feed.up", "transposed")
        yield from both(f"{theirs}.mlp.c_proj", f"{ours}.feed.down", "transposed")
    yield from both("transformer.ln_f", "stack.norm")
    if not module.tied:
        yield WeightName("lm_head.weight", ("head.weight",))


# Names inside a block of Llama, theirs and ours.
LLAMA_BLOCK = {
    "input_layernorm": "attention_norm",
    "self_attn.q_proj": "attention.query",
    "self_attn.k_proj": "attention.key",
    "self_attn.v_proj": "attention.value",
    "self_attn.o_proj": "attention.out",
    "post_attention_layernorm": "feed_norm",
    "mlp.gate_proj": "feed.gate",
    "mlp.up_proj": "feed.up",
    "mlp.down_proj": "feed.down",
}


def _llama(module: DecoderTransformer) -> Iterator[WeightName]:
    yield WeightName("model.embed_tokens.weight", ("embedding.tokens.weight",))
    for i in range(module.config.n_blocks):
        for theirs, ours in LLAMA_BLOCK.items():
            yield WeightName(f"model.layers.{i}.{theirs}.weight", (f"stack.blocks.{i}.{ours}.weight",))
    yield WeightName("model.norm.weight", ("stack.norm.weight",))
    if not module.tied:
        yield WeightName("lm_head.weight", ("head.weight",))


def _encoder_block(theirs: str, ours: str, attention: str) -> Iterator[WeightName]:
    for name in ("query", "key", "value"):
        yield from both(f"{theirs}.attention.{attention}.{name}", f"{ours}.attention.{name}")
    yield from both(f"{theirs}.attention.output.dense", f"{ours}.attention.out")
    yield from both(f"{theirs}.intermediate.dense", f"{ours}.feed.up")
    yield from both(f"{theirs}.output.dense", f"{ours}.feed.down")


def _encoder(module: nn.Module) -> tuple[BERT, str]:
    """The encoder, and what its names begin with in ``module``."""
    if isinstance(module, EncoderScores):
        return module.encoder, "encoder."
    assert isinstance(module, BERT)
    return module, ""


def _bert_body(prefix: str, encoder: BERT, inside: str, positions: str = "same") -> Iterator[WeightName]:
    """Embeddings and blocks of BERT and RoBERTa."""
    embeddings = f"{prefix}.embeddings"
    yield WeightName(f"{embeddings}.word_embeddings.weight", (f"{inside}embedding.tokens.weight",))
    yield WeightName(f"{embeddings}.position_embeddings.weight", (f"{inside}embedding.positions.weight",), positions)
    yield WeightName(f"{embeddings}.token_type_embeddings.weight", (f"{inside}segments.weight",))
    yield from both(f"{embeddings}.LayerNorm", f"{inside}embedding_norm")
    for i in range(encoder.config.n_blocks):
        theirs, ours = f"{prefix}.encoder.layer.{i}", f"{inside}stack.blocks.{i}"
        yield from _encoder_block(theirs, ours, "self")
        yield from both(f"{theirs}.attention.output.LayerNorm", f"{ours}.attention_norm")
        yield from both(f"{theirs}.output.LayerNorm", f"{ours}.feed_norm")
    if encoder.pooler is not None:
        yield from both(f"{prefix}.pooler.dense", f"{inside}pooler")


def _bert(module: nn.Module) -> Iterator[WeightName]:
    encoder, inside = _encoder(module)
    yield from _bert_body("bert", encoder, inside)
    if encoder.transform is not None:
        yield from both("cls.predictions.transform.dense", f"{inside}transform")
        yield from both("cls.predictions.transform.LayerNorm", f"{inside}transform_norm")
        yield WeightName("cls.predictions.bias", (f"{inside}token_bias",))
    if encoder.next_sentence is not None:
        yield from both("cls.seq_relationship", f"{inside}next_sentence")
    if isinstance(module, EncoderScores):
        if module.dense is not None:
            yield from both("bert.pooler.dense", "dense")
        yield from both("classifier", "head")


def _roberta(module: nn.Module) -> Iterator[WeightName]:
    encoder, inside = _encoder(module)
    yield from _bert_body("roberta", encoder, inside, "after two")
    if encoder.transform is not None:
        yield from both("lm_head.dense", f"{inside}transform")
        yield from both("lm_head.layer_norm", f"{inside}transform_norm")
        yield WeightName("lm_head.bias", (f"{inside}token_bias",))
    if isinstance(module, EncoderScores):
        if module.dense is not None:
            yield from both("classifier.dense", "dense")
        yield from both("classifier" if module.dense is None else "classifier.out_proj", "head")


# Names inside a block of DistilBERT, theirs and ours.
DISTILBERT_BLOCK = {
    "attention.q_lin": "attention.query",
    "attention.k_lin": "attention.key",
    "attention.v_lin": "attention.value",
    "attention.out_lin": "attention.out",
    "sa_layer_norm": "attention_norm",
    "ffn.lin1": "feed.up",
    "ffn.lin2": "feed.down",
    "output_layer_norm": "feed_norm",
}


def _distilbert(module: nn.Module) -> Iterator[WeightName]:
    encoder, inside = _encoder(module)
    embeddings = "distilbert.embeddings"
    yield WeightName(f"{embeddings}.word_embeddings.weight", (f"{inside}embedding.tokens.weight",))
    yield WeightName(f"{embeddings}.position_embeddings.weight", (f"{inside}embedding.positions.weight",))
    yield from both(f"{embeddings}.LayerNorm", f"{inside}embedding_norm")
    for i in range(encoder.config.n_blocks):
        for theirs, ours in DISTILBERT_BLOCK.items():
            yield from both(f"distilbert.transformer.layer.{i}.{theirs}", f"{inside}stack.blocks.{i}.{ours}")
    if encoder.transform is not None:
        yield from both("vocab_transform", f"{inside}transform")
        yield from both("vocab_layer_norm", f"{inside}transform_norm")
        yield WeightName("vocab_projector.bias", (f"{inside}token_bias",))
    if isinstance(module, EncoderScores):
        if module.dense is not None:
            yield from both("pre_classifier", "dense")
        yield from both("classifier", "head")


def _vit(module: ViT) -> Iterator[WeightName]:
    yield WeightName("vit.embeddings.cls_token", ("first",))
    yield WeightName("vit.embeddings.position_embeddings", ("positions",))
    projection = "vit.embeddings.patch_embeddings.projection"
    yield WeightName(f"{projection}.weight", ("project.weight",), "patches", module.patch)
    yield WeightName(f"{projection}.bias", ("project.bias",))
    for i in range(len(module.stack.blocks)):
        theirs, ours = f"vit.encoder.layer.{i}", f"stack.blocks.{i}"
        yield from _encoder_block(theirs, ours, "attention")
        yield from both(f"{theirs}.layernorm_before", f"{ours}.attention_norm")
        yield from both(f"{theirs}.layernorm_after", f"{ours}.feed_norm")
    yield from both("vit.layernorm", "stack.norm")
    yield from both("classifier", "head")


# Names inside a block of CLIP, theirs and ours.
CLIP_BLOCK = {
    "self_attn.q_proj": "attention.query",
    "self_attn.k_proj": "attention.key",
    "self_attn.v_proj": "attention.value",
    "self_attn.out_proj": "attention.out",
    "layer_norm1": "attention_norm",
    "layer_norm2": "feed_norm",
    "mlp.fc1": "feed.up",
    "mlp.fc2": "feed.down",
}


def _clip(module: Any) -> Iterator[WeightName]:
    yield WeightName("logit_scale", ("log_scale",))
    yield WeightName("text_model.embeddings.token_embedding.weight", ("texts.embedding.tokens.weight",))
    yield WeightName("text_model.embeddings.position_embedding.weight", ("texts.embedding.positions.weight",))
    yield from both("text_model.final_layer_norm", "texts.stack.norm")
    yield WeightName("text_projection.weight", ("texts.last.weight",))
    embeddings = "vision_model.embeddings"
    patches = f"{embeddings}.patch_embedding.weight"
    yield WeightName(patches, ("images.project.weight",), "patches", module.images.patch)
    yield WeightName(f"{embeddings}.class_embedding", ("images.first",))
    yield WeightName(f"{embeddings}.position_embedding.weight", ("images.positions",))
    yield from both("vision_model.pre_layrnorm", "images.norm")
    yield from both("vision_model.post_layernorm", "images.stack.norm")
    yield WeightName("visual_projection.weight", ("images.last.weight",))
    for tower, inside in (("text_model", "texts"), ("vision_model", "images")):
        for i in range(getattr(module, inside).config.n_blocks):
            for theirs, ours in CLIP_BLOCK.items():
                yield from both(f"{tower}.encoder.layers.{i}.{theirs}", f"{inside}.stack.blocks.{i}.{ours}")


TABLES: dict[str, Callable[[Any], Iterator[WeightName]]] = {
    "gpt2": _gpt2,
    "llama": _llama,
    "bert": _bert,
    "roberta": _roberta,
    "distilbert": _distilbert,
    "vit": _vit,
    "clip": _clip,
}
