"""``config.json``: what a network is built from, checked before anything is built; and written for one of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from margin.neural.attention.config import TransformerConfig
from margin.neural.nets.language_nets import BERT
from margin.neural.nets.transformer import DecoderTransformer
from margin.neural.nets.vision_transformer import ViT
from margin.neural.transformers_layout.tables import MODEL_TYPES, model_type_of

__all__ = ["Settings", "built", "described"]

MOST = 2**24  # of any size: what a file says is multiplied before it is allocated

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu_squared",
    "silu": "silu",
    "swish": "silu",
}

# Options that would change what the weights mean; only their usual values are known here.
USUAL: dict[str, dict[str, Any]] = {
    "gpt2": {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
    "bert": {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False},
    "vit": {"qkv_bias": True},
}


class Settings:
    """The values of a ``config.json``; what is missing has the default of transformers."""

    def __init__(self, path: str, values: Mapping[str, Any]):
        self.path, self.values = path, values
        self.kind = values.get("model_type")
        if not isinstance(self.kind, str) or self.kind not in MODEL_TYPES:
            raise ValueError(
                f"load_transformers: model_type in {path} must be one of {', '.join(MODEL_TYPES)}; got {self.kind!r}."
            )
        for name, usual in USUAL[self.kind].items():
            if values.get(name, usual) != usual:
                raise ValueError(f"load_transformers: {name} in {path} must be {usual!r}; got {values[name]!r}.")

    def size(self, name: str, default: int) -> int:
        """A number of things: an integer from 1 on."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            raise ValueError(
                f"load_transformers: {name} in {self.path} must be an integer from 1 to {MOST}; got {value!r}."
            )
        return value

    def fraction(self, name: str, default: float) -> float:
        """A number from 0 to below 1."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ValueError(
                f"load_transformers: {name} in {self.path} must be a number from 0 to below 1; got {value!r}."
            )
        return float(value)

    def activation(self, name: str, default: str) -> str:
        """Ours of the same function."""
        value = self.values.get(name, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise ValueError(
                f"load_transformers: {name} in {self.path} must be one of {', '.join(ACTIVATIONS)}; got {value!r}."
            )
        return ACTIVATIONS[value]

    @property
    def n_blocks(self) -> int:
        return self.size("n_layer" if self.kind == "gpt2" else "num_hidden_layers", 12)


def built(settings: Settings) -> nn.Module:
    """The network; on torch's meta device it costs neither memory nor time."""
    try:
        return {"gpt2": _gpt2, "bert": _bert, "vit": _vit}[str(settings.kind)](settings)
    except ValueError as error:
        message = str(error).replace("TransformerConfig: ", f"load_transformers: in {settings.path} ")
        raise ValueError(message) from None


def _gpt2(settings: Settings) -> DecoderTransformer:
    inner = settings.values.get("n_inner")
    config = TransformerConfig(
        d_model=settings.size("n_embd", 768),
        n_heads=settings.size("n_head", 12),
        n_blocks=settings.n_blocks,
        d_ff=None if inner is None else settings.size("n_inner", 1),
        context=settings.size("n_positions", 1024),
        norm_eps=settings.fraction("layer_norm_epsilon", 1e-5),
        activation=settings.activation("activation_function", "gelu_new"),
        dropout=settings.fraction("resid_pdrop", 0.1),
    )
    tied = settings.values.get("tie_word_embeddings", True) is not False
    return DecoderTransformer(settings.size("vocab_size", 50_257), config, tied=tied)


def _encoder(settings: Settings, **fixed: Any) -> TransformerConfig:
    return TransformerConfig(
        d_model=settings.size("hidden_size", 768),
        n_heads=settings.size("num_attention_heads", 12),
        n_blocks=settings.n_blocks,
        d_ff=settings.size("intermediate_size", 3072),
        norm_eps=settings.fraction("layer_norm_eps", 1e-12),
        activation=settings.activation("hidden_act", "gelu"),
        dropout=settings.fraction("hidden_dropout_prob", 0.1 if settings.kind == "bert" else 0.0),
        **fixed,
    )


def _bert(settings: Settings) -> BERT:
    config = _encoder(settings, context=settings.size("max_position_embeddings", 512), norm_first=False)
    return BERT(settings.size("vocab_size", 30_522), config, settings.size("type_vocab_size", 2))


def _vit(settings: Settings) -> ViT:
    side = settings.size("image_size", 224)
    patch = settings.size("patch_size", 16)
    if side % patch:
        raise ValueError(
            f"load_transformers: patch_size in {settings.path} must divide image_size {side}; got {patch}."
        )
    labels = settings.values.get("id2label")
    n_outputs = len(labels) if isinstance(labels, dict) else settings.size("num_labels", 2)
    shape = (settings.size("num_channels", 3), side, side)
    return ViT(shape, patch, n_outputs, _encoder(settings, position="none"))


def described(module: nn.Module) -> dict[str, Any]:
    """The ``config.json`` of a network of ours that transformers can build too."""
    kind = model_type_of(module)
    config: TransformerConfig = module.stack.blocks[0].config  # type: ignore[union-attr, index]
    _check_plain(kind, config)
    names = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    if isinstance(module, DecoderTransformer):
        return {
            "model_type": kind, "architectures": ["GPT2LMHeadModel"],
            "vocab_size": module.embedding.tokens.num_embeddings, "n_positions": config.context,
            "n_embd": config.d_model, "n_layer": config.n_blocks, "n_head": config.n_heads, "n_inner": config.d_ff,
            "activation_function": names[config.activation], "layer_norm_epsilon": config.norm_eps,
            "resid_pdrop": config.dropout, "embd_pdrop": config.dropout, "attn_pdrop": 0.0,
            "tie_word_embeddings": module.tied,
        }  # fmt: skip
    shared = {
        "model_type": kind, "hidden_size": config.d_model, "num_hidden_layers": config.n_blocks,
        "num_attention_heads": config.n_heads, "intermediate_size": config.hidden,
        "hidden_act": names[config.activation],
        "layer_norm_eps": config.norm_eps, "hidden_dropout_prob": config.dropout, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    if isinstance(module, BERT):
        return shared | {
            "architectures": ["BertForPreTraining"], "vocab_size": module.embedding.tokens.num_embeddings,
            "max_position_embeddings": config.context, "type_vocab_size": module.segments.num_embeddings,
        }  # fmt: skip
    assert isinstance(module, ViT)
    labels = {str(i): f"LABEL_{i}" for i in range(module.head.out_features)}
    channels, height, width = module.shape
    if height != width or height % module.patch:
        raise ValueError(
            f"save_transformers: images must be square and a multiple of the patch; got {height} x {width}."
        )
    return shared | {
        "architectures": ["ViTForImageClassification"], "image_size": height, "patch_size": module.patch,
        "num_channels": channels, "id2label": labels, "label2id": {name: int(i) for i, name in labels.items()},
    }  # fmt: skip


def _check_plain(kind: str, config: TransformerConfig) -> None:
    supported = {
        "norm": "layer",
        "bias": True,
        "feed_forward": "mlp",
        "qk_norm": False,
        "window": None,
        "position": "none" if kind == "vit" else "learned",
        "norm_first": kind != "bert",
    }
    for name, value in supported.items():
        got = getattr(config, name)
        if got != value:
            raise ValueError(f"save_transformers: {name} must be {value!r} for {kind} of transformers; got {got!r}.")
    if config.n_kv_heads not in (None, config.n_heads):
        raise ValueError(f"save_transformers: {kind} of transformers has no grouped queries; n_kv_heads must be None.")
