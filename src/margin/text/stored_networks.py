"""What fitted transformers of text hold: no network is built that the stored weights do not fill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from margin.core.invariants import NO_COLUMNS, Count, FieldsOf, Form, Sizes, Stored, StringOf, TrueOrFalse, Violation
from margin.neural.stored import MOST_PIXELS, TRAINED, check_built
from margin.neural.stored_transformers import CONFIG, check_config
from margin.text.token_codes import TOKENS, WORD_TOKENS, TextCodes

__all__ = ["FORMS"]

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
        read = TextCodes(kind, content)
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


def _decoder_is_stored(model: Mapping[str, Any], _: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.attention.config import TransformerConfig
    from margin.neural.nets.transformer import DecoderTransformer

    network = model["network_"]
    check_config(network["config"], model["weights_"])
    check_codes(model["codes_"], network["vocabulary"])
    check_built(
        model["weights_"],
        lambda: DecoderTransformer(network["vocabulary"], TransformerConfig(**network["config"]), tied=network["tied"]),
    )


def _encoder_is_stored(model: Mapping[str, Any], _: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.attention.config import TransformerConfig
    from margin.neural.nets.language_nets import BERT

    network = model["network_"]
    check_config(network["config"], model["weights_"])
    check_codes(model["codes_"], network["vocabulary"] - N_MARKS)
    check_built(model["weights_"], lambda: BERT(network["vocabulary"], TransformerConfig(**network["config"])))


def _translator_is_stored(model: Mapping[str, Any], _: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.attention.config import TransformerConfig
    from margin.neural.nets.transformer import EncoderDecoderTransformer

    network = model["network_"]
    check_config(network["config"], model["weights_"])
    for side in ("source", "target"):
        check_codes(model["codes_"][side], network[side], f"codes_[{side!r}]")
    sizes = network["source"], network["target"]
    check_built(model["weights_"], lambda: EncoderDecoderTransformer(*sizes, TransformerConfig(**network["config"])))


FORMS: Mapping[str, Form] = {
    "LanguageModel": Form(
        {
            **TRAINED,
            **NO_COLUMNS,
            "codes_": stored_codes(TOKENS),
            "network_": FieldsOf(
                {"vocabulary": Count(low=2, high=MOST_PIXELS), "tied": TrueOrFalse(), "config": CONFIG}
            ),
        },
        [_decoder_is_stored],
    ),
    "MaskedLanguageModel": Form(
        {
            **TRAINED,
            **NO_COLUMNS,
            "codes_": stored_codes(WORD_TOKENS),
            "network_": FieldsOf({"vocabulary": Count(low=2, high=MOST_PIXELS), "config": CONFIG}),
        },
        [_encoder_is_stored],
    ),
    "Translator": Form(
        {
            **TRAINED,
            **NO_COLUMNS,
            "codes_": FieldsOf({side: stored_codes(TOKENS) for side in ("source", "target")}),
            "network_": FieldsOf(
                {**{side: Count(low=2, high=MOST_PIXELS) for side in ("source", "target")}, "config": CONFIG}
            ),
        },
        [_translator_is_stored],
    ),
}
