"""From ``margin serve`` to a server: the model, a port, and a stop that lets running answers end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from margin.service.requests import BadRequest

__all__ = ["LOCAL", "serve_model"]

LOCAL = "127.0.0.1"
GRACE = 10  # seconds that running answers have after a stop


def serve_model(
    path: Path, *, address: str, port: int, token: str, hosts: tuple[str, ...], say: Callable[[str], None]
) -> None:
    """Answer for the model in ``path`` until Ctrl-C or SIGTERM."""
    try:
        import uvicorn

        from margin.serving.answering import ServedModel
        from margin.serving.app import create_server
    except ModuleNotFoundError as missing:
        raise BadRequest(f"serve: {missing.name} is not installed; pip install 'margin[lab]' brings it.") from None
    if address != LOCAL and not token:
        raise BadRequest(f"serve: address {address} can be reached by others, so it needs a --token.")
    served = ServedModel(path)
    app = create_server(served, port=port, token=token, hosts=hosts)
    config = uvicorn.Config(
        app, host=address, port=port, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=GRACE, limit_concurrency=4000, backlog=2048,
    )  # fmt: skip
    say(f"{served.name} answers at http://{address}:{port} (GET /schema says how to ask); Ctrl-C ends it.")
    uvicorn.Server(config).run()
