"""How the lab and a served model refuse a request: one sentence under ``error``."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from margin.core.full_disk import is_full_disk
from margin.service.requests import BadRequest

__all__ = ["add_refusals", "refusal_of"]


def refusal_of(problem: Exception) -> JSONResponse | None:
    """The answer to a request that cannot be met; None where ``problem`` is a fault of the server."""
    if isinstance(problem, BadRequest):
        return JSONResponse({"error": str(problem)}, 400)
    if isinstance(problem, HTTPException):
        return JSONResponse({"error": str(problem.detail)}, problem.status_code)
    if isinstance(problem, OSError) and is_full_disk(problem):
        return JSONResponse({"error": "The disk is full: nothing was kept; make room and try again."}, 507)
    return None


def add_refusals(app: FastAPI) -> None:
    """Let ``app`` answer what it cannot do with one sentence under ``error``."""

    @app.exception_handler(BadRequest)
    @app.exception_handler(HTTPException)
    @app.exception_handler(OSError)
    def refused(_: Request, problem: Exception) -> JSONResponse:
        answer = refusal_of(problem)
        if answer is None:
            raise problem
        return answer

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, problem: RequestValidationError) -> JSONResponse:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        return JSONResponse({"error": f"The request's {place or 'body'}: {first['msg']}."}, 422)
