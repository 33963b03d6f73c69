"""What fitted models of text hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import ArrayOf, Count, Form, ListOf, Real, Sizes, Stored, StringOf, Violation
from margin.text import stored_networks

__all__ = ["FORMS"]

STRING = StringOf()

WORD_VECTORS: Mapping[str, Stored] = {
    "vocabulary_": ListOf(STRING, size="n_words"),
    "counts_": ArrayOf("n_words", kind="int64", low=1),
    "vectors_": ArrayOf("n_words", "vector_size"),
    "loss_": Real(),
    "n_iter_": Count(),
}

CHAIN: Mapping[str, Stored] = {
    "tags_": ListOf(STRING, size="n_tags"),
    "first_": ArrayOf("n_tags", kind="float64"),
    "between_": ArrayOf("n_tags", "n_tags", kind="float64"),
    "last_": ArrayOf("n_tags", kind="float64"),
}


def _unknown_words_have_a_column(model: Mapping[str, Any], _: Sizes) -> None:
    if "words_" in model and "\n" not in model["words_"]:
        raise Violation("words_ must have an entry for unknown words")


FORMS: Mapping[str, Form] = {
    **stored_networks.FORMS,
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
        }
    ),
}
