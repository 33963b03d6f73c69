"""The addresses of a served model.

| address | answer |
|---|---|
| GET /health | whether it answers, and what has been asked |
| GET /schema | the model, its columns, and the JSON schema of a question |
| POST /predict | predictions for rows, texts or pictures |
| POST /generate | what a language model writes, as server-sent events or at once |
| GET /openapi.json | all of this for programs |
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from margin import __version__
from margin.lab.refusals import add_refusals, refusal_of
from margin.service.requests import BadRequest
from margin.serving.answering import KINDS, ServedModel
from margin.serving.batching import Batcher, TooBusy
from margin.serving.guard import ServingGuard
from margin.serving.schemas import openapi_with, question_schema

__all__ = ["RequestLimits", "create_server"]

PREDICT = "/predict"


@dataclass(frozen=True)
class RequestLimits:
    """What one request may cost."""

    bytes: int = 20_000_000
    rows: int = 10_000
    seconds: float = 60.0
    tokens: int = 2000


class Writing(BaseModel):
    """The body of ``/generate``."""

    model_config = ConfigDict(extra="forbid")

    prompt: StrictStr = ""
    max_tokens: int = Field(200, ge=1)
    temperature: float = Field(1.0, ge=0, allow_inf_nan=False)
    top_k: int | None = Field(None, ge=1)
    top_p: float | None = Field(None, gt=0, le=1)
    repetition_penalty: float = Field(1.0, gt=0, allow_inf_nan=False)
    stop: list[StrictStr] = Field(default_factory=list, max_length=16)
    seed: int | None = Field(None, ge=0)
    stream: StrictBool = True


def create_server(
    served: ServedModel, *, port: int, token: str = "", hosts: tuple[str, ...] = (), limits: RequestLimits | None = None
) -> FastAPI:
    """The application that answers for ``served``."""
    limits = limits or RequestLimits()
    batchers = {proba: Batcher(partial(served.predict, proba=proba), limits.rows) for proba in (False, True)}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        for batcher in batchers.values():
            batcher.close()

    app = FastAPI(
        title=f"{served.name} by Margin", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    make = app.openapi
    app.openapi = lambda: openapi_with(make(), served)  # type: ignore[method-assign]
    app.state.counts = {"requests": 0, "answers": 0}
    _add_facts(app, served, batchers)
    if served.predicts:
        predictions = PredictEndpoint(served, batchers, limits, app.state.counts)
        app.router.routes.append(Route(PREDICT, predictions, methods=["POST"]))  # what other methods there are told
        app.add_middleware(Shortcut, endpoint=predictions)
    if served.writes:
        _add_writing(app, served, limits)
    add_refusals(app)
    app.add_middleware(ServingGuard, port=port, token=token, hosts=hosts, max_bytes=limits.bytes)
    return app


def _add_facts(app: FastAPI, served: ServedModel, batchers: dict[bool, Batcher]) -> None:
    @app.get("/health")
    def health() -> dict[str, Any]:
        """Whether the server answers, and what has been asked so far."""
        batches = sum(batcher.batches for batcher in batchers.values())
        return {"status": "ok", "model": served.name, **app.state.counts, "batches": batches}

    @app.get("/schema")
    def schema() -> dict[str, Any]:
        """The model and what a question to it looks like."""
        facts: dict[str, Any] = {"model": served.name, "task": served.task, "margin": __version__}
        if served.predicts:
            facts |= {"question": question_schema(served), "classes": served.classes}
        if served.writes:
            facts["writing"] = Writing.model_json_schema()
        return facts


class Shortcut:
    """Leads questions to ``endpoint`` past the layers of FastAPI, which take longer than most models do."""

    def __init__(self, app: ASGIApp, *, endpoint: ASGIApp):
        self.app, self.endpoint = app, endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PREDICT or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            await self.endpoint(scope, receive, send)
        except (BadRequest, HTTPException, OSError) as problem:  # before anything was answered
            answer = refusal_of(problem)
            if answer is None:
                raise
            await answer(scope, receive, send)


class PredictEndpoint:
    """A prediction for every row, text or picture."""

    def __init__(
        self, served: ServedModel, batchers: dict[bool, Batcher], limits: RequestLimits, counts: dict[str, int]
    ):
        self.name, self.batchers, self.limits, self.counts = KINDS[served.kind], batchers, limits, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        questions, proba = _question(await _body(Request(scope, receive)), self.name, self.limits)
        self.counts["requests"] += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                answers = await self.batchers[proba].ask(questions)
        except TimeoutError:
            raise HTTPException(504, f"No answer within {self.limits.seconds:g} s.") from None
        except TooBusy:
            raise HTTPException(503, "Too many questions wait; ask again later.") from None
        self.counts["answers"] += len(answers)
        await JSONResponse({"probabilities" if proba else "predictions": answers})(scope, receive, send)


async def _body(request: Request) -> Any:
    try:
        return json.loads(await request.body(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadRequest("The body must be JSON.") from None


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _question(body: Any, name: str, limits: RequestLimits) -> tuple[list[Any], bool]:
    if not isinstance(body, dict) or set(body) - {name, "proba"} or name not in body:
        raise BadRequest(f"The body must be an object with {name!r} and, if wanted, 'proba'; GET /schema tells more.")
    questions, proba = body[name], body.get("proba", False)
    if not isinstance(questions, list) or not questions:
        raise BadRequest(f"{name}: must be a list that is not empty.")
    if len(questions) > limits.rows:
        raise BadRequest(f"{name}: at most {limits.rows:,} at once; got {len(questions):,}.")
    if name != "rows" and not all(isinstance(question, str) for question in questions):
        raise BadRequest(f"{name}: must be strings.")
    if not isinstance(proba, bool):
        raise BadRequest("proba: must be true or false.")
    return questions, proba


def _add_writing(app: FastAPI, served: ServedModel, limits: RequestLimits) -> None:
    @app.post("/generate")
    def generate(wish: Writing) -> Any:
        """What follows the prompt: a stream of events, or one object with ``"stream": false``."""
        if wish.max_tokens > limits.tokens:
            raise BadRequest(f"max_tokens: at most {limits.tokens:,}; got {wish.max_tokens:,}.")
        app.state.counts["requests"] += 1
        options = wish.model_dump(exclude={"prompt", "max_tokens", "stream", "seed"}) | {"random_state": wish.seed}
        pieces = served.write(wish.prompt, wish.max_tokens, **options)
        if not wish.stream:
            return {"text": "".join(pieces)}
        first = next(pieces, None)  # what is wrong with the wish shows before the answer begins
        return StreamingResponse(_events(first, pieces), media_type="text/event-stream")


def _events(first: str | None, pieces: Iterator[str]) -> Iterator[str]:
    if first is not None:
        yield f"data: {json.dumps({'text': first})}\n\n"
    for piece in pieces:
        yield f"data: {json.dumps({'text': piece})}\n\n"
    yield "event: end\ndata: {}\n\n"
