"""Numbers and dates as people write them: every spelling against the value it stands for, and what stays a label."""

import numpy as np
import pytest

from margin.data.date_formats import date_order, parse_date
from margin.data.labels import read_labels
from margin.data.number_formats import NumberFormat, number_format, parse_number, parse_numbers

NUMBERS = [
    ("$1,234.50", ".", 1234.5),
    ("US$ 1,234,567", ".", 1234567),
    ("1.234,50", ",", 1234.5),
    ("1.234,50 €", ",", 1234.5),
    ("12 %", ".", 12),
    ("-3.5%", ".", -3.5),
    ("(300)", ".", -300),
    ("($1,250.75)", ".", -1250.75),
    ("−7", ".", -7),
    ("-$4", ".", -4),
    ("$-4", ".", -4),
    ("1 250 000", ".", 1250000),
    ("1\u202f250,5", ",", 1250.5),
    ("12'500.25", ".", 12500.25),
    (".5", ".", 0.5),
    ("+1e3", ".", 1000),
    ("72 kg", ".", 72),
    ("21°C", ".", 21),
    ("CHF 9.90", ".", 9.9),
]


@pytest.mark.parametrize(("text", "decimal", "value"), NUMBERS)
def test_numbers(text, decimal, value):
    found = number_format([text], decimal_comma=decimal == ",")
    assert found is not None
    assert found.decimal == decimal
    assert parse_number(text, found) == value
    assert parse_numbers([text], found).tolist() == [value]


@pytest.mark.parametrize(
    "labels",
    [
        ["1.2.3"],
        ["5-10"],
        ["12:30"],
        ["A12"],
        ["0x1f"],
        ["1_000"],
        ["02134", "10001"],
        ["1,23,4"],
        ["(5"],
        ["5)"],
        ["12 kg", "3 lb"],
        ["10", "a", "b"],
        ["1/2"],
        [""],
        ["%"],
        ["192.168.0.1"],
        ["+49 30 1234"],
    ],
)
def test_what_is_no_number(labels):
    assert read_labels(labels) is None


def test_a_thousand_or_a_decimal_part():
    assert read_labels(["1,234", "2,500"]).values.tolist() == [1234, 2500]
    assert read_labels(["1,234", "2,500"], decimal_comma=True).values.tolist() == [1.234, 2.5]
    assert read_labels(["1,234", "2,5"]).values.tolist() == [1.234, 2.5]  # the second leaves no choice
    assert read_labels(["1,234", "2.5"], decimal_comma=True).values.tolist() == [1234, 2.5]


def test_strays_among_many_numbers_are_missing():
    labels = [str(i) for i in range(10)]
    found = read_labels([*labels, "unknown", "-"])
    assert np.isnan(found.values[10:]).all()
    assert '"unknown", "-" count as missing' in found.note
    assert read_labels([*labels[:9], "unknown"]) is None  # too few numbers
    assert read_labels([*labels, "a", "b", "c", "d"]) is None  # too many strays
    assert read_labels([*labels, "<5"]) is None  # it has a digit, so it means something


DATES = [
    ("2023-05-14", "2023-05-14"),
    ("2023/5/14", "2023-05-14"),
    ("14.05.2023", "2023-05-14"),
    ("14.5.23", "2023-05-14"),
    ("14.05.1969 23:59", "1969-05-14T23:59"),
    ("14.05.69", "1969-05-14"),
    ("14/05/2023", "2023-05-14"),
    ("5/14/2023 3:30 PM", "2023-05-14T15:30"),
    ("5/14/2023 12:05 am", "2023-05-14T00:05"),
    ("14 May 2023", "2023-05-14"),
    ("May 14, 2023", "2023-05-14"),
    ("14-May-23", "2023-05-14"),
    ("September 3rd, 2021", "2021-09-03"),
    ("2023-05-14T01:02:03.25", "2023-05-14T01:02:03.25"),
]


@pytest.mark.parametrize(("text", "moment"), DATES)
def test_dates(text, moment):
    order = date_order([text])
    assert order is not None
    assert parse_date(text, order) == np.datetime64(moment)


def test_the_column_decides_what_comes_first():
    assert date_order(["3/4/2025", "12/25/2025"]) == "month first"
    assert date_order(["3/4/2025", "25/12/2025"]) == "day first"
    assert date_order(["3/4/2025", "5/6/2025"]) is None
    assert date_order(["12/25/2025", "25/12/2025"]) is None
    assert date_order(["31.02.2023"]) is None
    assert date_order(["14.05.2023", "soon"]) is None
    assert read_labels(["3/4/2025", "12/25/2025"]).note.startswith("read as dates, the month first, from text")
    assert np.isnat(parse_date("13/13/2023", "day first"))
    assert np.isnan(parse_number("many", NumberFormat()))
