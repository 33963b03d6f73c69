"""The application: routes, static files, and what lives as long as the server."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles

from margin import __version__
from margin.lab.api_page import api_page
from margin.lab.guard import Guard
from margin.lab.hub import EventHub
from margin.lab.lab import Lab
from margin.lab.refusals import add_refusals
from margin.lab.rooms import ROOMS
from margin.lab.routes import ROUTERS

__all__ = ["STATIC", "create_app"]

STATIC = Path(__file__).parent / "static"


def create_app(*, token: str, port: int, folder: Path | str = "runs", warm: bool = True) -> FastAPI:
    """The lab that answers on ``port`` to whoever has ``token``; ``folder`` is where runs are read and written.

    With ``warm``, a process for the next session is started before it is asked for.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.lab.start()
        try:
            yield
        finally:
            app.state.lab.close()

    app = FastAPI(
        title="Margin lab",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's page would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.lab = Lab(EventHub(), Path(folder), warm=warm)
    for name in ROUTERS:
        app.include_router(importlib.import_module(f"margin.lab.routes.{name}").router, prefix="/api")
    _add_pages(app)
    add_refusals(app)
    _add_missing(app)
    app.add_middleware(Guard, token=token, port=port)
    return app


def _add_pages(app: FastAPI) -> None:
    """One page for every address of a room; the script on it reads the address."""
    tokens = files("margin.report").joinpath("tokens.css").read_text("utf-8")

    @app.get("/static/tokens.css", include_in_schema=False)
    def colors_and_type() -> Response:
        return Response(tokens, media_type="text/css")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/api/docs", include_in_schema=False)
    def documentation() -> HTMLResponse:
        return HTMLResponse(api_page(app.openapi()))

    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", media_type="text/html")

    for path in ("/", *(f"/{room.name}" for room in ROOMS), *(f"/{room.name}/{{rest:path}}" for room in ROOMS)):
        app.add_api_route(path, page, methods=["GET"], include_in_schema=False)


def _add_missing(app: FastAPI) -> None:
    """A name that the lab does not know is an address that does not exist."""

    @app.exception_handler(KeyError)
    def not_found(_: Request, problem: KeyError) -> JSONResponse:
        return JSONResponse({"error": str(problem.args[0]) if problem.args else "There is no such thing."}, 404)
