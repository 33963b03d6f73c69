"""What a table tells before a model sees it: columns left out, leaks, and the same judgement for a single fit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from margin import data as data_package
from margin.data import Profile
from margin.service.requests import BadRequest
from margin.service.sources import Source

__all__ = ["left_out_remarks", "lost_values", "profile_source"]

MOST_COLUMNS_NAMED = 8


def profile_source(source: Source) -> tuple[Source, Profile | None, list[str]]:
    """The columns of a table that a model may see, how they were judged, and what to beware; other sources as they are.

    It is the judgement that a comparison makes, so that one fit sees what the board saw.
    """
    if source.table is None or source.y is None:
        return source, None, []
    profile = data_package.profile(source.table.beside(source.target, source.y), source.target)
    if not profile.used:
        reasons = "; ".join(f"{c.name}: {c.remark}" for c in profile.columns if c.name != source.target)
        raise BadRequest(f"No column of {source.name} can be used ({reasons or 'there is only the target'}).")
    X = profile.table.select(profile.used)
    remarks = [*left_out_remarks(profile, ()), *lost_values(profile), *(r for r in profile.remarks if "away" in r)]
    return replace(source, given=None, features=X.names, table=X), profile, remarks


def left_out_remarks(profile: Profile, named_by_user: Collection[str]) -> list[str]:
    """A remark for every column that no model sees, but for those the user named."""
    silent = {*named_by_user, profile.target}
    remarks = [f"{c.name}: {c.remark}." for c in profile.columns if not c.used and c.name not in silent]
    more = len(remarks) - MOST_COLUMNS_NAMED
    return remarks if more <= 1 else [*remarks[:MOST_COLUMNS_NAMED], f"{more} more columns are left out."]


def lost_values(profile: Profile) -> list[str]:
    """A remark for every column in which values are there but count as missing."""
    lost = [(c.name, part) for c in profile.columns if c.used for part in c.remark.split("; ") if "as missing" in part]
    return [f"{name}: {part}." for name, part in lost[:MOST_COLUMNS_NAMED]]
