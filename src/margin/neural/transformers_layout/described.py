"""The ``config.json`` of a network of ours that transformers can build too."""

from __future__ import annotations

from typing import Any

from torch import nn

from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.nets.encoder_scores import EncoderScores
from margin.neural.nets.language_nets import BERT
from margin.neural.nets.vision_transformer import ViT
from margin.neural.transformers_layout.settings import ACTIVATIONS
from margin.neural.transformers_layout.tables import model_type_of

__all__ = ["describe"]

NAMES = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
ENCODERS = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}


def describe(module: nn.Module) -> dict[str, Any]:
    """The settings from which transformers builds ``module``; one sentence where it has no such network."""
    kind = model_type_of(module)
    if kind == "clip":
        return _clip(module)
    encoder = module.encoder if isinstance(module, EncoderScores) else module
    config: TransformerConfig = encoder.stack.blocks[0].config  # type: ignore[union-attr, index]
    _check_plain(kind, config)
    if isinstance(encoder, DecoderTransformer):
        return _llama(encoder) if kind == "llama" else _gpt2(encoder)
    if isinstance(encoder, BERT):
        return _encoder(encoder) | _heads(module, encoder)
    assert isinstance(module, ViT)
    return _vit(module, config)


def _gpt2(module: DecoderTransformer) -> dict[str, Any]:
    config = module.config
    return {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
        "vocab_size": module.embedding.tokens.num_embeddings, "n_positions": config.context,
        "n_embd": config.d_model, "n_layer": config.n_blocks, "n_head": config.n_heads, "n_inner": config.d_ff,
        "activation_function": NAMES[config.activation], "layer_norm_epsilon": config.norm_eps,
        "resid_pdrop": config.dropout, "embd_pdrop": config.dropout, "attn_pdrop": 0.0,
        "tie_word_embeddings": module.tied,
    }  # fmt: skip


def _llama(module: DecoderTransformer) -> dict[str, Any]:
    config = module.config
    return {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"],
        "vocab_size": module.embedding.tokens.num_embeddings, "max_position_embeddings": config.context,
        "hidden_size": config.d_model, "num_hidden_layers": config.n_blocks, "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_kv_heads or config.n_heads, "intermediate_size": config.hidden,
        "hidden_act": "silu", "rms_norm_eps": config.norm_eps, "attention_bias": False, "mlp_bias": False,
        "rope_theta": config.rope_base, "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
        "tie_word_embeddings": module.tied,
    }  # fmt: skip


def _blocks(config: TransformerConfig) -> dict[str, Any]:
    return {
        "hidden_size": config.d_model, "num_hidden_layers": config.n_blocks, "num_attention_heads": config.n_heads,
        "intermediate_size": config.hidden, "hidden_act": NAMES[config.activation], "layer_norm_eps": config.norm_eps,
        "hidden_dropout_prob": config.dropout, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip


def _encoder(module: BERT) -> dict[str, Any]:
    config, kind = module.config, module.model_type
    shared = {"model_type": kind, "vocab_size": module.embedding.tokens.num_embeddings}
    if kind == "distilbert":
        return shared | {
            "dim": config.d_model, "n_layers": config.n_blocks, "n_heads": config.n_heads, "hidden_dim": config.hidden,
            "max_position_embeddings": config.context, "activation": NAMES[config.activation],
            "dropout": config.dropout, "attention_dropout": 0.0, "seq_classif_dropout": config.dropout,
        }  # fmt: skip
    context = config.context + (2 if kind == "roberta" else 0)
    n_segments = 0 if module.segments is None else module.segments.num_embeddings
    shared |= {"max_position_embeddings": context, "type_vocab_size": n_segments}
    return shared | _blocks(config) | ({"pad_token_id": 1} if kind == "roberta" else {})


def _heads(module: nn.Module, encoder: BERT) -> dict[str, Any]:
    """Which class of transformers has these heads, and its classes."""
    name = ENCODERS[encoder.model_type]
    if isinstance(module, EncoderScores):
        task = "TokenClassification" if module.per_token else "SequenceClassification"
        return {"architectures": [f"{name}For{task}"], **_labels(module.head.out_features)}
    if encoder.next_sentence is not None:
        return {"architectures": [f"{name}ForPreTraining"]}
    return {"architectures": [f"{name}Model" if encoder.transform is None else f"{name}ForMaskedLM"]}


def _vit(module: ViT, config: TransformerConfig) -> dict[str, Any]:
    channels, height, width = module.shape
    if height != width or height % module.patch:
        raise ValueError(
            f"save_transformers: images must be square and a multiple of the patch; got {height} x {width}."
        )
    return _blocks(config) | {
        "model_type": "vit", "architectures": ["ViTForImageClassification"], "image_size": height,
        "patch_size": module.patch, "num_channels": channels, **_labels(module.head.out_features),
    }  # fmt: skip


def _clip(module: Any) -> dict[str, Any]:
    towers = {"text_config": module.texts, "vision_config": module.images}
    described_towers = {}
    for name, tower in towers.items():
        _check_plain("vit" if name == "vision_config" else "clip", tower.config)
        blocks = _blocks(tower.config)
        blocks.pop("hidden_dropout_prob")
        blocks["attention_dropout"] = blocks.pop("attention_probs_dropout_prob")
        described_towers[name] = blocks
    texts, (channels, side, _) = module.texts, module.images.shape
    described_towers["text_config"] |= {
        "vocab_size": texts.embedding.tokens.num_embeddings, "max_position_embeddings": texts.config.context,
        "eos_token_id": 2 if texts.end is None else texts.end,
    }  # fmt: skip
    described_towers["vision_config"] |= {
        "num_channels": channels, "image_size": side, "patch_size": module.images.patch,
    }  # fmt: skip
    n_outputs = module.texts.last.out_features
    return {"model_type": "clip", "architectures": ["CLIPModel"], "projection_dim": n_outputs, **described_towers}


def _labels(n: int) -> dict[str, Any]:
    labels = {str(i): f"LABEL_{i}" for i in range(n)}
    return {"id2label": labels, "label2id": {name: int(i) for i, name in labels.items()}}


def _check_plain(kind: str, config: TransformerConfig) -> None:
    """Blocks are those that transformers builds for ``kind``."""
    llama = kind == "llama"
    supported: dict[str, Any] = {
        "norm": "rms" if llama else "layer",
        "bias": not llama,
        "feed_forward": "swiglu" if llama else "mlp",
        "qk_norm": False,
        "window": None,
        "position": "rope" if llama else "none" if kind == "vit" else "learned",
        "norm_first": kind not in ENCODERS,
    }
    if kind == "distilbert":
        supported["norm_eps"] = 1e-12  # which its files do not say
    for name, value in supported.items():
        got = getattr(config, name)
        if got != value:
            raise ValueError(f"save_transformers: {name} must be {value!r} for {kind} of transformers; got {got!r}.")
    if not llama and config.n_kv_heads not in (None, config.n_heads):
        raise ValueError(f"save_transformers: {kind} of transformers has no grouped queries; n_kv_heads must be None.")
