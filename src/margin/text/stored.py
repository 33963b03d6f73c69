"""What fitted models of text hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.domains import MOST_LAYERS
from margin.core.invariants import (
    NO_COLUMNS,
    ArrayOf,
    Count,
    Form,
    ListOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    Violation,
    sometimes,
)

__all__ = ["FORMS", "MOST", "NETWORK", "STRING"]

STRING = StringOf()
MOST = 2**31

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
