"""Each line of the guard, with a request that passes only without it."""

import asyncio

import pytest
from tests.event_loops import run_coroutine

from margin.lab import guard, serving

TOKEN, PORT = "a-token-of-the-tests", 8765
ORIGIN = f"http://127.0.0.1:{PORT}"


def test_it_listens_to_this_machine_alone():
    listening = serving._listen(0)
    try:
        assert listening.getsockname()[0] == "127.0.0.1"
    finally:
        listening.close()


def test_a_port_that_is_taken_is_not_shared():
    first = serving._listen(0)
    second = serving._listen(first.getsockname()[1])
    try:
        assert first.getsockname()[1] != second.getsockname()[1]
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", "127.0.0.1", "", "0.0.0.0:8765"]
)
def test_a_name_that_is_not_ours_is_refused(client, host):
    """DNS rebinding: the page of another site has its own name resolve to this machine, and Origin and Host agree."""
    answer = client.get("/api/lab", headers={"host": host, "origin": f"http://{host}"})
    assert answer.status_code == 421
    assert "127.0.0.1" in answer.json()["error"]


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"LocalHost:{PORT}", f"[::1]:{PORT}"])
def test_every_name_of_this_machine_is_ours_in_any_case(client, host):
    headers = {"host": host, "origin": f"http://{host}", "content-type": "application/json"}
    assert client.get("/api/lab", headers=headers).status_code == 200
    assert client.post("/api/sessions", content=b"{}", headers=headers).status_code == 422, "it reached the route"


@pytest.mark.parametrize("path", ["/", "/play", "/api/lab", "/static/app.js", "/api/openapi.json"])
def test_nothing_is_shown_without_the_token(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert "margin lab printed" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("value", ["", "another", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
def test_a_cookie_with_another_value_opens_nothing(stranger, value):
    answer = stranger.get("/api/lab", headers={"cookie": f"margin-lab-{PORT}={value}"})
    assert answer.status_code == 401


def test_the_cookie_of_a_lab_on_another_port_opens_nothing(stranger):
    assert stranger.get("/api/lab", headers={"cookie": f"margin-lab-{PORT + 1}={TOKEN}"}).status_code == 401
    assert stranger.get("/api/lab", headers={"cookie": f"margin-lab-{PORT}={TOKEN}"}).status_code == 200


def test_a_wrong_token_gives_no_cookie(stranger):
    answer = stranger.get("/", params={"token": TOKEN[:-1]})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_strict_cookie_and_leaves_the_address(stranger):
    answer = stranger.get("/play", params={"token": TOKEN, "model": "svc"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/play?model=svc"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"margin-lab-{PORT}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert stranger.get("/api/lab").status_code == 200


def test_the_redirect_stays_on_this_server(stranger):
    answer = stranger.get(f"{ORIGIN}//evil.example/x", params={"token": TOKEN})
    assert answer.headers["location"] == "/evil.example/x"


def test_two_labs_on_one_machine_keep_two_cookies(app):
    assert guard.Guard(app, token="a", port=1).cookie != guard.Guard(app, token="a", port=2).cookie


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:8765"]
)
def test_what_changes_anything_must_come_from_our_pages(client, method, origin):
    client.headers.pop("origin")
    headers = {"content-type": "application/json"} | ({"origin": origin} if origin else {})
    for path in ("/api/sessions", "/api/tables"):
        answer = client.request(method, path, headers=headers, content=b"{}")
        assert answer.status_code == 403
        assert "Only pages of this lab" in answer.json()["error"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_or_port_neither_reads_nor_writes(client, site):
    assert client.get("/api/lab", headers={"sec-fetch-site": site}).status_code == 403
    answer = client.post("/api/sessions", json={}, headers={"sec-fetch-site": site})
    assert answer.status_code == 403
    assert client.get("/api/lab", headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/csv"]
)
def test_bodies_that_a_form_can_send_are_refused(client, kind):
    answer = client.post("/api/sessions", content=b"{}", headers={"content-type": kind})
    assert answer.status_code == 415


def test_what_our_pages_and_typed_addresses_send_passes(client):
    """The other side of each rule: a rule that refuses these would be met with being turned off."""
    assert client.get("/api/lab", headers={"sec-fetch-site": "none"}).status_code == 200
    assert client.delete("/api/sessions/nobody").status_code == 404
    client.headers.pop("origin")
    assert client.head("/api/lab").status_code == 405, "looking needs no origin"
    client.headers["origin"] = ORIGIN
    for kind in ("application/json; charset=utf-8", "application/json ; charset=utf-8", "application/octet-stream"):
        answer = client.post("/api/sessions", content=b"{}", headers={"content-type": kind})
        assert answer.status_code == 422, "it reached the route, which finds no model in it"


def test_a_cookie_that_is_none_is_refused_like_a_missing_one(stranger):
    for header in ("a/b=1", f"a/b=1; margin-lab-{PORT}={TOKEN}"):
        assert stranger.get("/api/lab", headers={"cookie": header}).status_code == 401


def test_what_stands_beside_the_token_in_an_address_stays(stranger):
    answer = stranger.get("/play/svc", params={"beside": "", "token": TOKEN, "set": "C=2"})
    assert answer.headers["location"] == "/play/svc?beside=&set=C%3D2"


@pytest.mark.parametrize("method, path", [("POST", "/api/tables"), ("PUT", "/api/sessions"), ("PATCH", "/api/tables")])
def test_only_an_upload_may_be_as_large_as_a_table(client, method, path):
    headers = {"content-type": "application/octet-stream", "content-length": str(guard.MOST_JSON + 1)}
    assert client.request(method, path, content=b"x", headers=headers).status_code == 413


def test_bodies_are_bounded_whether_they_say_their_length_or_not(app, client, monkeypatch):
    @app.post("/api/echo")
    def echo(body: dict):
        return body

    monkeypatch.setattr(guard, "MOST_JSON", 1000)
    said = client.post("/api/echo", content=b"[" + b" " * 2000 + b"]", headers={"content-type": "application/json"})
    assert said.status_code == 413

    def pieces():
        for _ in range(30):
            yield b" " * 100

    unsaid = client.post("/api/echo", content=pieces(), headers={"content-type": "application/json"})
    assert unsaid.status_code == 413
    assert "1,000 bytes" in unsaid.json()["error"]


def test_a_length_that_is_too_large_is_refused_before_anything_is_read(client):
    for length in (str(guard.MOST_JSON + 1), "-1", "many"):
        headers = {"content-type": "application/json", "content-length": length}
        assert client.post("/api/sessions", content=b"{}", headers=headers).status_code == 413


def test_a_table_may_be_larger_than_other_bodies_and_is_bounded_too(client, monkeypatch):
    monkeypatch.setattr(guard, "MOST_JSON", 10)
    monkeypatch.setattr(guard, "MOST_UPLOAD", 1000)
    headers = {"content-type": "application/octet-stream"}
    for rows, status in ((100, 200), (500, 413)):
        table = b"a,b\n" + b"1,2\n" * rows
        assert client.put("/api/tables?name=t.csv", content=table, headers=headers).status_code == status


def test_a_body_that_stops_coming_is_given_up(app, client, monkeypatch):
    """The rest is never sent: without a bound the request, and what it holds, would wait for ever."""

    @app.post("/api/echo")
    def echo(body: dict):
        return body

    monkeypatch.setattr(guard, "SLOWEST", 0.05)
    sent = []

    async def send(message):
        sent.append(message)

    async def slow():
        parts = iter([{"type": "http.request", "body": b"{", "more_body": True}])

        async def receive():
            for part in parts:
                return part
            await asyncio.Event().wait()

        cookie = f"margin-lab-{PORT}={TOKEN}"
        headers = {"host": f"127.0.0.1:{PORT}", "origin": ORIGIN, "content-type": "application/json", "cookie": cookie}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/api/echo",
            "raw_path": b"/api/echo", "query_string": b"", "root_path": "", "scheme": "http", "client": None,
            "server": None, "app": app, "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
        }  # fmt: skip
        await asyncio.wait_for(app(scope, receive, send), 60)

    run_coroutine(slow())
    assert sent[0]["status"] == 408


def test_a_stream_that_is_read_for_long_is_not_a_slow_body(monkeypatch):
    """Behind a whole body comes only that the browser has gone, and nobody knows when."""
    messages = iter([{"type": "http.request", "body": b"{}"}, {"type": "http.disconnect"}])

    async def receive():
        await asyncio.sleep(0)  # not at once
        return next(messages)

    async def read():
        bounded = guard._limit_parts(receive, 100)
        await bounded()
        monkeypatch.setattr(guard, "SLOWEST", 0.0)
        return await bounded()

    assert run_coroutine(read()) == {"type": "http.disconnect"}


def test_every_answer_has_a_policy_without_anything_inline(client, stranger):
    answers = [client.get(path) for path in ("/", "/api/lab", "/static/app.js", "/nowhere", "/static/tokens.css")]
    answers += [
        stranger.get("/api/lab", headers={"host": "evil.example"}),
        stranger.get("/api/lab", headers={"cookie": ""}),
    ]
    for answer in answers:
        headers = answer.headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert policy["base-uri"] == policy["form-action"] == "'none'"
        assert policy["frame-ancestors"] == "'self'"
        assert set(policy["img-src"].split()) == {"'self'", "data:", "blob:"}
        assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert headers["cache-control"] == "no-cache"


def test_a_failure_says_nothing_of_our_code(app, client):
    @app.get("/api/fail")
    def fail():
        raise RuntimeError("a secret of the machine")

    answer = client.get("/api/fail")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert list(answer.json()) == ["error"]


def test_a_failure_is_told_in_the_terminal_with_all_that_helps(app, client, caplog):
    @app.get("/api/fail")
    def fail():
        raise RuntimeError("a secret of the machine")

    client.get("/api/fail")
    [record] = [record for record in caplog.records if record.name == "margin.lab"]
    assert record.getMessage() == "GET /api/fail failed"
    assert "a secret of the machine" in record.exc_text


def asked(application, method="GET", path="/api/x", body=(), **headers):
    """What the guard sends for a request with the cookie, as it comes from a page of ours."""
    headers = {"host": f"127.0.0.1:{PORT}", "origin": ORIGIN, "cookie": f"margin-lab-{PORT}={TOKEN}"} | headers
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [
        (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
    ]}  # fmt: skip
    parts, sent = iter([*body, {"type": "http.request", "body": b""}]), []

    async def receive():
        return next(parts)

    async def send(message):
        sent.append(message)

    run_coroutine(guard.Guard(application, token=TOKEN, port=PORT)(scope, receive, send))
    return sent


@pytest.mark.parametrize("parts", [0, 1])
def test_an_answer_that_breaks_off_is_not_begun_again(parts):
    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(parts):
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
        raise RuntimeError("in the middle")

    begun = ["http.response.start"] + ["http.response.body"] * parts
    assert [message["type"] for message in asked(application)] == begun


@pytest.mark.parametrize("started", [False, True])
def test_a_request_that_the_ending_server_drops_is_answered_once(started):
    """Ctrl-C while a picture is drawn: a sentence for the page, and no traceback in the terminal."""

    async def application(scope, receive, send):
        if started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise asyncio.CancelledError

    begun = [message["status"] for message in asked(application) if message["type"] == "http.response.start"]
    assert begun == [200 if started else 503]


def test_another_site_may_link_to_a_page_and_change_nothing_anywhere(client):
    assert client.get("/play", headers={"sec-fetch-site": "cross-site"}).status_code == 200

    reached = []

    async def application(scope, receive, send):
        reached.append(scope["path"])

    told = asked(application, "POST", "/elsewhere", sec_fetch_site="cross-site", content_type="application/json")
    assert [message["status"] for message in told if message["type"] == "http.response.start"] == [403]
    assert not reached, "what is refused must not go on to the application"


def test_nothing_but_requests_reaches_the_application():
    reached = []

    async def application(scope, receive, send):
        reached.append(scope["type"])

    for kind in ("websocket", "lifespan"):
        run_coroutine(guard.Guard(application, token=TOKEN, port=PORT)({"type": kind}, None, None))
    assert reached == ["lifespan"]


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"]
)
def test_static_files_are_those_below_static(client, path):
    assert client.get(path).status_code in (404, 405)
