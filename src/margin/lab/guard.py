"""Who may talk to the lab: this machine's browser with the printed token, and no page of another site through it.

Other pages in the same browser can send requests to 127.0.0.1, and a name of theirs can be made to resolve to it (DNS
rebinding), so a request must name a host of the fixed list, carry the cookie, and, where it changes anything, come from
one of our own pages with a body that no form can send.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

__all__ = ["POLICY", "App", "Guard", "Scope", "host_names", "refusal"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_JSON = 2_000_000  # bytes of a request's body
MOST_UPLOAD = 200_000_000  # bytes of an uploaded table
SLOWEST = 60.0  # seconds between two parts of a body
#: Bodies that a form of another site cannot send without the browser asking us first.
BODIES = ("application/json", "application/octet-stream")
#: Only scripts, styles, pictures and answers of this server; nothing inline, nothing from elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "SAMEORIGIN",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
LOCKED = "Open the address that margin lab printed: it holds the token."

log = logging.getLogger("margin.lab")


def host_names(port: int) -> tuple[str, ...]:
    """The only names by which a request may call this server."""
    return tuple(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))


class Guard:
    """ASGI middleware around everything, static files included."""

    def __init__(self, app: App, *, token: str, port: int):
        self.app, self.token, self.port = app, token, port
        self.hosts = host_names(port)
        self.origins = tuple(f"http://{host}" for host in self.hosts)
        self.cookie = f"margin-lab-{port}"  # cookies know no ports: two labs on one machine keep two

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        if scope["type"] != "http":
            return  # websockets are not spoken here
        headers = Headers(scope=scope)
        refusal = self._refuse(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        await self._answer(scope, _limit_parts(receive, self.most_bytes(scope)), _with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def note(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, note)
        except asyncio.CancelledError:  # the server ends, and does not wait for what takes long
            if not started:
                await refusal(503, "The lab is ending.")(scope, receive, send)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not started:
                await refusal(500, "The server failed at this request; its terminal says why.")(scope, receive, send)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that may not pass."""
        if headers.get("host", "").lower() not in self.hosts:
            return refusal(421, f"This server is called {' or '.join(self.hosts)}.")
        if "token" in _query(scope):
            return self._enter(scope)
        if not self._has_cookie(headers):
            return refusal(401, LOCKED) if scope["path"].startswith("/api/") else Response(LOCKED, 401)
        return self._refuse_foreign(scope, headers)

    def _refuse_foreign(self, scope: Scope, headers: Headers) -> Response | None:
        site = headers.get("sec-fetch-site", "same-origin")
        changes = scope["method"] not in ("GET", "HEAD")
        if (changes or scope["path"].startswith("/api/")) and site not in ("same-origin", "none"):
            return refusal(403, "Only pages of this lab may ask that.")
        if not changes:
            return None
        if headers.get("origin", "").lower() not in self.origins:
            return refusal(403, "Only pages of this lab may change anything.")
        if scope["method"] != "DELETE" and headers.get("content-type", "").partition(";")[0].strip() not in BODIES:
            return refusal(415, f"A body must be {' or '.join(BODIES)}.")
        return self._refuse_length(scope, headers)

    def _refuse_length(self, scope: Scope, headers: Headers) -> Response | None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.most_bytes(scope):
            return refusal(413, f"A body may have at most {self.most_bytes(scope):,} bytes.")
        return None

    def most_bytes(self, scope: Scope) -> int:
        """How large the body of a request may be."""
        return MOST_UPLOAD if scope["method"] == "PUT" and scope["path"] == "/api/tables" else MOST_JSON

    def _enter(self, scope: Scope) -> Response:
        """A request with the token gets the cookie, and an address without the token, which would stay in histories."""
        query = _query(scope)
        if not hmac.compare_digest(query.pop("token").encode(), self.token.encode()):
            return Response(LOCKED, 401)
        # Not "//host": a path that begins so would be an address on another server.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(path + (f"?{urlencode(query)}" if query else ""), 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.token.encode())


def _query(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))


def _limit_parts(receive: Receive, most: int) -> Receive:
    """Parts of a body, neither too many nor too far apart."""
    seen, whole = 0, False

    async def receive_part() -> MutableMapping[str, Any]:
        nonlocal seen, whole
        if whole:
            return await receive()  # that the browser has gone, which may take as long as it likes
        try:
            async with asyncio.timeout(SLOWEST):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"Nothing came of the body for {SLOWEST:.0f} seconds.") from None
        seen, whole = seen + len(message.get("body", b"")), not message.get("more_body", False)
        if seen > most:
            raise HTTPException(413, f"A body may have at most {most:,} bytes.")
        return message

    return receive_part


def _with_headers(send: Send) -> Send:
    async def send_guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in RAW_HEADERS if pair[0] not in given)]
        await send(message)

    return send_guarded


def refusal(status: int, sentence: str) -> JSONResponse:
    """One sentence under ``error``, as every answer that is none."""
    return JSONResponse({"error": sentence}, status)
