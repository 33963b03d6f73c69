"""Named entities as runs of tags: B-X begins an entity of kind X, I-X continues it, O is outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["EntityScores", "entities", "entity_scores"]


def entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """The entities of a sentence: kind, first token, token after the last.

    As in the CoNLL evaluation, an I-X that continues nothing begins an entity.

    >>> entities(["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-ORG"])
    [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 5), ('ORG', 5, 6)]
    """
    spans: list[tuple[str, int, int]] = []
    kind, start = "", 0
    for i, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        continues = mark == "I" and name == kind
        if kind and not continues:
            spans.append((kind, start, i))
            kind = ""
        if mark in ("B", "I") and not continues:
            kind, start = name, i
    return spans


class EntityScores(NamedTuple):
    """How many predicted entities are right, how many true ones are found, and the harmonic mean of both."""

    precision: float
    recall: float
    f1: float


def entity_scores(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]]) -> EntityScores:
    """Entities count as found only with the right kind, first and last token; over all sentences together."""
    if [len(tags) for tags in y_true] != [len(tags) for tags in y_pred]:
        raise ValueError("entity_scores: y_true and y_pred must have as many sentences and tags.")
    true = {(i, *entity) for i, tags in enumerate(y_true) for entity in entities(tags)}
    predicted = {(i, *entity) for i, tags in enumerate(y_pred) for entity in entities(tags)}
    right = len(true & predicted)
    precision, recall = right / max(len(predicted), 1), right / max(len(true), 1)
    return EntityScores(precision, recall, 2 * right / max(len(predicted) + len(true), 1))
