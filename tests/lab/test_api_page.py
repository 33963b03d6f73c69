"""The page of the API names every route and its body, and needs nothing but our own styles."""

import re
from html import unescape


def test_the_page_names_every_route_and_every_field(client):
    page = client.get("/api/docs")
    assert page.headers["content-type"].startswith("text/html")
    text = unescape(page.text)
    routes = client.get("/api/openapi.json").json()["paths"]
    assert len(routes) > 25
    for path, methods in routes.items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in text
    for field in ("hidden", "points", "position", "max_length"):
        assert (f"<code>{field}</code>" in text) == (field in ("points", "position"))
    assert "'play' or 'pause' or 'step'" in text


def test_the_page_loads_its_own_styles_and_has_nothing_inline(client):
    page = client.get("/api/docs").text
    assert all(address.startswith("/") for address in re.findall(r'(?:src|href)="([^"]+)"', page))
    assert not re.search(r"<style|\sstyle=|<script>|\son\w+=", page)


def test_nobody_reads_it_without_the_token(stranger):
    assert stranger.get("/api/docs").status_code == 401
