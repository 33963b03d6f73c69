"""Tables from a page: kept once, named safely, profiled with the user's kinds."""

import pytest

from margin.service.requests import BadRequest
from margin.service.uploaded_tables import UploadedTables, profile_table, safe_name

TABLE = b"id,zip,y\n" + b"".join(b"%d,%05d,%d\n" % (i, i % 7, i % 2) for i in range(60))


def send(tables, content, name):
    unfinished = tables.begin()
    unfinished.write_bytes(content)
    try:
        return tables.keep(unfinished, name)
    finally:
        unfinished.unlink(missing_ok=True)


def test_the_same_bytes_are_one_table(tmp_path):
    tables = UploadedTables(tmp_path / "tables")
    assert tables.list() == []
    first = send(tables, TABLE, "a.csv")
    second = send(tables, TABLE, "b.csv")
    assert first["id"] == second["id"]
    assert [table["name"] for table in tables.list()] == ["b.csv"]
    assert tables.path(first["id"]).read_bytes() == TABLE
    tables.remove(first["id"])
    assert tables.list() == []
    assert list((tmp_path / "tables").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\data\\My table (2).CSV", "My-table-2.csv"),
        ("..csv", "table.csv"),
        ("x.tar.csv.gz", "x-tar.csv.gz"),
        ("日本.xlsx", "table.xlsx"),
        ("a" * 500 + ".parquet", "a" * 80 + ".parquet"),
    ],
)
def test_names_lose_what_a_path_would_read(name, kept):
    assert safe_name(name) == kept


@pytest.mark.parametrize("name", ["", "a", "a.exe", "a.pkl", "a.csv.exe", "a.gz", ".zip"])
def test_what_is_no_table_is_refused_and_nothing_is_kept(tmp_path, name):
    tables = UploadedTables(tmp_path)
    with pytest.raises(BadRequest, match="is no table"):
        send(tables, TABLE, name)
    assert tables.list() == []


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(BadRequest, match="is empty"):
        send(UploadedTables(tmp_path), b"", "a.csv")


@pytest.mark.parametrize("id", ["", "..", "0" * 15, "0" * 16, "../../etc", "G" * 16])
def test_only_ids_of_tables_are_found(tmp_path, id):
    tables = UploadedTables(tmp_path)
    send(tables, TABLE, "a.csv")
    with pytest.raises(KeyError, match="no table"):
        tables.path(id)


def test_kinds_that_the_user_changes_are_taken(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(TABLE.replace(b"zip", b'"zip, or=code"'))
    found = {column["name"]: column for column in profile_table(str(file), "y")["columns"]}
    assert found["id"]["kind"] == "identifier"
    changed = profile_table(str(file), "y", {"zip, or=code": "category"}, ["id"])
    columns = {column["name"]: column for column in changed["columns"]}
    assert columns["zip, or=code"]["kind"] == "category"
    assert not columns["id"]["used"]
    with pytest.raises(BadRequest):
        profile_table(str(file), "nothing")
