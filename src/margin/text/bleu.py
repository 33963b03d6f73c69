r"""BLEU: how many n-grams of a translation occur in a reference (Papineni et al., 2002).

.. math:: \mathrm{BLEU} = \min\!\left(1, e^{1 - r/c}\right)\, \exp\Bigl(\tfrac14\sum_{n=1}^4 \log p_n\Bigr)

with the lengths c of all translations and r of the references nearest to them, and the fraction :math:`p_n` of n-grams
found, each counted at most as often as in one of its references. Counts are summed over all texts before they are
divided.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["bleu", "bleu_counts", "bleu_tokens"]

TOKEN = re.compile(r"\w+|[^\w\s]")
Tokens = Sequence[str]


def bleu_tokens(text: str | Tokens) -> Tokens:
    """Words and single marks of a string; a sequence of tokens stays as it is.

    >>> bleu_tokens("It's 5, now.")
    ['It', "'", 's', '5', ',', 'now', '.']
    """
    return TOKEN.findall(text) if isinstance(text, str) else text


def bleu_counts(hypothesis: Tokens, references: Sequence[Tokens], n: int) -> tuple[int, int]:
    """Of all n-grams of ``hypothesis``, how many are found in the ``references``, and how many there are.

    >>> bleu_counts("the the the the the the the".split(), ["the cat is on the mat".split()], 1)
    (2, 7)
    """
    ngrams = _ngrams(hypothesis, n)
    most: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        most |= _ngrams(reference, n)
    return sum((ngrams & most).values()), sum(ngrams.values())


def bleu(
    hypotheses: Sequence[str | Tokens],
    references: Sequence[str | Tokens | Sequence[Tokens]],
    *,
    max_n: int = 4,
    smooth: bool = False,
) -> float:
    """From 0 to 1, of all ``hypotheses`` together; each has one reference, or several as a list of lists of tokens.

    ``smooth`` adds 1 to both counts above single words (Lin and Och, 2004), for which short texts would else be 0.

    >>> round(bleu(["the cat sat on the mat"], ["the cat sat on a mat"], max_n=2), 4)
    0.7071
    """
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(
            f"bleu: every hypothesis needs its references; got {len(hypotheses)} and {len(references)} of them."
        )
    if max_n < 1:
        raise ValueError(f"bleu: max_n must be at least 1; got {max_n}.")
    pairs = [(bleu_tokens(hypothesis), _references(given)) for hypothesis, given in zip(hypotheses, references)]
    length = sum(len(hypothesis) for hypothesis, _ in pairs)
    nearest = sum(min((abs(len(r) - len(hypothesis)), len(r)) for r in given)[1] for hypothesis, given in pairs)
    if not length:
        return 0.0
    total = 0.0
    for n in range(1, max_n + 1):
        counts = [bleu_counts(hypothesis, given, n) for hypothesis, given in pairs]
        matched, total_ngrams = (sum(part) + (1 if smooth and n > 1 else 0) for part in zip(*counts))
        if not matched:
            return 0.0
        total += math.log(matched / total_ngrams)
    return math.exp(min(0.0, 1 - nearest / length) + total / max_n)


def _ngrams(tokens: Tokens, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def _references(given: str | Tokens | Sequence[Tokens]) -> list[Tokens]:
    if isinstance(given, str) or not given or isinstance(given[0], str):
        return [bleu_tokens(given)]  # type: ignore[arg-type]
    return [list(reference) for reference in given]
