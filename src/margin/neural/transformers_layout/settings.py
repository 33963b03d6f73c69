"""``config.json``: what a network is built from, checked before anything is built."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from torch import nn

from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.nets.clip import CLIPNetwork, ImageTower, TextTower
from margin.neural.nets.encoder_scores import EncoderScores
from margin.neural.nets.language_nets import BERT
from margin.neural.nets.vision_transformer import ViT
from margin.neural.transformers_layout.tables import MODEL_TYPES

__all__ = ["ACTIVATIONS", "Settings", "build"]

MOST = 2**24  # of any size: what a file says is multiplied before it is allocated

MOST_BASE = 1e12  # of rotary angles

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu",
    "relu": "relu",
    "relu2": "relu_squared",
    "silu": "silu",
    "swish": "silu",
}

# Options that would change what the weights mean; only their usual values are known here.
USUAL: dict[str, dict[str, Any]] = {
    "gpt2": {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
    "bert": {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False},
    "roberta": {
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "pad_token_id": 1,
    },
    "distilbert": {"sinusoidal_pos_embds": False},
    "llama": {"attention_bias": False, "mlp_bias": False, "hidden_act": "silu", "rope_scaling": None},
    "vit": {"qkv_bias": True},
    "clip": {},
}
TOWERS = ("text_config", "vision_config")  # of CLIP: each has settings of its own


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

    def part(self, name: str) -> Settings:
        """Settings inside the settings."""
        values = self.values.get(name) or {}
        if not isinstance(values, dict):
            raise ValueError(f"load_transformers: {name} in {self.path} must be a JSON object; got {values!r}.")
        return Settings(f"{name} in {self.path}", {**values, "model_type": self.kind})

    @property
    def parts(self) -> list[Settings]:
        """The settings of all stacks of blocks."""
        return [self.part(name) for name in TOWERS] if self.kind == "clip" else [self]

    @property
    def n_blocks(self) -> int:
        name = {"gpt2": "n_layer", "distilbert": "n_layers"}.get(str(self.kind), "num_hidden_layers")
        return self.size(name, {"distilbert": 6, "llama": 32}.get(str(self.kind), 12))

    @property
    def n_outputs(self) -> int:
        """Classes of a network that has some: two unless they are named."""
        labels = self.values.get("id2label")
        return len(labels) if isinstance(labels, dict) else self.size("num_labels", 2)

    @property
    def rope_base(self) -> float:
        """The base of rotary angles, which newer files keep among parameters that could change their meaning."""
        parameters = self.values.get("rope_parameters") or {}
        if not isinstance(parameters, dict) or parameters.get("rope_type", "default") != "default":
            raise ValueError(
                f"load_transformers: rope_parameters in {self.path} must be of type 'default'; got {parameters!r}."
            )
        value = parameters.get("rope_theta", self.values.get("rope_theta", 10_000.0))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= MOST_BASE:
            raise ValueError(
                f"load_transformers: rope_theta in {self.path} must be a number from 1 to {MOST_BASE:g}; got {value!r}."
            )
        return float(value)


def build(settings: Settings, names: Collection[str]) -> nn.Module:
    """The network whose tensors have ``names``; on torch's meta device it costs neither memory nor time."""
    try:
        return BUILDERS[str(settings.kind)](settings, names)
    except ValueError as error:
        message = str(error).replace("TransformerConfig: ", f"load_transformers: in {settings.path} ")
        raise ValueError(message) from None


def _gpt2(settings: Settings, _: Collection[str]) -> DecoderTransformer:
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


def _llama(settings: Settings, _: Collection[str]) -> DecoderTransformer:
    width, heads = settings.size("hidden_size", 4096), settings.size("num_attention_heads", 32)
    if settings.values.get("head_dim") not in (None, width // heads):
        raise ValueError(
            f"load_transformers: head_dim in {settings.path} must be hidden_size over num_attention_heads, "
            f"{width // heads}; got {settings.values['head_dim']!r}."
        )
    shared = settings.values.get("num_key_value_heads") is not None
    config = TransformerConfig(
        d_model=width,
        n_heads=heads,
        n_kv_heads=settings.size("num_key_value_heads", heads) if shared else None,
        n_blocks=settings.n_blocks,
        d_ff=settings.size("intermediate_size", 11_008),
        context=settings.size("max_position_embeddings", 2048),
        norm="rms",
        norm_eps=settings.fraction("rms_norm_eps", 1e-6),
        activation="silu",
        feed_forward="swiglu",
        position="rope",
        rope_base=settings.rope_base,
        bias=False,
    )
    tied = settings.values.get("tie_word_embeddings", False) is True
    return DecoderTransformer(settings.size("vocab_size", 32_000), config, tied=tied)


def _encoder(settings: Settings, **fixed: Any) -> TransformerConfig:
    return TransformerConfig(
        d_model=settings.size("hidden_size", 768),
        n_heads=settings.size("num_attention_heads", 12),
        n_blocks=settings.n_blocks,
        d_ff=settings.size("intermediate_size", 3072),
        norm_eps=settings.fraction("layer_norm_eps", 1e-12),
        activation=settings.activation("hidden_act", "gelu"),
        dropout=settings.fraction("hidden_dropout_prob", 0.0 if settings.kind == "vit" else 0.1),
        **fixed,
    )


def _bert(settings: Settings, names: Collection[str]) -> nn.Module:
    context = settings.size("max_position_embeddings", 512) - (2 if settings.kind == "roberta" else 0)
    if context < 1:
        raise ValueError(f"load_transformers: max_position_embeddings in {settings.path} must be above 2.")
    config = _encoder(settings, context=context, norm_first=False)
    vocabulary = settings.size("vocab_size", 30_522)
    return _with_scores(settings, names, vocabulary, config, settings.size("type_vocab_size", 2))


def _distilbert(settings: Settings, names: Collection[str]) -> nn.Module:
    config = TransformerConfig(
        d_model=settings.size("dim", 768),
        n_heads=settings.size("n_heads", 12),
        n_blocks=settings.n_blocks,
        d_ff=settings.size("hidden_dim", 3072),
        context=settings.size("max_position_embeddings", 512),
        norm_first=False,
        norm_eps=1e-12,
        activation=settings.activation("activation", "gelu"),
        dropout=settings.fraction("dropout", 0.1),
    )
    return _with_scores(settings, names, settings.size("vocab_size", 30_522), config, 0)


def _with_scores(
    settings: Settings, names: Collection[str], vocabulary: int, config: TransformerConfig, n_segments: int
) -> nn.Module:
    """The encoder with the heads whose tensors are there: of pre-training, of the classes of a text, or of tokens."""
    kind = str(settings.kind)
    scored = any(name.startswith("classifier.") for name in names)
    pooler = f"{kind}.pooler.dense.weight" in names
    encoder = BERT(
        vocabulary,
        config,
        n_segments,
        pooler=pooler and not scored,
        masked_head=any(name.startswith(("cls.predictions.", "lm_head.", "vocab_transform.")) for name in names),
        next_sentence="cls.seq_relationship.weight" in names,
        model_type=kind,
    )
    if not scored:
        return encoder
    pooled = pooler or "classifier.dense.weight" in names or "pre_classifier.weight" in names
    return EncoderScores(encoder, settings.n_outputs, per_token=not pooled)


def _vit(settings: Settings, _: Collection[str]) -> ViT:
    side, patch = _patches(settings, 16)
    shape = (settings.size("num_channels", 3), side, side)
    return ViT(shape, patch, settings.n_outputs, _encoder(settings, position="none"))


def _tower(settings: Settings, width: int, **fixed: Any) -> TransformerConfig:
    return TransformerConfig(
        d_model=settings.size("hidden_size", width),
        n_heads=settings.size("num_attention_heads", width // 64),
        n_blocks=settings.n_blocks,
        d_ff=settings.size("intermediate_size", 4 * width),
        norm_eps=settings.fraction("layer_norm_eps", 1e-5),
        activation=settings.activation("hidden_act", "quick_gelu"),
        **fixed,
    )


def _clip(settings: Settings, _: Collection[str]) -> CLIPNetwork:
    text, vision = settings.parts
    n_outputs = settings.size("projection_dim", 512)
    side, patch = _patches(vision, 32)
    shape = (vision.size("num_channels", 3), side, side)
    images = ImageTower(shape, patch, n_outputs, _tower(vision, 768, position="none"))
    # The first files say 2 whatever the token is, and mean the largest id of a text.
    end = text.size("eos_token_id", 49_407)
    config = _tower(text, 512, context=text.size("max_position_embeddings", 77))
    texts = TextTower(text.size("vocab_size", 49_408), n_outputs, config, None if end == 2 else end)
    return CLIPNetwork(images, texts)


def _patches(settings: Settings, usual: int) -> tuple[int, int]:
    """The side of images and that of the patches they are cut into."""
    side, patch = settings.size("image_size", 224), settings.size("patch_size", usual)
    if side % patch:
        raise ValueError(
            f"load_transformers: patch_size in {settings.path} must divide image_size {side}; got {patch}."
        )
    return side, patch


BUILDERS = {
    "gpt2": _gpt2,
    "llama": _llama,
    "bert": _bert,
    "roberta": _bert,
    "distilbert": _distilbert,
    "vit": _vit,
    "clip": _clip,
}
