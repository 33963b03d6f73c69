"""ID3 against a recursion on dictionaries, and what it does at the edges."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score

import margin
from margin.data import Table
from margin.trees import ID3, information_gain, play_tennis
from margin.trees.multiway.category_tree import class_fractions, depths, subtree


def recursion(X, y, left):
    """ID3 as a book writes it: a leaf is its class counts, a node (attribute, counts, branches)."""
    counts = Counter(y)
    left = [j for j in left if len({row[j] for row in X}) > 1]
    if len(counts) == 1 or not left:
        return counts
    gains = [round(information_gain(y, [row[j] for row in X]), 10) for j in left]
    best = left[int(np.argmax(gains))]
    branches = {}
    for value in {row[best] for row in X}:
        part = [i for i, row in enumerate(X) if row[best] == value]
        branches[value] = recursion([X[i] for i in part], [y[i] for i in part], [j for j in left if j != best])
    return best, counts, branches


def answer(tree, row):
    while not isinstance(tree, Counter):
        best, counts, branches = tree
        tree = branches.get(row[best], counts)
    return tree


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_the_same_answers_as_the_recursion(seed, n, p):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(3, size=(n, p)), rng.integers(3, size=n)
    tree = recursion(X.tolist(), y.tolist(), range(p))
    model = ID3().fit(X, y)
    new = rng.integers(4, size=(20, p))  # category 3 is never seen in training
    for row, shares in zip(new.tolist(), model.predict_proba(new)):
        counts = answer(tree, row)
        expected = [counts[c] / counts.total() for c in model.classes_.tolist()]
        np.testing.assert_allclose(shares, expected, atol=1e-12)


def test_no_column_is_asked_twice_on_a_path():
    rng = np.random.default_rng(0)
    tree = ID3().fit(rng.integers(3, size=(300, 5)), rng.integers(2, size=300)).tree_
    for node in range(len(tree["feature"])):
        path, above = [], node
        while above >= 0:
            path += [int(tree["feature"][above])] * bool(tree["feature"][above] >= 0)
            above = tree["parent"][above]
        assert len(set(path)) == len(path)


def test_numbers_of_nodes_grow_level_by_level_and_children_stand_together():
    rng = np.random.default_rng(1)
    tree = ID3().fit(rng.integers(4, size=(200, 4)), rng.integers(2, size=200)).tree_
    assert (np.diff(depths(tree)) >= 0).all()
    for node in np.flatnonzero(tree["n_children"]):
        first, count = tree["first_child"][node], tree["n_children"][node]
        assert (tree["parent"][first : first + count] == node).all()
        np.testing.assert_allclose(tree["value"][first : first + count].sum(axis=0), tree["value"][node])


def test_a_value_without_a_branch_gets_the_majority_of_the_parent():
    days, played = play_tennis()
    frame = days.to_pandas()
    model = ID3().fit(frame, played)
    snow = frame.iloc[:1].assign(outlook="snow")
    np.testing.assert_allclose(model.predict_proba(snow), [[5 / 14, 9 / 14]])
    fog = frame.iloc[:1].assign(humidity="fog")  # a sunny day: two of five were played
    np.testing.assert_allclose(model.predict_proba(fog), [[3 / 5, 2 / 5]])
    assert model.predict(fog) == ["no"]


def test_a_known_value_that_its_branch_never_met_is_an_empty_branch():
    X = [["a", "u"], ["a", "u"], ["a", "v"], ["b", "w"], ["b", "u"], ["b", "w"], ["b", "w"]]
    model = ID3().fit(X, [0, 0, 1, 1, 1, 1, 1])
    assert [int(j) for j in model.tree_["feature"][:2]] == [0, 1]
    np.testing.assert_allclose(model.predict_proba([["a", "w"]]), [[2 / 3, 1 / 3]])  # the counts of "a"


def test_exclusive_or_has_no_gain_and_is_learned_all_the_same():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert ID3().fit(X, y).score(X, y) == 1.0
    assert ID3(min_gain=1e-6).fit(X, y).get_n_leaves() == 1


def test_limits_act():
    rng = np.random.default_rng(0)
    X, y = rng.integers(3, size=(200, 5)), rng.integers(2, size=200)
    assert ID3(max_depth=2).fit(X, y).get_depth() == 2
    tree = ID3(min_samples_split=30).fit(X, y).tree_
    assert tree["value"].sum(axis=1)[tree["n_children"] > 0].min() >= 30
    gains = ID3(min_gain=0.05).fit(X[:40], y[:40]).tree_["gain"]
    assert gains[gains > 0].min() >= 0.05
    assert ID3(min_gain=0.05).fit(X, y).get_n_leaves() < ID3().fit(X, y).get_n_leaves()


def test_every_form_of_a_table_gives_the_same_tree():
    days, played = play_tennis()
    frame = days.to_pandas()
    cells = frame.to_numpy(dtype=object)
    forms = [days, frame, frame.astype("category"), frame.astype("string"), cells, cells.astype(str), cells.tolist()]
    codes = np.column_stack([np.unique(frame[name], return_inverse=True)[1] for name in frame])
    forms += [codes, codes.astype(float), codes.astype(np.int8), pd.DataFrame(codes)]
    first = ID3().fit(forms[0], played).tree_
    for form in forms:
        model = ID3().fit(form, played)
        for name in first:
            np.testing.assert_array_equal(model.tree_[name], first[name])
        assert (model.predict(form) == played).all()


def test_a_weight_of_k_is_k_rows_and_of_zero_none():
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(3, size=(60, 4)), rng.integers(3, size=60), rng.integers(0, 3, size=60)
    weighted = ID3().fit(X, y, weights)
    repeated = ID3().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for name in weighted.tree_:
        np.testing.assert_array_equal(weighted.tree_[name], repeated.tree_[name])


def test_resuming_on_a_table_of_words():
    days, played = play_tennis()
    model = ID3()
    steps = model.iterate(days, played)
    next(steps)
    assert model.get_n_leaves() == 3
    again = ID3()
    rest = [record.as_dict() for record in again.iterate(days, played, state=model.get_state())]
    assert rest == [record.as_dict() for record in steps]
    assert again.text() == model.text()


def test_a_pure_table_is_one_leaf_without_records():
    model = ID3()
    assert list(model.iterate([["a"], ["b"]], ["x", "x"])) == []
    assert model.text() == "x (2)"
    assert model.rules() == ["if true then x (2)"]


def test_saved_and_loaded(tmp_path):
    days, played = play_tennis()
    model = ID3().fit(days, played)
    margin.save(model, tmp_path / "tennis.safetensors")
    again = margin.load(tmp_path / "tennis.safetensors")
    assert again.text() == model.text()
    np.testing.assert_array_equal(again.predict(days), model.predict(days))


def test_cutting_a_node_makes_it_answer_itself():
    days, played = play_tennis()
    model = ID3().fit(days, played)
    cut = np.zeros(len(model.tree_["feature"]), dtype=bool)
    cut[3] = True  # the sunny days
    pruned = subtree(model.tree_, cut)
    assert np.count_nonzero(pruned["n_children"] == 0) == 4
    sunny = np.array([[2.0, 0, 0, 0]])
    np.testing.assert_allclose(class_fractions(pruned, sunny), [[3 / 5, 2 / 5]])
    rain = np.array([[1.0, 0, 0, 0]])
    np.testing.assert_allclose(class_fractions(pruned, rain), class_fractions(model.tree_, rain))


def test_cross_validation_on_a_frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 120), "b": rng.choice(["u", "v", "w"], 120)})
    y = (frame["a"] == "x") & (frame["b"] != "u")
    assert cross_val_score(ID3(), frame, y, cv=3).min() == 1.0


def test_drawing_shows_every_node():
    from matplotlib.figure import Figure

    days, played = play_tennis()
    axis = Figure().subplots()
    ID3().fit(days, played).draw(axis)
    assert len(axis.texts) == 8 + 7  # nodes and branches


@pytest.mark.parametrize(
    ("X", "y", "error", "words"),
    [
        ([["a"], [None]], [0, 1], ValueError, r"ID3: X has a missing value \(NaN\) in row 1 of column 0"),
        ([[1.0], [np.nan]], [0, 1], ValueError, "C45 takes missing values"),
        ([[1.0], [np.inf]], [0, 1], ValueError, "infinity"),
        ([["a"], ["b"]], None, ValueError, "ID3: requires y"),
        ([["a"], ["b"]], [0, 1, 1], ValueError, "inconsistent numbers of samples"),
        ([["a"], ["b"]], [0.5, 1.7], ValueError, "Unknown label type"),
        (np.array([[{}], ["b"]], dtype=object), [0, 1], TypeError, "ID3: .* a string or a number; got {}"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), [0], TypeError, "ID3: .* a string or a number"),
        (pd.DataFrame({"a": []}), [], ValueError, "ID3: X must have at least one row"),
        (Table({"when": np.array(["2020-01-01"], dtype="datetime64[ns]")}), [0], TypeError, "a string or a number"),
    ],
)
def test_bad_input_is_one_sentence(X, y, error, words):
    with pytest.raises(error, match=words):
        ID3().fit(X, y)


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="at least one non-zero"):
        ID3().fit([["a"], ["b"]], [0, 1], sample_weight=[0, 0])


def test_another_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="features"):
        ID3().fit([["a", "b"]], [0]).predict([["a"]])
