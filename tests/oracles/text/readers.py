"""A classifier of texts: probabilities add up to one, and a word's part is what is lost when it is not known."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.text.classifier import TextClassifier


@oracle("margin.text.classifier.TextClassifier")
def words_left_out(seed: int) -> Verdict:
    good, bad, other = "good fine great nice", "bad awful poor dull", "red blue green gray"
    rng = np.random.default_rng(seed)
    X = [" ".join(rng.permutation(words.split())[:3]) for words in (good, bad, other) for _ in range(8)]
    y = np.repeat(["a", "b", "c"], 8)
    model = TextClassifier(max_iter=6, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    text = "good dull blue nice"
    logs, words = model.predict_log_proba([text, "fine awful"]), text.split()
    best = int(logs[0].argmax())
    without = [" ".join([*words[:i], "qwxz", *words[i + 1 :]]) for i in range(4)]
    owed = logs[0, best] - model.predict_log_proba(without)[:, best]
    influential = model.influential_tokens(text, 3)
    order = np.argsort(-owed)[:3]
    return every(
        sums=near(np.exp(logs).sum(axis=1), np.ones(2), tolerance=1e-5),
        probabilities=near(model.predict_proba([text]), np.exp(logs[:1]), tolerance=1e-6),
        classes=equal(list(model.predict([text, "fine awful"])), ["abc"[k] for k in logs.argmax(axis=1)]),
        words=equal([word for word, _ in influential], [words[i] for i in order]),
        parts=near([part for _, part in influential], owed[order], tolerance=1e-4),
    )
