"""``margin describe``: what a table holds and what would become of each of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from margin.data import Profile, profile
from margin.service.requests import BadRequest
from margin.service.sources import image_folder, open_table
from margin.service.stream_profiles import profile_stream
from margin.service.streams import is_too_large, names_stream

__all__ = ["describe", "parsed_kinds"]


def describe(
    data: str,
    *,
    target: str | None = None,
    kinds: Sequence[str] | Mapping[str, str] = (),
    ignore: Sequence[str] = (),
) -> Profile:
    """The profile of a file, many files or a named set; ``kinds`` are written ``column=kind``, or are a mapping."""
    folder = None if names_stream(data) else image_folder(data)
    if folder is not None:
        raise BadRequest(f"describe: {folder} is a folder of pictures; describe reads tables, compare takes it.")
    wanted = kinds if isinstance(kinds, Mapping) else parsed_kinds(kinds)
    streamed = is_too_large(data)
    table, known = (None, None) if streamed else open_table(data)
    try:
        if streamed:
            return profile_stream(data, target, wanted, ignore)
        return profile(table, target or known, kinds=wanted, ignore=ignore)
    except ValueError as problem:
        raise BadRequest(str(problem).removeprefix("profile: ")) from None


def parsed_kinds(settings: Sequence[str]) -> dict[str, str]:
    """``["zip=category", "id=identifier"]`` as a dictionary; a comma separates several in one string.

    >>> parsed_kinds(["zip=category,age=number"])
    {'zip': 'category', 'age': 'number'}
    """
    kinds = {}
    for setting in (part for text in settings for part in text.split(",")):
        column, sign, kind = setting.rpartition("=")
        if not sign or not column.strip() or not kind.strip():
            raise BadRequest(f"Kinds are written column=kind; got {setting!r}.")
        kinds[column.strip()] = kind.strip()
    return kinds
