"""What a user may ask of a service: options declared once, and the sentence where they do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from margin.core.domains import Domain
from margin.core.parameters import Declared, parameters_of

__all__ = ["BadRequest", "Request"]


class BadRequest(ValueError):
    """The user asked for something that does not exist or does not fit together; the sentence says what.

    A sentence is one line: a line break in a name or a value that it quotes is written as a space.
    """

    def __init__(self, sentence: str):
        super().__init__(" ".join(str(sentence).splitlines()))


class Request(Declared):
    """Options of one command, a line each; not changed after it is made."""

    _command: ClassVar[str]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError(f"{type(self).__name__}: {name} is set once; make another request.")
        super().__setattr__(name, value)

    def check(self) -> None:
        """Refuse what no data could make right."""
        for name, declared in parameters_of(type(self)).items():
            value = getattr(self, name)
            if not declared.domain.accepts(value):
                raise BadRequest(f"{self._command}: {name} must be {declared.domain.description}; got {value!r}.")

    @classmethod
    def of_texts(cls, values: Mapping[str, Any]) -> Self:
        """The request that texts of a command line or a form stand for; None and what is absent stay at the default."""
        declared = parameters_of(cls)
        unknown = next((name for name in values if name not in declared), None)
        if unknown is not None:
            raise BadRequest(f"{cls._command}: there is no option {unknown!r}; there are {', '.join(declared)}.")
        given = {name: value for name, value in values.items() if value is not None}
        return cls(**{name: cls._value_of(name, declared[name].domain, value) for name, value in given.items()})

    @classmethod
    def _value_of(cls, name: str, domain: Domain, value: Any) -> Any:  # noqa: ARG003
        """A text, or a list of those of a flag that is repeated, as the value that it stands for."""
        return tuple(value) if isinstance(value, list) else value
