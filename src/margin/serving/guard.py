"""Who may ask a served model, and how much: named hosts, a token if one was set, JSON alone, bounded bodies."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.responses import Response

from margin.lab.guard import App, Guard, Scope, host_names, refusal

__all__ = ["ServingGuard"]


class ServingGuard(Guard):
    """The guard of the lab for programs in place of a browser: a bearer token in place of the cookie.

    A page of another site cannot send JSON here without the browser asking first, and nothing here says yes; a name
    that is made to resolve to this machine is none of ``hosts``.
    """

    def __init__(self, app: App, *, port: int, token: str = "", hosts: tuple[str, ...] = (), max_bytes: int):
        super().__init__(app, token=token, port=port)
        self.hosts = (*host_names(port), *(host.lower() for host in hosts))
        self.max_bytes = max_bytes

    def most_bytes(self, scope: Scope) -> int:
        return self.max_bytes

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        if headers.get("host", "").lower() not in self.hosts:
            return refusal(421, f"This server is called {' or '.join(self.hosts)}; --host adds a name.")
        given = headers.get("authorization", "")
        if self.token and not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            return refusal(401, "The header Authorization: Bearer TOKEN is missing or wrong.")
        if scope["method"] in ("GET", "HEAD"):
            return None
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return refusal(403, "Pages of other sites may not ask.")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return refusal(415, "A body must be application/json.")
        return self._refuse_length(scope, headers)
