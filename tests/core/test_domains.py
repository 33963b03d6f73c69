"""Domains: what they accept, how they parse, what they say."""

import math

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from margin.core.domains import (
    Array,
    Choice,
    Either,
    Flag,
    Integer,
    Nested,
    Number,
    Optional,
    Seed,
    Sequence,
    Text,
)
from margin.core.estimator import Estimator
from margin.core.parameters import InvalidParameter, check_parameters, parameter, parameter_table, parse_settings

ACCEPTED = [
    (Number(), [0, -1.5, np.float32(2), np.int64(3)], [math.nan, math.inf, "1", True, None, 1j]),
    (Number(low=0), [0], [-1e-9]),
    (Number(above=0, high=1), [1e-300, 1], [0, 1.0000001]),
    (Number(low=0, below=1), [0, 0.999], [1]),
    (Integer(low=1), [1, np.int32(7)], [0, 1.0, True, "1"]),
    (Choice("a", 2), ["a", 2], ["b", 2.0, None]),
    (Flag(), [True, np.bool_(False)], [0, 1, "true"]),
    (Text(), ["", "x"], [1, None]),
    (Seed(), [None, 0, np.random.RandomState(0), np.random.default_rng(0)], [-1, 2**32, "0", 1.5]),
    (Sequence(Integer(low=1)), [(), [1, 2], np.array([3])], ["12", 3, [0], [1.5]]),
    (Sequence(Integer(), min_length=1), [[1]], [[]]),
    (Array(2), [[[1, 2]], np.zeros((2, 3))], [[1, 2], "ab", None]),
    (Nested("predict"), [Ridge()], [Ridge, "ridge", None]),
    (Optional(Integer(low=1)), [None, 3], [0, "none"]),
    (Either(Choice("scale"), Number(above=0)), ["scale", 0.1], ["auto", 0]),
]


@pytest.mark.parametrize(("domain", "inside", "outside"), ACCEPTED)
def test_accepts(domain, inside, outside):
    assert all(domain.accepts(value) for value in inside)
    assert not any(domain.accepts(value) for value in outside)


@pytest.mark.parametrize(("domain", "inside", "outside"), ACCEPTED)
def test_wrong_values_are_wrong_and_descriptions_read(domain, inside, outside):
    assert domain.wrong()
    assert not any(domain.accepts(value) for value in domain.wrong())
    assert domain.description
    assert isinstance(domain.schema(), dict)


@pytest.mark.parametrize(
    ("domain", "text", "value"),
    [
        (Number(), "1e-3", 0.001),
        (Integer(), "12", 12),
        (Choice("rbf", 3), "3", 3),
        (Flag(), "No", False),
        (Seed(), "none", None),
        (Seed(), "7", 7),
        (Sequence(Integer()), "[64, 32]", (64, 32)),
        (Sequence(Integer()), "", ()),
        (Optional(Number()), "None", None),
        (Optional(Number()), "2.5", 2.5),
        (Either(Choice("scale"), Number()), "scale", "scale"),
        (Text(), "anything", "anything"),
    ],
)
def test_parse(domain, text, value):
    assert domain.parse(text) == value


def test_parse_array_and_nested():
    np.testing.assert_array_equal(Array(2).parse("[[1, 2], [3, 4]]"), [[1, 2], [3, 4]])
    assert isinstance(Nested("predict").parse("ridge", build=lambda text: Ridge()), Ridge)


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (Number(low=0), "-1"),
        (Number(), "nan"),
        (Integer(), "1.5"),
        (Choice("a"), "b"),
        (Flag(), "perhaps"),
        (Sequence(Integer(low=1)), "1,0"),
        (Optional(Integer()), "x"),
        (Array(1), "[["),
        (Nested("fit"), "ridge"),
    ],
)
def test_parse_refuses(domain, text):
    with pytest.raises(ValueError, match="is not"):
        domain.parse(text)


@pytest.mark.parametrize(
    "domain",
    [
        Number(low=0, search=(1e-3, 1e3), log=True),
        Number(search=(-1, 1)),
        Integer(low=1, search=(1, 20)),
        Choice("a", "b"),
        Flag(),
        Optional(Integer(low=1, search=(2, 9))),
    ],
)
def test_draws_lie_in_the_domain(domain):
    rng = np.random.default_rng(0)
    draws = [domain.draw(rng) for _ in range(50)]
    assert all(domain.accepts(value) for value in draws)
    assert len(set(draws)) > 1


def test_log_search_is_even_in_decades():
    rng = np.random.default_rng(0)
    draws = np.log10([Number(search=(1e-4, 1e4), log=True).draw(rng) for _ in range(4000)])
    assert abs(draws.mean()) < 0.15
    assert abs((draws < 0).mean() - 0.5) < 0.03


class Model(Estimator):
    alpha: float = parameter(1.0, Number(low=0), "A number.")
    kernel: str = parameter("rbf", Choice("rbf", "poly"), "A name.")


def test_errors_are_one_sentence():
    with pytest.raises(InvalidParameter, match=r"^Model: alpha must be a number at least 0; got -1\.$"):
        check_parameters(Model(alpha=-1))
    with pytest.raises(InvalidParameter, match=r"^Model: kernel must be one of 'rbf', 'poly'; got 'sigmoid'\.$"):
        check_parameters(Model(kernel="sigmoid"))
    with pytest.raises(InvalidParameter) as caught:
        check_parameters(Model(kernel="x" * 500))
    assert len(str(caught.value)) < 150


def test_settings_from_words():
    assert parse_settings(Model, ["alpha=2", "kernel=poly"]) == {"alpha": 2.0, "kernel": "poly"}
    for words, match in [
        (["alpha"], "written name=value"),
        (["beta=1"], "no parameter 'beta'; it has alpha, kernel"),
        (["alpha=-1"], "Model: alpha: '-1' is not a number at least 0"),
    ]:
        with pytest.raises(ValueError, match=match):
            parse_settings(Model, words)


def test_parameter_table():
    rows = parameter_table(Model)
    assert [row["name"] for row in rows] == ["alpha", "kernel"]
    assert rows[0]["default"] == 1.0
    assert rows[0]["schema"] == {"type": "number", "minimum": 0}
