"""Do weights learned without labels help where labels are few? ``python -m benchmarks.studies.few_label_starts``.

Images: SimCLR learns from unlabeled training digits of MNIST, then a network that begins with its encoder
(``CNNClassifier.from_encoder``) meets 5 or 20 labels per class, beside the same network from random weights and
logistic regression on pixels. Texts: Word2Vec, GloVe or MaskedLanguageModel learns from unlabeled training texts, then
``TextClassifier.from_encoder`` meets 50 or 200 labels, beside the classifier without it and logistic regression on
tf-idf. All settings (temperature, passes, scale of the vectors) were chosen on scikit-learn's digits and on the
sentences; MNIST and the messages had no say.
Needs ``MARGIN_DATA``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.data.digits import mnist
from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.study import Row, Study, percent, run
from margin.linear import LogisticRegression
from margin.neural import CNNClassifier
from margin.representation import SimCLR
from margin.text import GloVe, MaskedLanguageModel, TextClassifier, Word2Vec

UNLABELED, JUDGED = 4_000, 5_000
ENCODER = ("conv 16 3", "pool 2", "conv 32 3", "pool 2")
TEMPERATURE, PASSES, WORD_PASSES, TEXT_PASSES, WIDTH = 0.1, 60, 20, 20, 64
HIDDEN = {
    "tokens": "bpe",
    "vocab_size": 2000,
    "d_model": 64,
    "n_heads": 4,
    "n_blocks": 2,
    "context": 64,
    "max_iter": 30,
}
STARTS = {"messages": "Word2Vec", "sentences": "Word2Vec", "messages by GloVe": "GloVe",
          "messages by hidden tokens": "MaskedLanguageModel"}  # fmt: skip
CASES = {"mnist": (50, 200), **dict.fromkeys(STARTS, (50, 200))}


@cache
def encoder_of_digits() -> SimCLR:
    model = SimCLR(ENCODER, temperature=TEMPERATURE, max_iter=PASSES, n_iter_no_change=PASSES, random_state=0)
    return model.fit(mnist(UNLABELED).X)


@cache
def texts_of(data: str) -> tuple[list[str], np.ndarray, int]:
    """Texts in a fixed random order, their classes, and how many are for training."""
    folder = Path(os.environ["MARGIN_DATA"]) / "text"
    if data == "messages":
        lines = (line.rstrip("\n").split("\t", 1) for line in (folder / "sms.tsv").open(encoding="utf-8"))
        pairs = [(parts[1].lower(), parts[0]) for parts in lines if len(parts) == 2]
    else:
        pairs = []
        with ZipFile(folder / "sentence_polarity.zip") as packed:
            for name in ("pos", "neg"):
                with packed.open(f"sentence_polarity/rt-polarity.{name}") as file:
                    pairs += [(line.strip(), name) for line in TextIOWrapper(file, "latin-1") if line.strip()]
    order = np.random.default_rng(0).permutation(len(pairs))
    texts, y = [pairs[i][0] for i in order], np.array([pairs[i][1] for i in order])
    return texts, y, 3 * len(texts) // 4


@cache
def start_of(data: str) -> Any:
    """What is learned from the training texts without their classes."""
    texts, _, n = texts_of(data.split(" by ")[0])
    makers = {
        "Word2Vec": lambda: Word2Vec(WIDTH, max_iter=WORD_PASSES, random_state=0),
        "GloVe": lambda: GloVe(WIDTH, max_iter=WORD_PASSES, random_state=0),
        "MaskedLanguageModel": lambda: MaskedLanguageModel(**HIDDEN, random_state=0),
    }
    return makers[STARTS[data]]().fit(texts[:n])


def images(labels: int, seed: int) -> Row:
    digits, rng = mnist(UNLABELED), np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(np.flatnonzero(digits.y == c), labels // 10, replace=False) for c in range(10)])
    X, y, X_test, y_test = digits.X[chosen], digits.y[chosen], digits.X_test[:JUDGED], digits.y_test[:JUDGED]
    flat, flat_test = (part.reshape(len(part), -1) / 255 for part in (X, X_test))
    start = encoder_of_digits()
    network: dict[str, Any] = {"max_iter": 60, "random_state": seed}
    scratch = CNNClassifier([*ENCODER, f"dense {start.n_components}"], **network)
    codes, codes_test = (start.transform(part).astype(float) for part in (X, X_test))
    return {
        "logistic regression": LogisticRegression().fit(flat, y).score(flat_test, y_test),
        "from random weights": scratch.fit(X, y).score(X_test, y_test),
        "probe": LogisticRegression(C=10).fit(codes, y).score(codes_test, y_test),
        "frozen": CNNClassifier.from_encoder(start, freeze="encoder", **network).fit(X, y).score(X_test, y_test),
        "fine-tuned": CNNClassifier.from_encoder(start, **network).fit(X, y).score(X_test, y_test),
    }


def texts(data: str, labels: int, seed: int) -> Row:
    given, classes, n = texts_of(data.split(" by ")[0])
    chosen = np.random.default_rng(seed).choice(n, labels, replace=False)
    X, y, X_test, y_test = [given[i] for i in chosen], classes[chosen], given[n:], classes[n:]
    tfidf = TfidfVectorizer()
    start = start_of(data)
    return {
        "logistic regression": LogisticRegression()
        .fit(tfidf.fit_transform(X), y)
        .score(tfidf.transform(X_test), y_test),
        "from random weights": TextClassifier(max_iter=TEXT_PASSES, random_state=seed).fit(X, y).score(X_test, y_test),
        "frozen": TextClassifier.from_encoder(start, freeze="encoder", random_state=seed)
        .fit(X, y)
        .score(X_test, y_test),
        "fine-tuned": TextClassifier.from_encoder(start, random_state=seed).fit(X, y).score(X_test, y_test),
    }


def few(data: str, labels: int, seed: int) -> Row:
    scores = images(labels, seed) if data == "mnist" else texts(data, labels, seed)
    return {name: round(float(score), 4) for name, score in scores.items()}


def conclude(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for data, sizes in CASES.items():
        for labels in sizes:
            some = [row for row in rows if (row["data"], row["labels"]) == (data, labels)]
            if not some:
                continue
            ways = [name for name in some[0] if name not in ("data", "labels", "seed")]
            mean = {way: float(np.mean([row[way] for row in some])) for way in ways}
            told = "; ".join(f"{way} {percent([row[way] for row in some])}" for way in ways)
            best = max(mean[way] for way in ways if way in ("frozen", "fine-tuned"))
            without = max(mean["from random weights"], mean["logistic regression"])
            goal = "a start from unlabeled data above both without it" if data != "sentences" else ""
            findings.append(Finding(f"{data}, {labels} labels: accuracy", told, goal, best > without if goal else None))
    return findings


STUDY = Study(
    "few-label-starts",
    "Weights learned without labels, where labels are few",
    " ".join((__doc__ or "").partition("\n\n")[2].split()),
    "MARGIN_DATA=... python -m benchmarks.studies.few_label_starts",
    conclude,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.few_label_starts", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", default=",".join(CASES), help="one or several, separated by commas")
    parser.add_argument("--again", action="store_true", help="Forget what was measured before.")
    options = parser.parse_args()
    cases = [
        {"data": data, "labels": labels, "seed": seed}
        for data in options.data.split(",")
        for labels in CASES[data]
        for seed in range(options.seeds)
    ]
    run(STUDY, cases, few, again=options.again)


if __name__ == "__main__":
    main()
