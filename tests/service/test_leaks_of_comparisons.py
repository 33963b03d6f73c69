"""Leaks of several columns, groups that were found, folds of classes, and rows that are alike without being copies."""

import numpy as np
import pandas as pd
import pytest

from margin.data import profile
from margin.data.structure import repeats_beyond_chance
from margin.selection import plan_folds
from margin.service.comparison import compare
from margin.service.comparison.showing import verdict

FAST = {"n_jobs": 1, "folds": 3, "curve": False, "ensembles": False}


@pytest.mark.parametrize(
    ("computed", "named", "phrase"),
    [
        (lambda a, b, c: (a + b).round(1), "'a', 'b'", "it is 'a' + 'b'"),
        (lambda a, b, c: a - b, "'a', 'b'", "it is 'a' - 'b'"),
        (lambda a, b, c: np.abs(a), "'a'", "it is |'a'|"),
        (lambda a, b, c: (a + b + c) / 3, "'", "with constant weights"),
        (lambda a, b, c: np.exp(b) * np.exp(c), "'eb'", "it is "),
    ],
)
def test_a_target_computed_from_columns_is_seen(computed, named, phrase):
    a, b, c = np.random.default_rng(0).normal(size=(3, 300))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "eb": np.exp(b), "ec": np.exp(c), "y": computed(a, b, c)})
    said = [remark for remark in profile(frame, target="y").remarks if "away" in remark]
    assert len(said) == 1
    assert named in said[0]
    assert phrase in said[0]


def test_honest_columns_are_no_leak():
    a, b, noise = np.random.default_rng(0).normal(size=(3, 300))
    frame = pd.DataFrame({"a": a, "b": b, "y": a + b + 0.2 * noise})
    assert not any("away" in remark for remark in profile(frame, target="y").remarks)


def test_a_result_too_good_to_be_true_names_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    offense, defense, age = rng.normal(size=(3, 300))
    frame = pd.DataFrame({"offense": offense, "defense": defense, "age": age, "total": offense + defense})
    found = compare(frame, target="total", models=["linear-regression"], held_out=0.25, **FAST)
    warning = verdict(found)[0]
    assert warning.startswith("Too good to be true? linear-regression leaves 0.0% of the error of a guess")
    assert "--ignore" in warning
    assert {"'offense'", "'defense'"} <= set(warning.split("owes it to ")[1].split(":")[0].split(", "))
    assert warning.replace("'", "&#x27;") in found.report(tmp_path / "r.html").read_text()
    frame["total"] += 0.3 * rng.normal(size=300)
    assert compare(frame, target="total", models=["linear-regression"], held_out=0.25, **FAST).too_good == ""


def test_integer_ids_of_groups_are_seen_and_a_leak_is_none():
    rng = np.random.default_rng(0)
    for name, groups, rows in (("individual", 210, 4), ("id", 30, 3)):
        frame = pd.DataFrame({name: np.repeat(np.arange(groups), rows), "x": rng.normal(size=groups * rows)})
        frame["y"] = rng.integers(0, 2, len(frame))
        frame = frame.sample(frac=1, random_state=0, ignore_index=True)
        assert profile(frame, target="y").suggested_group == name
    town = np.repeat(np.arange(20), 10)
    leaking = pd.DataFrame({"town_name": [f"t{i}" for i in town], "height": town * 1.5, "y": town * 2.0})
    assert profile(leaking, target="y").suggested_group is None


def test_classes_keep_their_frequency_where_equal_rows_stay_together():
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 891, p=[0.62, 0.38])
    copies = np.arange(891)
    copies[:250] = rng.integers(0, 40, 250)
    y[:250] = np.where(copies[:250] % 3, "no", "yes")
    plan = plan_folds(y, "classification", copies=copies, held_out=0.2)
    for train, test in [*plan.folds, (plan.development, plan.held_out)]:
        assert abs(np.mean(y[test] == "yes") - np.mean(y == "yes")) < 0.01
        assert not set(copies[train]) & set(copies[test])
    inner = plan.within(plan.folds[0][0], 3)
    rows = plan.folds[0][0]
    assert all(abs(np.mean(y[rows[test]] == "yes") - np.mean(y == "yes")) < 0.02 for _, test in inner)


def people(n=900, seed=0):
    """As on a ship: few attributes that many share, and a fare of the class."""
    rng = np.random.default_rng(seed)
    deck = rng.choice([1, 2, 3], n, p=[0.2, 0.2, 0.6])
    fare = np.where(deck == 3, rng.choice([7.7, 7.9, 8.1, 15.5], n), np.where(deck == 2, rng.choice([13, 26], n), 0))
    fare = np.where(deck == 1, rng.lognormal(4, 0.7, n).round(2), fare)
    age = rng.normal(30, 14, n).round().clip(1, 80)
    return pd.DataFrame({"deck": deck, "male": rng.integers(0, 2, n), "age": age, "fare": fare})


def test_people_who_share_attributes_are_no_copies():
    frame = people().assign(y=np.random.default_rng(1).choice(["a", "b"], 900))
    found = profile(frame, target="y")
    assert found.copies is None
    assert "rows that are alike, not copies" in found.copies_remark
    twice = pd.concat([frame, frame.head(400)], ignore_index=True)
    assert profile(twice, target="y").copies is not None
    codes = [pd.factorize(frame[name])[0] for name in frame]
    keys = pd.factorize(frame.apply(tuple, axis=1))[0]
    assert repeats_beyond_chance(codes, keys) < 0.3 * (len(keys) - len(np.unique(keys)))


def test_an_older_division_of_rows_is_continued(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 2)), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] > 0, "yes", "no")
    asked = {"target": "y", "models": ["gaussian-nb"], "out": tmp_path / "c", **FAST}
    first = compare(frame, **asked)
    with np.load(tmp_path / "c" / "folds.npz") as file:
        kept = {name: file[name] for name in file.files}
    for part in ("train", "test"):  # as another version would have numbered them
        kept[f"{part}_0"], kept[f"{part}_1"] = kept[f"{part}_1"], kept[f"{part}_0"]
    np.savez(tmp_path / "c" / "folds.npz", **kept)
    again = compare(frame, **asked)
    np.testing.assert_array_equal(again.plan.folds[0][1], first.plan.folds[1][1])
    kept["test_0"] = kept["test_0"] + 1000
    np.savez(tmp_path / "c" / "folds.npz", **kept)
    np.testing.assert_array_equal(compare(frame, **asked).plan.folds[0][1], first.plan.folds[0][1])


def test_a_single_fit_sees_what_a_comparison_sees(tmp_path):
    from margin.service import training
    from margin.service.fit_request import FitRequest

    rng = np.random.default_rng(0)
    survived = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {"age": rng.normal(30, 9, 200), "alive": np.where(survived, "yes", "no"), "survived": survived}
    )
    frame.insert(0, "PassengerId", range(200))
    frame.to_csv(tmp_path / "t.csv", index=False)
    facts = training.fit("gaussian-nb", str(tmp_path / "t.csv"), FitRequest(target="survived"), out=tmp_path / "r")
    assert any(said.startswith("alive: left out: it copies the target") for said in facts["remarks"])
    assert any(said.startswith("PassengerId: left out") for said in facts["remarks"])
    import json

    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["features"] == ["age"]
