"""Classes of texts: an output layer on an encoder, and which words decide."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, above, equal, every
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.notes.claims.text.pretraining import small_bert, train
from margin.text.classifier import TextClassifier
from margin.text.language import mask_tokens, masked_token_loss

NEUTRAL = ("the", "film", "was", "and", "story", "scene")
BAD, GOOD = ("dull", "cold", "silly", "flat", "gray", "loud"), ("warm", "clever", "bright", "fresh", "funny", "wise")


def reviews(rng: np.random.Generator, n: int) -> tuple[list[str], np.ndarray]:
    """Sentences with two words of praise or blame and at times one of the other kind, and whether it is praise.

    Without the other kind a network may take every text without praise for blame, and no word decides that.
    """
    good = rng.integers(2, size=n)
    words = [
        [
            *rng.choice(NEUTRAL, rng.integers(3, 8)),
            *rng.choice((BAD, GOOD)[label], 2),
            *rng.choice((GOOD, BAD)[label], rng.integers(2)),
        ]
        for label in good
    ]
    return [" ".join(rng.permutation(some)) for some in words], good


@claim("sentiment-classification")
def the_class_of_a_text_follows_from_its_words(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, y = reviews(rng, 200)
    new, truth = reviews(rng, 200)
    model = TextClassifier(
        "transformer", d_model=16, n_heads=2, max_iter=12, learning_rate_init=0.01, random_state=seed
    ).fit(X, y)
    p = model.predict_proba(new)
    deciding = [model.influential_tokens(text, n=1)[0][0] in (BAD, GOOD)[label] for text, label in zip(new, truth)]
    tuned = fine_tuned(seed, pretrained=True)
    # Words without labels are guessed by chance, all right or all wrong: the mean of several starts is near one half.
    untuned = float(np.mean([fine_tuned(STARTS * seed + k, pretrained=False) for k in range(STARTS)]))
    return every(
        probabilities=equal(bool(((p > 0) & (p < 1)).all()), True),
        accuracy=above(model.score(new, truth), 0.85),
        a_word_of_praise_or_blame_decides=above(float(np.mean(deciding)), 0.85),
        fine_tuned_on_words_without_labels=above(tuned, 0.85),
        better_than_without_pre_training=above(tuned - untuned, 0.1),
    )


MASK = 13  # token 0 begins a review, 1 to 6 are words of blame, 7 to 12 of praise
STARTS = 8
LABELED = 2  # words of either kind that occur in labeled reviews; tests are made of the others


def ids(rng: np.random.Generator, n: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Reviews of four words of one kind, numbered ``first`` to ``last`` - 1 within it, and their kinds."""
    good = rng.integers(2, size=n)
    words = 1 + 6 * good[:, None] + rng.integers(first, last, size=(n, 4))
    return np.column_stack([np.zeros(n, dtype=np.int64), words]), good


def fine_tuned(seed: int, *, pretrained: bool) -> float:
    """Accuracy on reviews whose words had no labels; pre-training has seen all words, but no labels."""
    rng = np.random.default_rng(seed)
    model = small_bert(MASK + 1, seed)
    steps = 120 if pretrained else 0
    given = [mask_tokens(ids(rng, 32, 0, 6)[0], MASK, rate=0.3, random_state=rng) for _ in range(steps)]

    def mask(step: int) -> Tensor:
        inputs, targets, positions = (torch.from_numpy(part) for part in given[step])
        return masked_token_loss(model(inputs).tokens, targets, positions)

    train(model, mask, steps)
    head = build(lambda: nn.Linear(model.config.d_model, 1), seed)  # the added output layer
    tokens, good = (torch.from_numpy(part) for part in ids(rng, 64, 0, LABELED))

    def log_odds(tokens: Tensor) -> Tensor:
        out: Tensor = head(model.states(tokens).mean(dim=1))[:, 0]
        return out

    train(
        nn.ModuleList([model, head]),
        lambda _: functional.binary_cross_entropy_with_logits(log_odds(tokens), good.float()),
        20,
        2e-3,
    )
    tokens, good = (torch.from_numpy(part) for part in ids(rng, 300, LABELED, 6))
    with torch.no_grad():
        return float(((torch.sigmoid(log_odds(tokens)) > 0.5) == (good == 1)).double().mean())
