"""What fitted models of text hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.domains import MOST_LAYERS
from margin.core.invariants import (
    NO_COLUMNS,
    ArrayOf,
    Count,
    FieldsOf,
    Form,
    ListOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    TrueOrFalse,
    Violation,
    optional,
    sometimes,
)
from margin.core.trained import TRAINED

__all__ = ["FORMS"]

STRING = StringOf()
MOST = 2**31
ARCHITECTURES = ("bag-of-words", "cnn", "rnn", "transformer")

WORD_VECTORS: Mapping[str, Stored] = {
    **NO_COLUMNS,
    "vocabulary_": ListOf(STRING, size="n_words"),
    "counts_": ArrayOf("n_words", kind="int64", low=1),
    "vectors_": ArrayOf("n_words", "vector_size"),
    "loss_": Real(),
    "n_iter_": Count(),
}

CHAIN: Mapping[str, Stored] = {
    **NO_COLUMNS,
    "tags_": ListOf(STRING, size="n_tags"),
    "first_": ArrayOf("n_tags", kind="float64"),
    "between_": ArrayOf("n_tags", "n_tags", kind="float64"),
    "last_": ArrayOf("n_tags", kind="float64"),
}


def _unknown_words_have_a_column(model: Mapping[str, Any], _: Sizes) -> None:
    if "words_" in model and "\n" not in model["words_"]:
        raise Violation("words_ must have an entry for unknown words")


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
READING: Mapping[str, Stored] = {
    "kind": StringOf(("word", "char", "bpe")),
    "lowercase": TrueOrFalse(),
    "longest_run": Count(low=1, high=MOST),
    "max_length": optional(Count(low=1)),
    "pairs": STRING,
}


def _text_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.nets.text import TextNetwork
    from margin.neural.stored import check_built
    from margin.text.terms import FIRST

    network = model["network_"]
    if network["n_tokens"] != FIRST + sizes["n_terms"] or network["n_outputs"] != sizes["n_outputs"]:
        raise Violation("network_ must begin with the tokens of the vocabulary and end with the classes")
    check_built(model["weights_"], lambda: TextNetwork(**network))
    _byte_pairs_are_stored(model["reading_"])


def _tagging_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.nets.tagging import TaggingNetwork
    from margin.neural.stored import check_built
    from margin.text.terms import FIRST

    network = model["network_"]
    expected = {"n_tokens": FIRST + sizes["n_words"], "n_outlines": FIRST + sizes["n_outlines"]}
    if expected | {"n_tags": sizes["n_tags"]} != {name: network[name] for name in (*expected, "n_tags")}:
        raise Violation("network_ must begin with the words and outlines and end with the tags")
    check_built(model["weights_"], lambda: TaggingNetwork(**network))


def _byte_pairs_are_stored(reading: Mapping[str, Any]) -> None:
    if reading["kind"] == "bpe":
        from margin.text.bpe import BytePairTokenizer

        try:
            BytePairTokenizer.from_json(reading["pairs"])
        except ValueError as problem:
            raise Violation(f"reading_ must hold a tokenizer.json of byte pairs: {str(problem)[:80]}") from None


FORMS: Mapping[str, Form] = {
    "Word2Vec": Form({**WORD_VECTORS, "outputs_": ArrayOf("n_outputs", "vector_size")}),
    "GloVe": Form(WORD_VECTORS),
    "HMMTagger": Form(
        {**CHAIN, "words_": ListOf(STRING, size="n_words"), "emissions_": ArrayOf("n_tags", "n_words")},
        [_unknown_words_have_a_column],
    ),
    "CRFTagger": Form(
        {
            **CHAIN,
            "features_": ListOf(STRING, size="n_token_features"),
            "weights_": ArrayOf("n_token_features", "n_tags"),
            "loss_": Real(),
            "n_iter_": Count(),
        }
    ),
    "TokenTagger": Form(
        {
            **TRAINED,
            **NO_COLUMNS,
            "tags_": ListOf(STRING, size="n_tags"),
            "vocabulary_": ListOf(STRING, size="n_words"),
            "outlines_": ListOf(STRING, size="n_outlines"),
            "network_": FieldsOf(
                {
                    **{name: Count(low=1, high=MOST) for name in ("n_tokens", "n_outlines", "n_tags")},
                    "architecture": StringOf(ARCHITECTURES[1:]),
                    "chain": TrueOrFalse(),
                    **NETWORK,
                }
            ),
        },
        [_tagging_network_is_stored],
    ),
    "TextClassifier": Form(
        {
            **TRAINED,
            **NO_COLUMNS,
            "classes_": ArrayOf("n_outputs", kind="labels"),
            "vocabulary_": ListOf(STRING, size="n_terms"),
            "reading_": FieldsOf(READING),
            "network_": FieldsOf(
                {
                    **{name: Count(low=1, high=MOST) for name in ("n_tokens", "n_outputs")},
                    "architecture": StringOf(ARCHITECTURES),
                    **NETWORK,
                }
            ),
        },
        [_text_network_is_stored],
    ),
    "LatentDirichletAllocation": Form(
        {
            "components_": ArrayOf("n_topics", "n_features", low=0),
            "doc_topic_prior_": Real(low=0, finite=True),
            "topic_word_prior_": Real(low=0, finite=True),
            "n_iter_": Count(),
            "n_batch_iter_": Count(),
            "bound_": sometimes(Real(low=0)),
        }
    ),
}
