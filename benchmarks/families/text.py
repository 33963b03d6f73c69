"""Text against its peers: byte pairs (tokenizers, tiktoken), word2vec (gensim), topics (also tomotopy), classes.

Chains and generation are in :mod:`benchmarks.families.text_sequences`.

Byte pairs and word vectors are learned from tinyshakespeare where ``MARGIN_DATA`` leads to it, else from drawn prose;
spam and polarity are real and take part only there.
"""

from __future__ import annotations

import gzip
import itertools
import os
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks.families import text_sequences
from benchmarks.measuring.harness import Case, Peer
from margin.text import BytePairTokenizer, TextClassifier, Word2Vec
from margin.text.topics import document_posterior, draw_documents

__all__ = ["cases"]

VOCABULARY = 4000


def cases(quick: bool) -> list[Case]:
    """The cases."""
    listed = [_bpe_training(quick), _bpe_encoding(quick), _bpe_encoding(quick, mixed=True), _word2vec(quick)]
    listed += [_topics(100 if quick else 2000), *text_sequences.cases(quick)]
    if os.environ.get("MARGIN_DATA"):
        listed += [
            _classes(name, read, quick, model)
            for name, read in (("SMS spam", _spam), ("sentence polarity", _polarity))
            for model in ("naive Bayes", "logistic regression")
        ]
    return listed


def _prose(quick: bool) -> str:
    path = Path(os.environ.get("MARGIN_DATA", "")) / "tinyshakespeare" / "input.txt"
    if os.environ.get("MARGIN_DATA") and path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        rng = np.random.default_rng(0)
        words = np.array(["".join(rng.choice(list("etaoinshrdlu"), rng.integers(2, 9))) for _ in range(8000)])
        p = 1 / np.arange(1, len(words) + 1)
        text = "\n".join(" ".join(rng.choice(words, 12, p=p / p.sum())) for _ in range(15_000))
    return text[: len(text) // 10] if quick else text


def _bytes_per_token(text: str, encode: Any) -> float:
    return len(text.encode()) / len(encode(text))


def _bpe_training(quick: bool) -> Case:
    def theirs(text: str) -> Any:
        tokenizer = _hugging_face()
        from tokenizers.pre_tokenizers import ByteLevel
        from tokenizers.trainers import BpeTrainer

        trainer = BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=ByteLevel.alphabet(), show_progress=False)
        tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
        return lambda text: tokenizer.encode(text).ids

    return Case(
        "byte pairs, training",
        f"{VOCABULARY} tokens",
        partial(_prose, quick),
        lambda text: BytePairTokenizer.train(text.splitlines(keepends=True), VOCABULARY).encode,
        (Peer("tokenizers", "tokenizers", theirs),),
        _bytes_per_token,
        "bytes per token",
    )


def _hugging_face(path: str | None = None) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    if path is not None:
        return Tokenizer.from_str(path)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


MIXED = (
    "Zwei junge Männer im Freien. Ελληνικά κείμενα, русский язык, 日本語の文章、한국어 문장, हिन्दी, العربية, "
    "ไทย 🦉👩‍👩‍👧‍👦 😀😀\n"
    "def f(x_1, y2):\n\treturn x_1**2 + y2  # x²+y, ½ of Ⅷ\r\n\x00\x01\x1c\x7f\x85\xa0\u2003\u3000\u200b end's\n"
)


def _bpe_encoding(quick: bool, mixed: bool = False) -> Case:
    """Every way encodes with the same merges; reading them is not timed."""

    def data() -> dict[str, Any]:
        text = _mixed_text(quick) if mixed else _prose(quick)
        ours = BytePairTokenizer.train(text.splitlines(keepends=True), VOCABULARY)
        return {"text": text, "ours": ours, "ids": ours.encode(text), "peers": {}}

    def hugging_face(d: dict[str, Any]) -> list[int]:
        if "tokenizers" not in d["peers"]:
            d["peers"]["tokenizers"] = _hugging_face(d["ours"].to_json())
        ids: list[int] = d["peers"]["tokenizers"].encode(d["text"]).ids
        return ids

    def tiktoken(d: dict[str, Any]) -> list[int]:
        from tiktoken import Encoding

        if "tiktoken" not in d["peers"]:
            ranks = {d["ours"].token_bytes(i): i for i in range(d["ours"].vocab_size)}
            pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
            d["peers"]["tiktoken"] = Encoding("ours", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        ids: list[int] = d["peers"]["tiktoken"].encode_ordinary(d["text"])
        return ids

    return Case(
        "byte pairs, encoding" + (" of many scripts, emoji, code, control bytes" if mixed else ""),
        f"{VOCABULARY} tokens",
        data,
        lambda d: d["ours"].encode(d["text"]),
        (Peer("tokenizers", "tokenizers", hugging_face), Peer("tiktoken", "tiktoken", tiktoken)),
        lambda d, ids: len(d["text"].encode()) / len(ids),
        "bytes per token",
        remark=lambda d, ids: "the same ids" if ids == d["ids"] else "other ids",
    )


def _mixed_text(quick: bool) -> str:
    """Lines of many scripts between German and English ones."""
    folder = Path(os.environ.get("MARGIN_DATA", "")) / "multi30k"
    lines = _prose(True).splitlines(keepends=True)
    if os.environ.get("MARGIN_DATA") and folder.exists():
        packed = [(folder / f"train.{part}.gz").read_bytes() for part in ("de", "en")]
        lines = [line for part in packed for line in gzip.decompress(part).decode().splitlines(keepends=True)]
    rng = np.random.default_rng(0)
    rng.shuffle(lines)
    characters = [MIXED[i : i + 40] for i in range(0, len(MIXED), 7)]
    some = lines[: 500 if quick else 12_000]
    return "".join(line + str(rng.choice(characters)) for line in some)


def _word2vec(quick: bool) -> Case:
    options = {"vector_size": 100, "window": 5, "negative": 5, "sample": 1e-3, "min_count": 5}
    passes = 2 if quick else 5

    def theirs(sentences: list[list[str]]) -> Any:
        from gensim.models import Word2Vec as Reference

        model = Reference(sentences, sg=1, epochs=passes, workers=1, seed=0, **options)  # type: ignore[arg-type]
        return model.wv.index_to_key, model.wv.vectors

    def ours(sentences: list[list[str]]) -> Any:
        model = Word2Vec(**options, max_iter=passes, random_state=0).fit(sentences)  # type: ignore[arg-type]
        return model.vocabulary_, model.vectors_

    return Case(
        f"word2vec, skip-gram, {passes} passes",
        "100 wide",
        lambda: [line.lower().split() for line in _prose(quick).splitlines() if line.strip()],
        ours,
        (Peer("gensim", "gensim", theirs),),
        _neighbors_are_nearer,
        "how often a neighbor is nearer than a drawn word",
        rounds=2,
    )


def _neighbors_are_nearer(sentences: list[list[str]], found: Any) -> float:
    """Fraction of neighboring words whose cosine is above that of the first with a word drawn by frequency."""
    words, vectors = found
    position = {word: i for i, word in enumerate(words)}
    kept = [[position[w] for w in sentence if w in position] for sentence in sentences]
    pairs = np.array([pair for sentence in kept for pair in itertools.pairwise(sentence)])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    drawn = np.random.default_rng(0).permutation(pairs[:, 1])
    near, far = ((unit[pairs[:, 0]] * unit[other]).sum(axis=1) for other in (pairs[:, 1], drawn))
    return float((near > far).mean() + (near == far).mean() / 2)


def _topics(n: int) -> Case:
    def data() -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        rng = np.random.default_rng(0)
        topics = rng.dirichlet(np.full(2000, 0.05), size=20)
        X, _ = draw_documents(rng, topics, n + n // 4, 100, 0.1)
        X = sparse.csr_matrix(X)
        return X[:n], X[n:]

    def fit(module: str, X: tuple[Any, Any], method: str = "batch", passes: int = 20) -> np.ndarray:
        cls = __import__(module, fromlist=["x"]).LatentDirichletAllocation
        return np.asarray(cls(20, max_iter=passes, learning_method=method, random_state=0).fit(X[0]).components_)

    return Case(
        "latent Dirichlet allocation, 20 topics",
        f"{n} x 2000",
        data,
        partial(fit, "margin.text", method="gibbs", passes=150),
        (
            Peer("margin, variational", "margin", partial(fit, "margin.text")),
            Peer("scikit-learn", "sklearn", partial(fit, "sklearn.decomposition")),
            Peer("gensim", "gensim", _gensim_topics),
            Peer("tomotopy", "tomotopy", _tomotopy_topics),
        ),
        _held_out_perplexity,
        "perplexity of new documents, judged alike",
        rounds=1,
        memory=False,
    )


def _gensim_topics(X: tuple[Any, Any]) -> np.ndarray:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus = Sparse2Corpus(X[0], documents_columns=False)
    words = {i: str(i) for i in range(X[0].shape[1])}
    model = LdaModel(corpus, 20, id2word=words, passes=20, random_state=0, eval_every=None)
    return np.asarray(model.state.get_lambda())


def _tomotopy_topics(X: tuple[Any, Any]) -> np.ndarray:
    import tomotopy

    model = tomotopy.LDAModel(k=20, alpha=1 / 20, eta=1 / 20, seed=0)
    for row in X[0]:
        model.add_doc([str(word) for word in np.repeat(row.indices, row.data.astype(int))])
    model.train(200, workers=1)
    columns = [int(word) for word in model.used_vocabs]
    topics = np.full((20, X[0].shape[1]), 1e-9)
    topics[:, columns] = [model.get_topic_word_dist(k) for k in range(20)]
    return topics * X[0].sum() / 20


def _held_out_perplexity(X: tuple[Any, Any], topics: np.ndarray) -> float:
    """Half of each new document tells its topics by the same inference for everyone, the other half is predicted."""
    rng = np.random.default_rng(1)
    seen = X[1].copy()
    seen.data = rng.binomial(seen.data.astype(int), 0.5).astype(float)
    hidden = X[1] - seen
    gamma, _ = document_posterior(sparse.csr_matrix(seen), np.maximum(topics, 1e-9), 1 / 20)
    proportions = gamma / gamma.sum(axis=1, keepdims=True)
    p = proportions @ (topics / topics.sum(axis=1, keepdims=True))
    rows, columns = hidden.nonzero()
    counts = np.asarray(hidden[rows, columns]).ravel()
    return float(np.exp(-(counts * np.log(p[rows, columns])).sum() / counts.sum()))


def _spam() -> tuple[list[str], np.ndarray]:
    lines = (Path(os.environ["MARGIN_DATA"]) / "text" / "sms.tsv").read_text(encoding="utf-8").splitlines()
    label, text = zip(*(line.split("\t", 1) for line in lines if "\t" in line), strict=True)
    return list(text), np.array(label)


def _polarity() -> tuple[list[str], np.ndarray]:
    texts: list[str] = []
    labels: list[str] = []
    with zipfile.ZipFile(Path(os.environ["MARGIN_DATA"]) / "text" / "sentence_polarity.zip") as archive:
        for kind in ("neg", "pos"):
            content = archive.read(f"sentence_polarity/rt-polarity.{kind}").decode("latin-1")
            some = [line for line in content.splitlines() if line.strip()]
            texts, labels = texts + some, labels + [kind] * len(some)
    return texts, np.array(labels)


def _classes(name: str, read: Any, quick: bool, model: str) -> Case:
    def data() -> dict[str, Any]:
        texts, y = read()
        order = np.random.default_rng(0).permutation(len(y))[: 1500 if quick else None]
        train, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
        return {"X": [texts[i] for i in train], "y": y[train], "new": [texts[i] for i in test], "truth": y[test]}

    peers = {"naive Bayes": MultinomialNB(), "logistic regression": LogisticRegression(C=3.0, max_iter=200)}

    def theirs(d: dict[str, Any]) -> Any:
        vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        return make_pipeline(vectors, peers[model]).fit(d["X"], d["y"])

    return Case(
        f"{name}: bag of words against tf-idf and {model}",
        "3/4 of the texts",
        data,
        lambda d: TextClassifier("bag-of-words", random_state=0).fit(d["X"], d["y"]),
        (Peer("scikit-learn", "sklearn", theirs),),
        lambda d, fitted: float(fitted.score(d["new"], d["truth"])),
        "accuracy on new texts",
        rounds=1,
    )
