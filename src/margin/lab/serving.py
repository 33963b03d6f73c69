"""From ``margin lab`` to a page: a port, a token, a server, and the browser."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from margin.service.requests import BadRequest

__all__ = ["serve"]

HOST = "127.0.0.1"


def serve(*, port: int, folder: Path, open_browser: bool, say: Callable[[str], None]) -> None:
    """Answer on ``port`` (a free one near it if it is taken) until Ctrl-C."""
    try:
        import uvicorn

        from margin.lab.app import create_app
    except ModuleNotFoundError as missing:
        raise BadRequest(f"lab: {missing.name} is not installed; pip install 'margin[lab]' brings it.") from None
    listening = _listen(port)
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    app = create_app(token=token, port=port, folder=folder)
    # An open stream of events would keep a server that waits for its connections alive for ever.
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, server_header=False
    )
    address = f"http://{HOST}:{port}/?token={token}"
    say(f"The lab: {address}\nCtrl-C ends it.")
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    uvicorn.Server(config).run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    """A socket of this machine alone, bound before anything is promised."""
    for candidate in (port, *((port + step) % 65536 for step in range(1, 20)), 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, candidate))
        except OSError:
            listening.close()
            continue
        listening.listen(128)
        return listening
    raise BadRequest(f"lab: no port of {HOST} is free.")
