"""Rows can be asked for by area, by id and by both; what a check measured is told in pairs and in strict JSON."""

import json

import numpy as np
import pytest

from margin.core.strict_json import strict_text
from margin.notes import atlas
from margin.service.evidence import Checked, Finding, select, verify


def test_a_name_that_is_both_means_the_area_and_a_path_the_row():
    assert [row.id for row in select(["vae/vae"])] == ["vae"]
    whole = select(["vae"])
    assert {row.area for row in whole} == {"vae"}
    assert len(whole) > 1
    assert select(["adam"]) == select(["optimization/adam"]) == [atlas.inventory()["adam"]]
    for wrong in ("transport/adam", "no-such-area/adam", "no-such-row"):
        with pytest.raises(KeyError, match="neither an area"):
            select([wrong])


def test_findings_pair_measured_with_expected_and_know_counterexamples():
    measured = {"corrected": {"trace_of_A": 3.0, "more": {"sign": 1}}, "as printed: swapped_names": 2.0}
    expected = {"corrected": {"trace_of_A": "3 within 0.1", "more": {"sign": 1}}, "as printed: swapped_names": "not 3"}
    found = Checked("id", "area", "claim", "corrected", measured, expected, 0.0).findings()
    assert [(f.name, f.measured, f.expected, f.is_counterexample) for f in found] == [
        ("trace of A", 3.0, "3 within 0.1", False),
        ("more, sign", 1, 1, False),
        ("swapped names", 2.0, "not 3", True),
    ]


def test_every_slip_of_a_row_is_a_counterexample_among_its_findings():
    (checked,) = verify(select(["claim-positive-definite-trace-and-determinant"]))
    assert sum(f.is_counterexample for f in checked.findings()) == len(checked.slips) == 2
    assert checked.statement == atlas.row(checked.id).statement


def test_json_is_strict():
    value = {"a": float("nan"), "b": [np.inf, -np.inf, np.float32(0.5)], "c": np.array([1, 2]), "d": (True, None, {1})}

    def refuse(constant):
        raise AssertionError(constant)

    read = json.loads(strict_text(value), parse_constant=refuse)
    assert read == {"a": None, "b": [None, None, 0.5], "c": [1, 2], "d": [True, None, [1]]}


def test_what_is_told_of_a_row_is_short():
    from margin.service.finding_words import finding_words

    assert finding_words(Finding("sums", "array (7, 2) off by 0.25", "array (7, 2) within 1e-10")) == (
        "sums: off by 0.25 (expected at most 1e-10)"
    )
    assert finding_words(Finding("count", 4, 4)) == "count: 4 as expected"
    assert finding_words(Finding("", [0.5, 1.0], "[0.5, 1] within 0.1")) == "[0.5, 1] as expected within 0.1"
    assert (
        finding_words(Finding("kind", "<class 'builtins.RuntimeWarning'>", "x")) == "kind: RuntimeWarning (expected x)"
    )
