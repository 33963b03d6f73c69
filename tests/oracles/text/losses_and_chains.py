"""Losses of tokens one by one, chains by all their sequences, topics drawn token by token."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from scipy import special
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.text.chain import TagChain, decode_chain, path_score, sum_chain
from margin.text.language import mask_tokens, masked_token_loss, next_token_loss
from margin.text.topics import gibbs_sweep
from margin.text.vocabulary import train_tokenizer

PATH = "margin.text"


@oracle(*(f"{PATH}.language.{name}" for name in ("mask_tokens", "masked_token_loss", "next_token_loss")))
def tokens_hidden_and_foretold(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    ids, logits = rng.integers(0, 9, size=(3, 7)), rng.normal(size=(3, 7, 9))
    log_p = special.log_softmax(logits, axis=2)
    masked = mask_tokens(ids, 9, rate=0.4, random_state=seed)
    chosen = [(i, n) for i, n in np.ndindex(3, 7) if masked.positions[i, n]]
    hidden = -np.mean([log_p[i, n, ids[i, n]] for i, n in chosen])
    following = [[-log_p[i, n, ids[i, n + 1]] for n in range(6)] for i in range(3)]
    many = np.full((40, 500), 3)
    inputs, targets, positions = mask_tokens(many, 9, rate=0.3, random_state=seed, vocab_size=9)
    kept, mask = np.mean(inputs[positions] == 3), np.mean(inputs[positions] == 9)
    scores, tokens = torch.from_numpy(logits), torch.from_numpy(ids)
    return every(
        mask=equal(masked.inputs.tolist(), np.where(masked.positions, 9, ids).tolist()),
        targets=equal(masked.targets.tolist(), ids.tolist()),
        loss=near(
            float(masked_token_loss(scores, tokens, torch.from_numpy(masked.positions))), hidden, tolerance=1e-10
        ),
        following=near(next_token_loss(scores, tokens, reduction="none").numpy(), following, tolerance=1e-10),
        mean=near(float(next_token_loss(scores, tokens)), np.mean(following), tolerance=1e-10),
        sum=near(float(next_token_loss(scores, tokens, reduction="sum")), np.sum(following), tolerance=1e-9),
        rate=near(float(positions.mean()), 0.3, tolerance=0.02),  # standard errors of these are at most 0.006
        eighty_percent=near(float(mask), 0.8, tolerance=0.035),
        unchanged=near(float(kept), 0.1 + 0.1 / 9, tolerance=0.03),
        elsewhere=equal(inputs[~positions].tolist(), targets[~positions].tolist()),
    )


@oracle(f"{PATH}.chain.sum_chain", f"{PATH}.chain.decode_chain")
def all_sequences_of_tags(seed: int) -> Verdict:
    """Sentences of 4, 1 and 3 words with three tags, whose transitions are not symmetric."""
    rng = np.random.default_rng(seed)
    chain = TagChain(rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=3))
    scores, ends = rng.normal(size=(8, 3)), np.array([4, 5, 8])
    log_z, marginals, pairs, best, values = [], np.zeros((8, 3)), np.zeros((3, 3)), [], []
    for begin, end in zip([0, 4, 5], ends):
        rows = scores[begin:end]
        sequences = list(itertools.product(range(3), repeat=int(end - begin)))
        totals = [
            chain.first[s[0]] + sum(rows[t, k] for t, k in enumerate(s)) + chain.last[s[-1]]
            + sum(chain.between[a, b] for a, b in itertools.pairwise(s))
            for s in sequences
        ]  # fmt: skip
        log_z.append(special.logsumexp(totals))
        for s, total in zip(sequences, totals):
            p = math.exp(total - log_z[-1])
            for t, k in enumerate(s):
                marginals[begin + t, k] += p
            for a, b in itertools.pairwise(s):
                pairs[a, b] += p
        best += sequences[int(np.argmax(totals))]
        values.append(max(totals))
    ours, (tags, found) = sum_chain(scores, ends, chain), decode_chain(scores, ends, chain)
    return every(
        log_z=near(ours.log_z, log_z, tolerance=1e-10),
        marginals=near(ours.marginals, marginals, tolerance=1e-10),
        pairs=near(ours.pairs, pairs, tolerance=1e-10),
        best=equal(tags.tolist(), best),
        values=near(found, values, tolerance=1e-10),
        path=near(path_score(scores[:4], tags[:4], chain), values[0], tolerance=1e-10),
    )


@oracle(f"{PATH}.topics.gibbs_sweep")
def topics_drawn_token_by_token(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    documents, words = np.repeat([0, 1, 2], [5, 3, 6]), rng.integers(0, 4, 14)
    assigned, uniforms = rng.integers(0, 3, 14), rng.random(14)
    of_document, of_word = np.zeros((3, 3), dtype=np.int64), np.zeros((3, 4), dtype=np.int64)
    np.add.at(of_document, (documents, assigned), 1)
    np.add.at(of_word, (assigned, words), 1)
    ours = assigned.copy(), of_document.copy(), of_word.copy()
    gibbs_sweep(documents, words, *ours, 0.7, 0.2, uniforms)
    for i, (d, w) in enumerate(zip(documents, words)):
        of_document[d, assigned[i]] -= 1
        of_word[assigned[i], w] -= 1
        p = [(of_document[d, k] + 0.7) * (of_word[k, w] + 0.2) / (of_word[k].sum() + 4 * 0.2) for k in range(3)]
        below = np.cumsum(p) / sum(p)
        assigned[i] = next(k for k in range(3) if uniforms[i] < below[k])
        of_document[d, assigned[i]] += 1
        of_word[assigned[i], w] += 1
    return every(
        topics=equal(ours[0].tolist(), assigned.tolist()),
        documents=equal(ours[1].tolist(), of_document.tolist()),
        words=equal(ours[2].tolist(), of_word.tolist()),
    )


@oracle(f"{PATH}.vocabulary.train_tokenizer")
def pieces_of_texts(seed: int) -> Verdict:
    """Characters, words and pieces: texts come back, whole words are one token each, and pieces are fewer."""
    rng = np.random.default_rng(seed)
    text = " ".join("".join(rng.choice(list("abc"), rng.integers(2, 5))) + "ab" for _ in range(40))
    by_char, by_word = (train_tokenizer([text], level=level) for level in ("char", "word"))
    pieces = train_tokenizer([text], level="subword", vocab_size=260)
    words = text.split()
    of_two = by_word.encode(f"{words[1]} {words[2]}")
    return every(
        characters=equal(len(by_char.encode("abcab")), 5),
        same_character=equal([by_char.encode(c) == by_char.encode("a") for c in "ab"], [True, False]),
        words=equal(by_word.encode(words[1]) + by_word.encode(" ") + by_word.encode(words[2]), of_two),
        one_each=equal(len(of_two), 3),
        back=equal([by_char.decode(by_char.encode(text)), pieces.decode(pieces.encode(text))], [text, text]),
        pieces_are_fewer=equal(len(pieces.encode(text)) < len(text), True),
    )
