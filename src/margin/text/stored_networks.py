"""What fitted transformers of text hold: no network is built that the stored weights do not fill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from margin.core.domains import MOST_LAYERS
from margin.core.invariants import (
    Count,
    FieldsOf,
    ListOf,
    OneOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    TrueOrFalse,
    Violation,
    optional,
)
from margin.neural.stored import MOST_PIXELS, check_built
from margin.neural.stored_transformers import CONFIG, check_config
from margin.text.token_codes import FOLDER, TextCodes

__all__ = [
    "CLASSIFIER",
    "DECODER",
    "ENCODER",
    "READING",
    "TAGGER",
    "TRANSLATOR",
    "decoder_is_stored",
    "encoder_is_stored",
    "stored_codes",
    "tagging_network_is_stored",
    "text_network_is_stored",
    "translator_is_stored",
]

MOST = 2**31
N_MARKS = 3  # tokens of a masked language model that stand for no text


def stored_codes(kinds: tuple[str, ...]) -> Stored:
    """Kind and content of the codes of texts."""
    return FieldsOf({"kind": StringOf(kinds), "content": StringOf()})


def check_codes(codes: Mapping[str, str], size: int, name: str = "codes_") -> None:
    """The content can be read and has as many tokens as the network, of which ``size`` are texts."""
    kind, content = codes["kind"], codes["content"]
    if kind == "char" and content != "".join(sorted(set(content))):
        raise Violation(f"{name} must have its characters in order, each once")
    if kind == "byte" and content:
        raise Violation(f"{name} of bytes must have no content")
    if kind == "word":
        check_words(content, name)
    try:
        read = TextCodes.of({"kind": kind, "content": content})
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise Violation(f"{name} cannot be read: {str(error)[:80]}") from None
    if read.size != size:
        raise Violation(f"{name} must have the {size} tokens that network_ names; it has {read.size}")


def check_words(content: str, name: str) -> None:
    try:
        words = json.loads(content)
    except (ValueError, RecursionError):
        raise Violation(f"{name} of words must be a JSON list") from None
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise Violation(f"{name} of words must be a list of strings")
    if len(set(words)) != len(words):
        raise Violation(f"{name} must have each word once")


def decoder_is_stored(model: Mapping[str, Any], _: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.attention.config import TransformerConfig
    from margin.neural.attention.decoder import DecoderTransformer

    network = model["network_"]
    check_config(network["config"], model["weights_"])
    check_codes(model["codes_"], network["vocabulary"])
    check_built(
        model["weights_"],
        lambda: DecoderTransformer(network["vocabulary"], TransformerConfig(**network["config"]), tied=network["tied"]),
    )


def encoder_is_stored(model: Mapping[str, Any], _: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.text.masked_folder import masked_network

    network = model["network_"]
    check_config(network["config"], model["weights_"])
    if ("parts" in network) != (model["codes_"]["kind"] == FOLDER):
        raise Violation("network_ must have parts where codes_ are those of a folder, and only there")
    check_codes(model["codes_"], network["vocabulary"] - N_MARKS)
    check_built(model["weights_"], lambda: masked_network(network))


def translator_is_stored(model: Mapping[str, Any], _: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.attention.config import TransformerConfig
    from margin.text.translator import ARCHITECTURES

    network = model["network_"]
    check_config(network["config"], model["weights_"])
    for side in ("source", "target"):
        check_codes(model["codes_"][side], network[side], f"codes_[{side!r}]")
    sizes = network["source"], network["target"]
    kind = ARCHITECTURES[network.get("architecture", "transformer")]
    check_built(model["weights_"], lambda: kind(*sizes, TransformerConfig(**network["config"])))


def text_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.nets.text import TextNetwork
    from margin.text.terms import FIRST

    network = model["network_"]
    if (network["architecture"] == "pretrained") != (model["reading_"]["kind"] == "folder"):
        raise Violation("reading_ must be that of a folder where network_ is pretrained, and only there")
    if network["architecture"] == "pretrained":
        _pretrained_is_stored(model, sizes)
        return
    if network["n_tokens"] != FIRST + sizes["n_terms"] or network["n_outputs"] != sizes["n_outputs"]:
        raise Violation("network_ must begin with the tokens of the vocabulary and end with the classes")
    check_built(model["weights_"], lambda: TextNetwork(**network))
    _byte_pairs_are_stored(model["reading_"])


def _pretrained_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """A pretrained encoder reads all tokens of its tokenizer and ends with the classes."""
    from margin.neural.nets.encoder_scores import ragged_encoder
    from margin.text.folder_tokenizer import folder_tokenizer

    network = model["network_"]
    check_config(network["config"], model["weights_"])
    try:
        tokens = folder_tokenizer(model["reading_"]["pairs"]).tokens
    except ValueError as problem:
        raise Violation(f"reading_ must hold a tokenizer.json: {str(problem)[:80]}") from None
    if tokens != model["vocabulary_"] or network["n_tokens"] < len(tokens):
        raise Violation("vocabulary_ must be the tokens of reading_, all of which network_ reads")
    if network["n_outputs"] != sizes["n_outputs"] or network["per_token"]:
        raise Violation("network_ must end with the classes")
    check_built(model["weights_"], lambda: ragged_encoder(network))


def tagging_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.nets.tagging import TaggingNetwork
    from margin.text.terms import FIRST

    network = model["network_"]
    if network["architecture"] == "pretrained":
        _pretrained_tagger_is_stored(model, sizes)
        return
    if model.get("reading_"):
        raise Violation("reading_ must be empty where network_ is not pretrained")
    expected = {"n_tokens": FIRST + sizes["n_words"], "n_outlines": FIRST + sizes["n_outlines"]}
    if expected | {"n_tags": sizes["n_tags"]} != {name: network[name] for name in (*expected, "n_tags")}:
        raise Violation("network_ must begin with the words and outlines and end with the tags")
    check_built(model["weights_"], lambda: TaggingNetwork(**network))


def _pretrained_tagger_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.neural.nets.tagging import PiecesTaggingNetwork
    from margin.text.folder_tokenizer import folder_tokenizer

    network = {name: value for name, value in model["network_"].items() if name != "chain"}
    check_config(network["config"], model["weights_"])
    try:
        tokens = folder_tokenizer(model.get("reading_", "")).tokens
    except ValueError as problem:
        raise Violation(f"reading_ must hold a tokenizer.json: {str(problem)[:80]}") from None
    if tokens != model["vocabulary_"] or network["n_tokens"] < len(tokens) or model["outlines_"]:
        raise Violation("vocabulary_ must be the tokens of reading_, all of which network_ reads, without outlines_")
    if network["n_outputs"] != sizes["n_tags"] or not network["per_token"]:
        raise Violation("network_ must end with the tags")
    check_built(model["weights_"], lambda: PiecesTaggingNetwork(network, model["network_"]["chain"]))


def _byte_pairs_are_stored(reading: Mapping[str, Any]) -> None:
    if reading["kind"] == "bpe":
        from margin.text.bpe import BytePairTokenizer

        try:
            BytePairTokenizer.from_json(reading["pairs"])
        except ValueError as problem:
            raise Violation(f"reading_ must hold a tokenizer.json of byte pairs: {str(problem)[:80]}") from None


NETWORK: Mapping[str, Stored] = {
    "d_model": Count(low=1, high=MOST),
    "n_layers": Count(low=1, high=MOST_LAYERS),
    "n_heads": Count(low=1, high=MOST),
    "cell": StringOf(("rnn", "lstm", "gru")),
    "hidden_size": Count(low=1, high=MOST),
    "kernel_sizes": ListOf(Count(low=1, high=MOST)),
    "n_filters": Count(low=1, high=MOST),
    "dropout": Real(0.0, 1.0, finite=True),
}
READING = FieldsOf(
    {
        "kind": StringOf(("word", "char", "bpe", "folder")),
        "lowercase": TrueOrFalse(),
        "longest_run": Count(low=1, high=MOST),
        "max_length": optional(Count(low=1)),
        "pairs": StringOf(),
    }
)
TEXT_NETWORK = FieldsOf(
    {
        **{name: Count(low=1, high=MOST) for name in ("n_tokens", "n_outputs")},
        "architecture": StringOf(("bag-of-words", "cnn", "rnn", "transformer")),
        **NETWORK,
    }
)
ENCODER_KIND: Mapping[str, Stored] = {
    "model_type": StringOf(("bert", "roberta", "distilbert")),
    "n_segments": Count(high=MOST),
}
ENCODER_PARTS: Mapping[str, Stored] = {**ENCODER_KIND, "pooler": TrueOrFalse(), "next_sentence": TrueOrFalse()}
PRETRAINED: Mapping[str, Stored] = {
    "architecture": StringOf(("pretrained",)),
    **{name: Count(low=1, high=MOST) for name in ("n_tokens", "n_outputs")},
    **ENCODER_KIND,
    "per_token": TrueOrFalse(),
    "config": CONFIG,
}
TAGGING_NETWORK = FieldsOf(
    {
        **{name: Count(low=1, high=MOST) for name in ("n_tokens", "n_outlines", "n_tags")},
        "architecture": StringOf(("cnn", "rnn", "transformer")),
        "chain": TrueOrFalse(),
        **NETWORK,
    }
)

CLASSIFIER = OneOf(TEXT_NETWORK, FieldsOf(PRETRAINED))
TAGGER = OneOf(TAGGING_NETWORK, FieldsOf({**PRETRAINED, "chain": TrueOrFalse()}))
DECODER = FieldsOf({"vocabulary": Count(low=2, high=MOST_PIXELS), "tied": TrueOrFalse(), "config": CONFIG})
ENCODER = FieldsOf(
    {"vocabulary": Count(low=2, high=MOST_PIXELS), "config": CONFIG, "parts": FieldsOf(ENCODER_PARTS)},
    may_lack=("parts",),
)
TRANSLATOR = FieldsOf(
    {
        **{side: Count(low=2, high=MOST_PIXELS) for side in ("source", "target")},
        "config": CONFIG,
        "architecture": StringOf(("gru",)),
    },
    may_lack=("architecture",),
)
