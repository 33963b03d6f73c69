"""What the browser gets: our files, small and licensed scripts of others, and nothing from elsewhere."""

import re
from pathlib import Path

import pytest

from margin.lab.app import STATIC
from margin.lab.rooms import ROOMS, open_rooms

VENDOR = STATIC / "vendor"
OURS = sorted(path for path in STATIC.rglob("*") if path.is_file() and VENDOR not in path.parents)


def test_scripts_of_others_are_small_and_come_with_their_licences():
    files = {path.name for path in VENDOR.iterdir()}
    assert sum(path.stat().st_size for path in VENDOR.iterdir()) < 400_000
    named = set(re.findall(r"[\w-]+\.(?:js|css|LICENSE)", (VENDOR / "README.md").read_text()))
    assert {name for name in files if name.endswith((".js", ".css", ".LICENSE"))} <= named
    assert {"preact.LICENSE", "htm.LICENSE", "uplot.LICENSE"} <= files


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(STATIC)))
def test_no_file_asks_another_server_for_anything(path):
    text = path.read_text()
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`)]*", re.sub(r"^\s*//.*$", "", text, flags=re.M)))
    assert {address for address in addresses if "www.w3.org" not in address} == set()


@pytest.mark.parametrize("path", [path for path in OURS if path.suffix == ".html"], ids=lambda path: path.name)
def test_pages_have_nothing_inline(path):
    text = path.read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", text) == []
    assert "<style" not in text
    assert re.findall(r"\s(?:style|on\w+)=", text) == []


@pytest.mark.parametrize(
    "path", [path for path in OURS if path.suffix == ".js"], ids=lambda path: str(path.relative_to(STATIC))
)
def test_modules_import_files_that_exist(path):
    for target in re.findall(r"""(?:from|import)\s*\(?\s*["'](/static/[^"'$]+)["']""", path.read_text()):
        assert (STATIC / Path(target).relative_to("/static")).exists(), f"{path.name} imports {target}"


def test_only_rooms_that_are_built_are_offered(tmp_path, client):
    assert open_rooms(tmp_path) == []
    assert [room.name for room in open_rooms(STATIC)] == [
        room.name for room in ROOMS if (STATIC / room.module).exists()
    ]
    offered = client.get("/api/lab").json()["rooms"]
    assert [room["name"] for room in offered] == [room.name for room in open_rooms(STATIC)]


def test_every_address_of_a_room_answers_with_the_page(client):
    for path in ("/", "/play", "/play/kmeans", "/notes/deep-learning/3"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "/static/app.js" in answer.text


def first_classes(name):
    """Classes with which the selectors of a style sheet begin: those that it gives a look wherever they stand."""
    rules = re.sub(r"/\*.*?\*/", "", (STATIC / name).read_text(), flags=re.S)
    selectors = [part for rule in re.findall(r"([^{}]+)\{", rules) if "@" not in rule for part in rule.split(",")]
    found = [re.match(r"[a-z]*\.([\w-]+)$", selector.strip().split()[0]) for selector in selectors if selector.strip()]
    return {match[1] for match in found if match}


def test_no_two_rooms_give_a_look_to_the_same_class():
    """All sheets are on every page: what one says of a class that another uses would change it there."""
    assert first_classes("play/play.css") & first_classes("rooms/rooms.css") == set()
    assert first_classes("play/play.css") & first_classes("style.css") == set()
