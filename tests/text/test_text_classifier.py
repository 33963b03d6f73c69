"""Texts of any length as batches, the four networks against sums by hand, and the classifier on strings."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch import nn

import margin
from margin.neural.nets.text import TEXT_ARCHITECTURES, TextNetwork, mean_of_tokens
from margin.neural.training.ragged import LengthBatches, RaggedRows, flat_sequences
from margin.text import TextClassifier
from margin.text.network_estimator import hide_at_random
from margin.text.terms import UNKNOWN, TermCodes
from margin.text.texts import read_text, text_rows

GOOD, BAD = ["fine", "warm", "bright", "clever"], ["dull", "cold", "gray", "silly"]
SMALL = {"d_model": 8, "hidden_size": 8, "n_filters": 8, "n_heads": 2, "max_iter": 6, "learning_rate_init": 0.01}


def reviews(seed, n=120):
    """A few neutral words around one that decides."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    neutral = ["the", "film", "was", "and", "story"]
    words = [[*rng.choice(neutral, rng.integers(1, 6)), rng.choice((BAD, GOOD)[label])] for label in y]
    return [" ".join(rng.permutation(some)) for some in words], np.array(["bad", "good"])[y]


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_is_its_rows_padded(seed):
    rng = np.random.default_rng(seed)
    sequences = [rng.integers(1, 50, size=rng.integers(1, 9)).tolist() for _ in range(40)]
    tokens, starts = flat_sequences(sequences)
    rows = RaggedRows.of([tokens, 2 * tokens], starts, np.arange(40), weight=rng.uniform(1, 2, 40))
    some = rows.take(torch.tensor([5, 3, 8, 39]))
    for taken, index in ((rows, [7, 0, 39, 7]), (some, [2, 0])):
        expected = [sequences[i] for i in (index if taken is rows else [8, 5])]
        ids, doubled, numbers = taken.batch(torch.tensor(index)).tensors
        assert ids.shape[1] == max(map(len, expected))
        for row, other, sequence in zip(ids.tolist(), doubled.tolist(), expected):
            assert row == sequence + [0] * (len(row) - len(sequence))
            assert other == [2 * token for token in row]
        assert numbers.tolist() == (index if taken is rows else [8, 5])


def test_chunks_are_all_rows_in_order_and_bounded(monkeypatch):
    monkeypatch.setattr("margin.neural.training.ragged.PADDED_TOKENS", 12)
    tokens, starts = flat_sequences([[1] * length for length in (1, 2, 3, 12, 1, 1, 5, 20)])
    parts = list(RaggedRows.of([tokens], starts, np.arange(8)).chunks(100))
    assert torch.cat([part.tensors[1] for part in parts]).tolist() == list(range(8))
    assert all(part.tensors[0].numel() <= 12 or len(part.tensors[0]) == 1 for part in parts)


def test_batches_of_like_length_visit_every_row_once_and_continue():
    rng = np.random.default_rng(0)
    tokens, starts = flat_sequences([[1] * length for length in rng.integers(1, 100, size=101)])
    rows = RaggedRows.of([tokens], starts, np.arange(101))
    batches = LengthBatches(rows, 8, seed=3)
    first = [batches.draw() for _ in range(5)]
    again = LengthBatches(rows, 8, seed=9)
    again.load_state(batches.state())
    rest, same = ([source.draw() for _ in range(8)] for source in (batches, again))
    assert sorted(torch.cat([part.tensors[1] for part in first + rest]).tolist()) == list(range(101))
    assert [len(part.tensors[1]) for part in first + rest] == [8] * 12 + [5]
    for a, b in zip(rest, same):
        torch.testing.assert_close(a.tensors[1], b.tensors[1], rtol=0, atol=0)
    padded = sum(part.tensors[0].numel() for part in first + rest)
    assert padded < 1.3 * starts[-1], "a batch of rows in random order would be nearly half padding"
    assert batches.draw().tensors[1].tolist() != first[0].tensors[1].tolist(), "every pass has an order of its own"


@pytest.mark.parametrize("architecture", TEXT_ARCHITECTURES)
def test_padding_changes_nothing(architecture):
    torch.manual_seed(0)
    net = TextNetwork(20, 3, architecture, d_model=8, n_heads=2, n_layers=2, hidden_size=5, kernel_sizes=(2, 3)).eval()
    long, short = torch.tensor([4, 9, 1, 7, 3]), torch.tensor([6, 2])
    both = net(nn.utils.rnn.pad_sequence([long, short], batch_first=True))
    torch.testing.assert_close(both, torch.cat([net(long[None]), net(short[None])]), rtol=1e-5, atol=1e-6)


def test_bag_of_words_and_filters_by_hand():
    torch.manual_seed(0)
    ids = torch.tensor([[4, 9, 1]])
    bag = TextNetwork(20, 2, "bag-of-words", d_model=6)
    vectors = bag.encoder.embedding.weight[ids[0]]
    rarity = torch.linspace(1.0, 3.0, 20)
    bag.set_rarity(rarity)
    weights = rarity[ids[0]] / torch.linalg.vector_norm(rarity[ids[0]])
    torch.testing.assert_close(bag(ids)[0], bag.head.weight @ (0.3 * weights @ vectors) + bag.head.bias)
    cnn = TextNetwork(20, 2, "cnn", d_model=6, kernel_sizes=(3,), n_filters=4)
    x = torch.cat([torch.zeros(1, 6), cnn.encoder.embedding.weight[ids[0]], torch.zeros(1, 6)])
    layer = cnn.encoder.filters[0]
    responses = [torch.einsum("fdk,kd->f", layer.weight, x[t : t + 3]) + layer.bias for t in range(3)]
    best = torch.stack(responses).amax(dim=0).clamp(min=0)
    torch.testing.assert_close(cnn(ids)[0], cnn.head.weight @ best + cnn.head.bias)
    torch.testing.assert_close(
        mean_of_tokens(torch.eye(3)[None], torch.tensor([[True, False, True]]))[0], torch.tensor([0.5, 0, 0.5])
    )


def test_order_matters_to_all_but_the_bag():
    torch.manual_seed(0)
    forth, back = torch.tensor([[4, 9, 1]]), torch.tensor([[1, 9, 4]])
    for architecture in TEXT_ARCHITECTURES:
        net = TextNetwork(20, 2, architecture, d_model=8, n_heads=2).eval()
        assert torch.allclose(net(forth), net(back), atol=1e-6) == (architecture == "bag-of-words")


def test_terms():
    codes = TermCodes.learn(["a b a", "b c"], "word", longest_run=2)
    assert codes.vocabulary == ["a", "b", "a\x1fb", "b\x1fa", "b\x1fc", "c"]
    assert codes.encode("B A d b") == [3, 2, UNKNOWN, 3, 5]
    assert TermCodes(codes.vocabulary, **codes.reading()).encode("c b a") == codes.encode("c b a")
    assert TermCodes.learn(["Aab"], "char", lowercase=False, max_length=2).vocabulary == ["A", "a"]
    assert TermCodes.learn(["a b b", "c"], "word", min_count=2).vocabulary == ["b"]
    pairs = TermCodes.learn(["low lower"] * 5, "bpe", bpe_size=258)
    assert "".join(pairs.tokens("lower")) == "lower"
    assert len(pairs.tokens("low")) == 1


def test_tokens_are_hidden_as_often_as_asked_and_padding_never():
    ids = torch.full((50, 100), 7)
    ids[:, 60:] = 0
    hidden = hide_at_random(ids, 0.2, torch.Generator().manual_seed(0))
    assert (hidden[:, 60:] == 0).all()
    assert float((hidden[:, :60] == UNKNOWN).double().mean()) == pytest.approx(0.2, abs=0.03)
    assert hide_at_random(ids, 0.0, torch.Generator()) is ids


@pytest.mark.parametrize("architecture", TEXT_ARCHITECTURES)
def test_every_network_learns_which_words_decide(architecture, tmp_path):
    X, y = reviews(0)
    new, truth = reviews(1)
    model = TextClassifier(architecture, **SMALL, random_state=0).fit(X, y)
    assert model.score(new, truth) > 0.9
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert ((p > 0) & (p < 1)).all()
    (token, owed), *_ = model.influential_tokens("the film was clever and the story was the story", n=3)
    assert token == "clever"
    assert owed > 0
    margin.save(model, tmp_path / "model.safetensors")
    again = margin.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(new), p)
    records = list(clone(model).iterate(X, y))
    assert records[-1]["train_loss"] < records[0]["train_loss"]


@pytest.mark.parametrize("tokens", ["char", "bpe"])
def test_other_tokens(tokens, tmp_path):
    X, y = reviews(0)
    model = TextClassifier("cnn", tokens=tokens, bpe_size=300, **{**SMALL, "max_iter": 10}, random_state=0).fit(X, y)
    assert model.score(*reviews(1)) > 0.8
    margin.save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "model.safetensors").predict(X), model.predict(X))


def test_weights_warm_starts_and_held_out_texts():
    X, y = reviews(0)
    heavy = TextClassifier(**SMALL, random_state=0).fit(X, y, sample_weight=np.where(y == "good", 1.0, 0.0))
    assert heavy.classes_.tolist() == ["good"]
    model = TextClassifier(**SMALL, random_state=0, warm_start=True).fit(X, y)
    loss, epochs = model.loss_, model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ == epochs, "those of the last fit"
    assert len(model.loss_curve_) == 2 * epochs
    assert model.loss_ < loss
    with pytest.raises(ValueError, match="warm_start must go on with the network of the last fit, whose d_model is 8"):
        model.set_params(d_model=16).fit(X, y)
    stopped = TextClassifier(**SMALL, random_state=0, early_stopping=True).fit(X, y)
    assert len(stopped.validation_scores_) == stopped.n_iter_


def test_scikit_learn_takes_it():
    X, y = reviews(0, 60)
    model = TextClassifier(**{**SMALL, "max_iter": 15}, random_state=0)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.8
    search = GridSearchCV(model, {"architecture": ["bag-of-words", "cnn"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.7
    best = clone(search.best_estimator_).fit(pd.DataFrame({"review": X}), y)
    for same in (X, pd.Series(X), np.array(X), np.array(X)[:, None]):
        np.testing.assert_array_equal(best.predict_proba(same), search.predict_proba(X))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("one string", "X must be a sequence of strings, one for each text; got a single one"),
        (["good", 3.5], "X must be strings only; text 1 is float"),
        (["good", b"bad"], "X must be strings only; text 1 is bytes"),
        (["good", None], "X must be strings only; text 1 is NoneType"),
        (["good", "caf\udce9"], "X must be valid Unicode; text 1 has a lone surrogate at position 3"),
        ([], "X must have at least one text; got none"),
        (7, "X must be a sequence of texts; got int"),
        (np.array([["a", "b"], ["c", "d"]]), "X must be one column of strings; got 2 columns"),
    ],
)
def test_bad_texts_are_one_sentence(X, message):
    fitted = TextClassifier(max_iter=1, d_model=4, random_state=0).fit(["good", "bad"] * 4, [1, 0] * 4)
    for ask in (fitted.predict, lambda X: TextClassifier().fit(X, [0, 1])):
        with pytest.raises(ValueError, match=f"^TextClassifier: {message}.$"):
            ask(X)


def test_texts_without_tokens_do_not_end_a_batch():
    X, y = ["good film", "bad film"] * 4, [1, 0] * 4
    model = TextClassifier(max_iter=1, d_model=4, random_state=0).fit(X, y)
    alone = model.predict_proba(["good"])
    with pytest.warns(UserWarning, match="2 of 3 texts have no token that fit has seen, the first is text 1"):
        p = model.predict_proba(["good", "", " \n"])
    np.testing.assert_allclose(p[0], alone[0], atol=1e-6)
    np.testing.assert_allclose(p[1], p[2], atol=1e-6)
    with pytest.warns(UserWarning, match="1 of 9 texts have no token, the first is text 8; they are learned from as"):
        again = TextClassifier(max_iter=1, d_model=4, random_state=0).fit([*X, ""], [*y, 1])
    assert again.vocabulary_ == model.vocabulary_
    with pytest.raises(ValueError, match=r"^TextClassifier: X must have tokens in some text; text 0 is ''\.$"):
        TextClassifier().fit(["", " "], [0, 1])
    with pytest.raises(ValueError, match=r"^TextClassifier: text must have tokens; got ''\.$"):
        model.influential_tokens("")


def test_texts_of_unknown_tokens_are_told_and_answered():
    model = TextClassifier(max_iter=1, d_model=4, random_state=0).fit(["good film", "bad film"] * 4, [1, 0] * 4)
    with pytest.warns(UserWarning, match="1 of 2 texts have no token that fit has seen, the first is text 1"):
        p = model.predict_proba(["good", "日本語"])
    assert np.isfinite(p).all()


def test_the_transformer_says_what_its_width_must_be():
    with pytest.raises(ValueError, match="d_model must be a multiple of 2 n_heads = 8 in 'transformer'; got 12"):
        TextClassifier("transformer", d_model=12).fit(["a", "b"], [0, 1])


def test_texts_longer_than_the_limit_are_cut():
    X, y = reviews(0)
    model = TextClassifier(**SMALL, max_length=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(["the film was dull"]), model.predict_proba(["the film was clever"])
    )


def test_files_that_are_no_utf8_are_refused_with_the_position(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("caf\u00e9\nna\u00efve ".encode() + b"\xff end")
    with pytest.raises(ValueError, match=r"must be UTF-8; byte 0xff at position 13 \(line 2\) is not"):
        read_text(path)
    path.write_bytes(b"\xef\xbb\xbfgood")
    assert read_text(path) == "good"
    assert text_rows("Model", np.array(["a", "b"])) == ["a", "b"]


def long_texts(n, seed):
    """150 words of each text are drawn by Zipf's law, but for three rare ones that hint at its class."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, 801)
    texts, labels = [], rng.integers(0, 3, n)
    for label in labels:
        words = [f"w{i}" for i in rng.choice(800, 150, p=common / common.sum())]
        hints = [f"h{label}{i}" if rng.random() < 0.8 else f"h{rng.integers(3)}{i}" for i in rng.integers(0, 40, 3)]
        for hint in hints:
            words[rng.integers(150)] = hint
        texts.append(" ".join(words))
    return np.array(texts, dtype=object), labels


def test_rare_words_of_long_texts_are_heard():
    texts, labels = long_texts(900, seed=6)
    model = TextClassifier(random_state=0).fit(texts[:450], labels[:450])
    assert model.score(texts[450:], labels[450:]) > 0.55, "a mean of all words has 0.49, chance 0.33"
