"""Texts: writing, translating, tagging, opinions, words and topics in a plane; a sentence of one's own."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.lab.stages.panels import Panel, bars, chart, matrix, round_values, text, window_of
from margin.text.token_codes import TextCodes

__all__ = ["cloze", "opinion", "tags", "topics", "translation", "words", "writing"]

GROUPS = (("king", "queen", "crown", "throne"), ("apple", "pear", "plum", "cherry"), ("boat", "wave", "sail", "harbor"))
TOPIC_WORDS = [word for group in GROUPS for word in group]
LONGEST = 60
START, END = "▸", "◂"  # what a model reads before the first token, and behind the last one


def writing(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """What the model writes after a beginning, and where its last block looks while it reads that beginning."""
    prompt = _sentence(probe, "the river ")
    written = model.generate(prompt, 160, temperature=0.7, random_state=0)
    maps, pieces = model.attention_maps(prompt)[-1].mean(axis=0), _tokens(model.codes_, prompt)
    names = [START, *pieces]
    looked = matrix(maps, names, names, "attention, last block", square=True)
    cut = [[piece.replace(" ", "␣"), 0.35 + 0.4 * (k % 2), ""] for k, piece in enumerate(pieces)]
    return [
        text([[[prompt, 0.0, "given"], [written, 1.0, "written"]]], "it writes", running=True),
        looked,
        text([cut], f"the beginning in {len(pieces)} tokens", cut=True),
    ]


def translation(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Translations of known sentences and of one's own, and where the decoder looks."""
    asked = _sentence(probe, "two four one")
    said = str(np.asarray(model.predict([asked]))[0])
    lines = [[[asked, 0.0, ""], [said or "…", 1.0, ""]]]
    lines += [[[source, 0.0, ""], [str(told), 0.5, ""]] for source, told in zip(X[:4], model.predict(list(X[:4])))]
    panels = [text(lines, "English to German", pairs=True)]
    if said:
        looked = model.alignment(asked, said)[-1].mean(axis=0)
        written, read = (
            [*_tokens(model.codes_[side], one), END] for side, one in (("target", said), ("source", asked))
        )
        panels.append(matrix(looked, written, read, "where it looks", square=True))
    return panels


def tags(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Every word with its tag, and how often tags are right."""
    asked = _sentence(probe, "every quiet bird finds the old road")
    texts = [asked, *X[:5]]
    lines = []
    for source, told in zip(texts, model.predict(texts)):
        names = told.split() if isinstance(told, str) else list(told)
        lines.append([[word, 0.6, tag] for word, tag in zip(source.split(), names)])
    return [text(lines, "words and their tags", tagged=True), bars([("right", model.score(X, y))], "", most=1)]


def opinion(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Whether a sentence is glad, and which of its words say so."""
    asked = _sentence(probe, "the meal was lovely in the end")
    chance = np.asarray(model.predict_proba([asked]))[0]
    influence = dict(model.influential_tokens(asked, 20))
    most = max((abs(v) for v in influence.values()), default=1.0) or 1.0
    words = [[word, influence.get(word, 0.0) / most, f"{influence.get(word, 0.0):+.2f}"] for word in asked.split()]
    named = [("sad" if int(c) == 0 else "glad", p) for c, p in zip(model.classes_, chance)]
    return [text([words], "what its verdict owes to each word", tagged=True), bars(named, "the sentence is", most=1)]


def cloze(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Words that would fill the gap."""
    asked = _sentence(probe, "king [MASK] crown throne")
    asked = asked if "[MASK]" in asked else f"{asked} [MASK]"
    guesses = model.fill(asked, 6)[0]
    return [text([[[word, 1.0 if word == "[MASK]" else 0.0, ""] for word in asked.split()]], "fill the gap"),
            bars([(str(token), chance) for token, chance in guesses], "the gap is", most=1)]  # fmt: skip


def words(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Words in the two widest directions of their vectors, and the nearest to one of them."""
    names = list(model.vocabulary_)
    vectors = np.array([model.vector(word) for word in names], dtype=float)
    centered = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    sign = np.sign(directions[np.arange(2), np.abs(directions[:2]).argmax(axis=1)])
    placed = centered @ (directions[:2] * sign[:, None]).T
    groups = {word: k // 4 for k, word in enumerate(TOPIC_WORDS)}
    labels = [[*round_values(place), name, groups.get(name, 0)] for place, name in zip(placed, names)]
    asked = _sentence(probe, "boat").split()[0]
    asked = asked if asked in names else names[0]
    near = [(str(word), float(cosine)) for word, cosine in model.most_similar(asked, 5)]
    return [chart(window_of(placed, 0.2), "words", bare=True, labels=labels), bars(near, f"nearest to {asked}", most=1)]


def topics(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Words of each topic, and the topics of the first texts."""
    shares = model.components_ / model.components_.sum(axis=1, keepdims=True)
    names = [f"topic {k + 1}" for k in range(len(shares))]
    return [
        matrix(shares.T, TOPIC_WORDS, names, "words of each topic"),
        matrix(model.transform(X[:16]), [f"text {i + 1}" for i in range(16)], names, "topics of texts"),
    ]


def _tokens(codes: Any, prompt: str) -> list[str]:
    """The pieces into which a text is cut."""
    known = TextCodes.of(codes)
    return [known.decode([code]) for code in known.encode(prompt).tolist()]


def _sentence(probe: Any, otherwise: str) -> str:
    return probe[:LONGEST] if isinstance(probe, str) and probe.strip() else otherwise
