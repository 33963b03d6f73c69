"""The tables of contents hold every place that a row names."""

import pytest

from margin.notes import atlas, contents


def test_every_place_of_every_row_is_a_section():
    unknown = [(row.id, where) for row in atlas.rows().values() for where in row.where if not contents.place_of(where)]
    assert unknown == []


def test_there_are_five_notes_and_no_key_stands_twice():
    tables = contents.tables()
    assert [table.number for table in tables] == ["000", "001", "002", "003", "004"]
    for table in tables:
        keys = [section.key for section in table.sections]
        assert len(set(keys)) == len(keys)


def test_sections_hold_every_row_once_for_each_of_its_places():
    held = [
        (table.number, section.key, row.id)
        for table in contents.tables()
        for section in table.sections
        for row in contents.rows_in(table.number, section.key)
    ]
    assert len(held) == len(set(held))
    assert {id for *_, id in held} == set(atlas.rows())


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("003 §1.2 Def 1.1", ("003", "1.2")),
        ("000 §A.5.1", ("000", "A.5.1")),
        ("000 §3.4 Q2", ("000", "3.4")),
        ("000 Figures 7, 8", ("000", "figures")),
        ("004 §Theory: Jensen's Inequality", ("004", "theory-jensens-inequality")),
        ("003 §99.9", None),
        ("999 §1", None),
        ("", None),
    ],
)
def test_a_place_leads_to_its_section(where, place):
    assert contents.place_of(where) == place


def test_levels_follow_the_numbers():
    table = contents.tables()[0]
    assert [table.section(key).level for key in ("2", "2.1", "2.1.1", "A", "A.5", "A.5.1")] == [1, 2, 3, 1, 2, 3]


def test_a_section_that_is_not_there_is_named():
    with pytest.raises(KeyError, match=r"have no section '7\.7'"):
        contents.tables()[0].section("7.7")
