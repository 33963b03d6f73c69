"""A conversation with a language model as one growing text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from margin.text.language_model import LanguageModel

__all__ = ["Chat"]


class Chat:
    r"""Turns of a user and a model; the model reads all of them before each of its own.

    A turn stands in the text as ``user`` + message + ``end`` + ``reply`` + answer + ``end``, the form of the texts that
    the model has learned from; ``opening`` stands before the first one. An answer ends before the next ``user``.

    >>> from margin.text import LanguageModel
    >>> talk = "Q: hi\nA: yo\nQ: bye\nA: no\n" * 40
    >>> model = LanguageModel(d_model=16, n_heads=2, n_blocks=1, context=32, max_iter=100, random_state=0).fit(talk)
    >>> chat = model.chat(user="Q: ", reply="A: ")
    >>> chat.say("hi", temperature=0), chat.say("bye", temperature=0)
    ('yo', 'no')
    >>> chat.turns
    [('hi', 'yo'), ('bye', 'no')]
    """

    def __init__(self, model: LanguageModel, opening: str, user: str, reply: str, end: str):
        for name, value in {"opening": opening, "reply": reply}.items():
            if not isinstance(value, str):
                raise ValueError(f"Chat: {name} must be a string; got {value!r}.")
        for name, value in {"user": user, "end": end}.items():
            if not isinstance(value, str) or not value:
                raise ValueError(f"Chat: {name} must be a string of some length; got {value!r}.")
        self.model, self.opening, self.user, self.reply, self.end = model, opening, user, reply, end
        self.turns: list[tuple[str, str]] = []

    @property
    def text(self) -> str:
        """All that was said."""
        return self.opening + "".join(self._format_turn(message) + answer + self.end for message, answer in self.turns)

    def say(self, message: str, max_tokens: int = 200, **drawing: Any) -> str:
        """The answer to ``message``; ``drawing`` are options of :meth:`LanguageModel.stream` but ``stop``."""
        return "".join(self.stream(message, max_tokens, **drawing))

    def stream(self, message: str, max_tokens: int = 200, **drawing: Any) -> Iterator[str]:
        """The answer piece by piece; the turn counts when it is over."""
        if not isinstance(message, str) or not message:
            raise ValueError(f"Chat: message must be a string with something in it; got {message!r}.")
        pieces = self.model.stream(
            self.text + self._format_turn(message), max_tokens, stop=[self.end + self.user], **drawing
        )
        return self._stream_answer(message, pieces)

    def _format_turn(self, message: str) -> str:
        return f"{self.user}{message}{self.end}{self.reply}"

    def _stream_answer(self, message: str, pieces: Iterator[str]) -> Iterator[str]:
        answer: list[str] = []
        for piece in pieces:
            answer.append(piece)
            yield piece
        self.turns.append((message, "".join(answer).removesuffix(self.end)))
