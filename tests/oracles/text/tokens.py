"""Tokens, tags and decoding, one by one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.text import bpe_merging, decoding, entities, synsets
from margin.text.bpe import BytePairTokenizer
from margin.text.language import sentence_pairs
from margin.text.taggers import HMMTagger

PATH = "margin.text"


def merged(word: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Every occurrence of ``pair`` from the left as ``new``."""
    out: list[int] = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] = new
        else:
            out.append(symbol)
    return out


def merges_by_recounting(words: dict[bytes, int], n: int, least: int) -> list[tuple[int, int]]:
    symbols, merges = {word: list(word) for word in words}, []
    for new in range(256, 256 + n):
        counts: Counter[tuple[int, int]] = Counter()
        for word, count in words.items():
            for pair in pairwise(symbols[word]):
                counts[pair] += count
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < least:
            break
        merges.append(best)
        symbols = {word: merged(symbols[word], best, new) for word in words}
    return merges


@oracle(
    "margin.text.pieces.split_pieces",
    f"{PATH}.bpe_merging.learn_merges",
    f"{PATH}.bpe_merging.merge_symbols",
    f"{PATH}.bpe.BytePairTokenizer",
)
def merges_the_slow_way(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    words = {
        "".join(rng.choice(list("abcd"), size=rng.integers(2, 9))).encode(): int(rng.integers(1, 9)) for _ in "x" * 12
    }
    expected = merges_by_recounting(words, 12, 1)
    few = merges_by_recounting(words, 12, 9)
    ranks = {pair: (rank, 256 + rank) for rank, pair in enumerate(expected)}
    fresh = [int(c) for c in rng.choice(list(b"abcd"), size=30)]
    by_ranks = fresh
    for rank, pair in enumerate(expected):  # all of the lowest rank first: the same, as later ranks need earlier ones
        by_ranks = merged(by_ranks, pair, 256 + rank)
    text = " ".join(word.decode() for word, count in words.items() for _ in range(count))
    tokenizer = BytePairTokenizer.train(text, 256 + 10 + 2, special_tokens=["<end>", "<x>"])
    pieces = Counter(f" {part}".encode() if i else part.encode() for i, part in enumerate(text.split(" ")))
    pairs = merges_by_recounting(dict(pieces), 10, 1)
    table = [bytes([i]) for i in range(256)]
    for a, b in pairs:
        table.append(table[a] + table[b])
    sample = text[:40] + "<end>" + "dé" + "<x>"
    return every(
        learned=equal(bpe_merging.learn_merges(words, 12), expected),
        common_only=equal(bpe_merging.learn_merges(words, 12, min_frequency=9), few),
        merged=equal(bpe_merging.merge_symbols(fresh, ranks), by_ranks),
        trained=equal(tokenizer.merges, [(table[a], table[b]) for a, b in pairs]),
        size=equal(tokenizer.vocab_size, 256 + len(pairs) + 2),
        special=equal(tokenizer.special_tokens, {"<end>": 256 + len(pairs), "<x>": 257 + len(pairs)}),
        back=equal(tokenizer.decode(tokenizer.encode(sample)), sample),
        without=equal(tokenizer.decode(tokenizer.encode(sample), skip_special_tokens=True), text[:40] + "dé"),
        bytes=equal(tokenizer.decode_bytes(tokenizer.encode_bytes(b"ab\xff\xc3")), b"ab\xff\xc3"),
        one_piece=equal(
            tokenizer.encode("abcdabcd"),
            bpe_merging.merge_symbols(list(b"abcdabcd"), {p: (i, 256 + i) for i, p in enumerate(pairs)}),
        ),
        read=equal(BytePairTokenizer.from_json(tokenizer.to_json()).encode(sample), tokenizer.encode(sample)),
    )


@oracle(f"{PATH}.decoding.generate", f"{PATH}.decoding.next_token_log_probabilities")
def tokens_by_their_law(seed: int) -> Verdict:
    """The law kept by count and by mass, token by token; draws with the frequencies of that law."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=6)
    p = np.exp(z / 0.7) / np.exp(z / 0.7).sum()
    order = sorted(range(6), key=lambda i: -p[i])
    three = np.array([p[i] if i in order[:3] else 0.0 for i in range(6)])
    kept, mass = [], 0.0
    for i in order:
        if mass >= 0.6:
            break
        kept.append(i)
        mass += p[i]
    most = np.array([p[i] if i in kept else 0.0 for i in range(6)])
    with np.errstate(divide="ignore"):
        law = lambda **options: np.exp(decoding.next_token_log_probabilities(z, temperature=0.7, **options))  # noqa: E731
        drawn = list(decoding.generate(lambda ids: z + 0.0 * len(ids), [0], 4000, temperature=0.7, top_k=3,
                                       random_state=seed))  # fmt: skip
    counted = np.bincount([token for token, _ in drawn], minlength=6) / 4000
    greedy = list(decoding.generate(lambda _: z, [0], 2, mode="greedy"))
    probabilities = np.exp([value for _, value in drawn[:20]])
    return every(
        all=near(law(), p, tolerance=1e-12),
        three=near(law(top_k=3), three / three.sum(), tolerance=1e-12),
        most=near(law(top_p=0.6), most / most.sum(), tolerance=1e-12),
        counted=near(counted, three / three.sum(), tolerance=6 * 0.5 / np.sqrt(4000)),
        told=near(probabilities, [three[t] / three.sum() for t, _ in drawn[:20]], tolerance=1e-10),
        greedy=equal([token for token, _ in greedy], [order[0]] * 2),
        greedy_told=near(greedy[0][1], z[order[0]] - np.log(np.exp(z).sum()), tolerance=1e-10),
    )


@oracle(f"{PATH}.entities.entity_scores", f"{PATH}.synsets.path_similarity")
def counts_by_hand(seed: int) -> Verdict:
    """Two of three entities that are said are right, of four that are there; steps up and down the lexicon."""
    true = [["B-A", "I-A", "O", "B-B"], ["I-B", "B-B", "O", "O"]]
    predicted = [["B-A", "I-A", "O", "B-A"], ["O", "B-B", "O", "O"]]
    names = list(synsets.lexicon())
    rng = np.random.default_rng(seed)
    parts = {}
    for k in range(6):
        a, b = rng.choice(names, size=2)
        up = [synsets.hypernyms(str(name)) for name in (a, b)]
        shared = up[0].keys() & up[1].keys()
        steps = min(up[0][name] + up[1][name] for name in shared)
        parts[f"steps_{k}"] = near(synsets.path_similarity(str(a), str(b)), 1 / (1 + steps), tolerance=1e-12)
    return every(**parts, scores=near(entities.entity_scores(true, predicted), (2 / 3, 2 / 4, 4 / 7), tolerance=1e-12))


@oracle(f"{PATH}.taggers.HMMTagger")
def counted_tags(seed: int) -> Verdict:
    """Fractions of counts, each raised by alpha; the best tags of a sentence among all that there could be."""
    rng = np.random.default_rng(seed)
    words, tags = np.array(list("abcd")), np.array(["N", "O", "V"])
    sentences = [rng.choice(words, size=n).tolist() for n in (4, 3, 5, 2, 6)]
    tagged = [rng.choice(tags, size=len(s)).tolist() for s in sentences]
    tagged[0][:3] = tags.tolist()  # every tag occurs
    model, names = HMMTagger(alpha=0.7).fit(sentences, tagged), tags.tolist()
    first = [sum(t[0] == name for t in tagged) + 0.7 for name in names]
    onward = np.array([
        [sum(pair == (a, b) for t in tagged for pair in pairwise(t)) + 0.7 for b in names]
        + [sum(t[-1] == a for t in tagged) + 0.7]
        for a in names
    ])  # fmt: skip
    onward /= onward.sum(axis=1, keepdims=True)
    emissions = np.array([
        [sum(w == word and u == name for s, t in zip(sentences, tagged) for w, u in zip(s, t)) for word in model.words_]
        for name in names
    ], dtype=float)  # fmt: skip
    once = [w for w in words if sum(s.count(w) for s in sentences) == 1]
    for column, word in enumerate(model.words_):  # a word seen once also stands for its outline
        if word.startswith("\n") and word != "\n":
            emissions[:, column] = sum(emissions[:, model.words_.index(w)] for w in once)
    emissions = (emissions + 0.7) / (emissions + 0.7).sum(axis=1, keepdims=True)
    fresh = rng.choice(words, size=4).tolist()
    at = [model.words_.index(w) if w in model.words_ else model.words_.index("\n") for w in fresh]

    def height(path: tuple[int, ...]) -> float:
        inside = sum(np.log(onward[a, b]) for a, b in pairwise(path)) + np.log(onward[path[-1], -1])
        return np.log(first[path[0]]) + inside + sum(np.log(emissions[k, c]) for k, c in zip(path, at))

    predicted = tuple(names.index(tag) for tag in model.predict([fresh])[0])
    return every(
        first=near(np.exp(model.first_), np.array(first) / sum(first), tolerance=1e-10),
        between=near(np.exp(model.between_), onward[:, :-1], tolerance=1e-10),
        last=near(np.exp(model.last_), onward[:, -1], tolerance=1e-10),
        words=near(np.exp(model.emissions_), emissions, tolerance=1e-10),
        tagged=near(height(predicted), max(map(height, product(range(3), repeat=4))), tolerance=1e-9),
    )


@oracle(f"{PATH}.language.sentence_pairs")
def pairs_of_sentences(seed: int) -> Verdict:
    """Half of the pairs are neighbors, the others come from another document."""
    documents = [[f"{d}.{s}" for s in range(n)] for d, n in enumerate((5, 3, 4))]
    pairs = sentence_pairs(documents, random_state=seed)
    numbers = [[tuple(map(int, text.split("."))) for text in pair[:2]] for pair in pairs]
    follows = [pair[2] for pair in pairs]
    return every(
        firsts=equal([a for a, _ in numbers], [(d, s) for d, n in enumerate((5, 3, 4)) for s in range(n - 1)]),
        half=equal(sum(follows), 5),
        next=equal([b for (_, b), yes in zip(numbers, follows) if yes],
                   [(d, s + 1) for ((d, s), _), yes in zip(numbers, follows) if yes]),
        elsewhere=equal(any(a[0] == b[0] for (a, b), yes in zip(numbers, follows) if not yes), False),
    )  # fmt: skip
