"""Degenerate data for every deep model that learns from anything but rows of numbers, and for images of one pixel:
finite answers, or one sentence of what is wrong. Rows of numbers have test_extreme_values and scikit-learn's checks."""

import dataclasses
import re
import warnings

import numpy as np
import pytest
from problems import OUTPUTS, as_array, build, ids, is_table, problem, uses_torch

from margin import catalog
from margin.data.boxes import Boxes
from margin.graphs import Graph
from margin.neural.training.loop import TrainingDiverged

DEEP = [entry for entry in catalog.ENTRIES if uses_torch(entry)]
# scikit-learn's own words for rows that are not finite, or none at all, which its checks ask for.
OF_SCIKIT_LEARN = r"Input X contains (NaN|infinity).*|Found array with \d (sample|feature)\(s\) .* is required by \w+\."


def first(values, n):
    return None if values is None else values[:n]


def of_tables(entry, X, y):
    X, y = X[:24], first(y, 24)
    yield "equal rows", np.ones_like(X), y
    yield "a constant column", np.c_[np.ones(len(X)), X], y
    yield "one column", X[:, :1], y
    yield "one row", X[:1], first(y, 1)
    yield "two rows", X[:2], first(y, 2)
    yield "no row", X[:0], first(y, 0)
    yield "tiny", X * 1e-30, y
    yield "huge", X * 1e30, y
    if y is not None:
        yield "one target", X, np.zeros_like(y)
    if entry.data == "images":
        yield "one pixel", X[:, :1].reshape(-1, 1, 1, 1), y


def of_texts(entry, X, y):
    pairs = entry.task in ("tagging", "translation")
    yield "empty texts", [""] * len(X), [""] * len(X) if pairs else y
    yield "one empty text", ["", *X[1:]], ["", *y[1:]] if pairs else y
    yield "one text", X[:1], first(y, 1)
    yield "no text", [], None if y is None else []
    yield "single words", [text.split()[0] for text in X], [text.split()[0] for text in y] if pairs else y
    yield "one letter", ["a"] * len(X), ["b"] * len(X) if pairs else y
    yield "half a character", [f"\ud800{text}" for text in X], y
    yield "no string", [None, *X[1:]], y
    if entry.task == "classification":
        yield "one class", X, np.zeros(len(X), dtype=int)
    if entry.task == "translation":
        yield "nothing to say", X, [""] * len(X)


def of_pictures(entry, X, y):
    yield "black", X * 0.0, y
    yield "tiny", X * 1e-30, y
    yield "huge", X * 1e30, y
    yield "NaN", np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X), y
    yield "infinity", np.where(np.arange(X.size).reshape(X.shape) == 7, np.inf, X), y
    yield "one picture", X[:1], y[:1]
    yield "no picture", X[:0], y[:0]
    if entry.task == "segmentation":
        yield "one pixel", X[:, :1, :1], y[:, :1, :1]
        yield "one class", X, np.zeros_like(y)
    elif entry.task == "detection":
        yield "one pixel", X[:, :1, :1], [Boxes(np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([0])) for _ in y]
        yield "no box", X, [Boxes(np.zeros((0, 4)), np.zeros(0, dtype=int)) for _ in y]
    else:
        yield "one pixel", X[:, :1, :1], y
        yield "empty captions", X, [""] * len(y)
        yield "equal captions", X, ["a"] * len(y)


def of_graphs(entry, X, y):
    several = isinstance(X, list)

    def each(change):
        return [change(graph) for graph in X] if several else change(X)

    yield "no edges", each(lambda g: dataclasses.replace(g, edges=np.zeros((2, 0), dtype=int))), y
    for name, factor in (("tiny", 1e-30), ("huge", 1e30), ("zeros", 0.0)):
        yield name, each(lambda g, factor=factor: dataclasses.replace(g, node_features=factor * g.node_features)), y
    if y is not None:
        yield "one target", X, np.zeros(len(y), dtype=int)
    if several:
        yield "one graph", X[:1], y[:1]
        yield "no graph", [], y[:0]
        yield "single nodes", each(lambda g: Graph(np.zeros((2, 0), dtype=int), g.node_features[:1])), y


def of_trajectories(entry, X, y):
    yield "standing still", np.ones_like(X), None
    yield "tiny", 1e-30 * X, None
    yield "huge", 1e30 * X, None
    yield "one trajectory", X[:1], None
    yield "two times", X[:, :2], None
    yield "one time", X[:, :1], None
    yield "no trajectory", X[:0], None
    yield "NaN", np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X), None


def degenerate(entry):
    X, y = problem(entry)
    if is_table(X):
        return of_tables(entry, X, y)
    if entry.data == "text":
        return of_texts(entry, X, y)
    if entry.data == "graph":
        return of_graphs(entry, X, y)
    if entry.task in ("detection", "segmentation", "retrieval"):
        return of_pictures(entry, X, y)
    assert entry.name == "neural-ode"
    return of_trajectories(entry, X, y)


def assert_is_a_sentence(refusal, where):
    text = str(refusal)
    assert isinstance(refusal, ValueError | TypeError | TrainingDiverged), (where, refusal)
    ours = re.fullmatch(r"[A-Z]\w+(\.\w+)?: [^\n]{20,}\.", text) is not None
    assert ours or re.fullmatch(OF_SCIKIT_LEARN, text, flags=re.DOTALL), (where, text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", DEEP, ids=ids)
def test_degenerate_data_give_finite_answers_or_a_sentence(entry):
    for where, X, y in degenerate(entry):
        model = build(entry)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                model.fit(X) if y is None else model.fit(X, y)
                said = {name: as_array(getattr(model, name)(X)) for name in OUTPUTS if hasattr(model, name)}
                if callable(getattr(model, "sample", None)):
                    said["sample"] = np.asarray(model.sample(3, random_state=1))
            except Exception as refusal:
                assert_is_a_sentence(refusal, where)
                continue
        for name, values in said.items():
            assert values.dtype.kind not in "fc" or np.isfinite(values).all(), (where, name)
