r"""Vocabulary against length: finer tokens, longer sequences

From single bytes (256 tokens in the vocabulary) through byte pairs to whole words, the vocabulary grows and a sentence
takes fewer tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEGINNINGS = ("un", "re", "over", "mis", "out", "")
STEMS = ("light", "work", "read", "play", "form", "turn", "heat", "load", "mark", "sign", "view", "build")
ENDINGS = ("", "s", "ed", "ing", "er", "able")


def sentences(rng: np.random.Generator, n: int) -> list[str]:
    """Sentences of words with beginnings, stems and endings; common ones are far commoner than rare ones."""
    words = np.array([a + b + c for a in BEGINNINGS for b in STEMS for c in ENDINGS])
    rng.shuffle(words)
    p = 1 / np.arange(1, len(words) + 1)
    return [" ".join(rng.choice(words, 12, p=p / p.sum())) for _ in range(n)]


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.text.bpe import BytePairTokenizer
    from margin.text.vocabulary import VocabularyTokenizer

    texts = sentences(np.random.default_rng(seed), 200 if fast else 5000)
    sizes, lengths = [], []
    for n_merges in (0, 8, 16, 32, 64, 128, 256, 384):
        tokenizer = BytePairTokenizer.train(texts, 256 + n_merges)
        sizes.append(tokenizer.vocab_size)
        lengths.append(np.mean([len(tokenizer.encode(text)) for text in texts]))
    ends = {}
    for level in ("char", "word"):
        vocabulary = VocabularyTokenizer.train(texts, level=level)
        ends[level] = (vocabulary.vocab_size, float(np.mean([len(vocabulary.encode(text)) for text in texts])))
    return {"sizes": np.array(sizes), "lengths": np.array(lengths), "ends": ends, "words": 12}


def check(data: dict[str, Any]) -> Verdict:
    sizes, lengths, ends = data["sizes"], data["lengths"], data["ends"]
    return every(
        vocabularies_grow=equal(bool((np.diff(sizes) > 0).all()), True),
        sequences_shrink=equal(bool((np.diff(lengths) < 0).all()), True),
        bytes_are_characters_here=below(abs(float(lengths[0]) - ends["char"][1]), 1e-9),
        words_are_few=below(ends["word"][1], ends["char"][1] / 3),
        words_need_a_large_vocabulary=below(10 * ends["char"][0], ends["word"][0]),
        never_below_a_token_per_word=equal(bool(lengths[-1] >= data["words"]), True),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    axis.plot(data["sizes"], data["lengths"], "o-")
    marks = [("byte pairs", data["sizes"][1], data["lengths"][1])]
    for level, (size, length) in data["ends"].items():
        axis.plot(size, length, "s", markersize=9)
        marks.append(({"char": "characters", "word": "words"}[level], size, length))
    for text, size, length in marks:
        axis.annotate(text, (size, length), xytext=(9, 6), textcoords="offset points")
    axis.set(xscale="log", xlabel="vocabulary (different tokens)", ylabel="tokens per sentence")
    axis.set_title("Finer tokens, longer sequences")
