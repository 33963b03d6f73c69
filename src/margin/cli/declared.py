"""Flags of a command from the options that a service declares: type, default, help and bounds are not repeated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from margin.core.domains import Domain, Either, Flag, Integer, Number
from margin.core.parameters import Parameter, parameters_of
from margin.service.comparison_request import flag_of, is_repeated

__all__ = ["with_options"]

Complete = Callable[[str], list[str]]


def with_options(
    command: Callable[..., None],
    *declared: type,
    short: Mapping[str, str],
    metavars: Mapping[str, str],
    completions: Mapping[str, Complete],
) -> Callable[..., None]:
    """The command, whose ``**options`` become one flag for every parameter that the ``declared`` classes have.

    ``short`` are further spellings, ``metavars`` what stands for a value in the help, ``completions`` what a shell
    offers, each by the name of the option.
    """
    own = list(inspect.signature(command, eval_str=True).parameters.values())
    at = next(i for i, p in enumerate(own) if p.kind is inspect.Parameter.VAR_KEYWORD)
    before = [p for p in own[:at] if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    after = [p for p in own[:at] if p.kind is inspect.Parameter.KEYWORD_ONLY]
    flags = [
        _flag(option, short.get(name), metavars.get(name), completions.get(name))
        for cls in declared
        for name, option in parameters_of(cls).items()
    ]
    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in [*flags, *after]]

    @wraps(command)
    def with_flags(*args: Any, **options: Any) -> None:
        command(*args, **options)

    with_flags.__signature__ = inspect.Signature([*before, *keyword_only])  # type: ignore[attr-defined]
    return with_flags


def _flag(option: Parameter, short: str | None, metavar: str | None, complete: Complete | None) -> inspect.Parameter:
    repeated, domain = is_repeated(option.domain), _without_none(option.domain)
    flags = [flag_of(option.name)]
    if isinstance(domain, Flag) and option.default is not False:
        flags = [f"{flags[0]}/--no-{flags[0].removeprefix('--')}"]
    low = domain.low if isinstance(domain, Integer) else None
    help_text = f"{option.sentence.rstrip('.')}; may be repeated." if repeated else option.sentence
    spelled = typer.Option(
        *flags, *([short] if short else []), help=help_text, min=low, metavar=metavar, autocompletion=complete
    )
    default = None if repeated else option.default
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[_type(option), spelled]
    )


def _type(option: Parameter) -> Any:
    """What the command line gives for an option: text, unless it is a number or a truth value, or several texts."""
    if is_repeated(option.domain):
        return list[str] | None
    domain = _without_none(option.domain)
    kinds = {Flag: bool, Integer: int, Number: float}
    plain = next((kind for cls, kind in kinds.items() if isinstance(domain, cls)), str)
    return plain if option.default is not None else plain | None


def _without_none(domain: Domain) -> Domain:
    return domain.parts[0] if isinstance(domain, Either) else domain
