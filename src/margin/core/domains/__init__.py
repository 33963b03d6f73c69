"""Hyperparameters declared once: what values a parameter may take.

A class writes ``domains = {"alpha": Number(low=0), "kernel": Choice("rbf", "poly")}`` beside its
``__init__``. From this one table come validation and its error sentences, parsing of ``--set alpha=0.1`` on the
command line, JSON schemas for forms, search spaces, parameter tables, and the tests for invalid parameters
(:mod:`margin.core.parameters`).
"""

from margin.core.domains.base import Build, Domain
from margin.core.domains.composed import Array, Either, Nested, Optional, Sequence
from margin.core.domains.values import Choice, Flag, Integer, Number, Seed, Text

__all__ = [
    "Array",
    "Build",
    "Choice",
    "Domain",
    "Either",
    "Flag",
    "Integer",
    "Nested",
    "Number",
    "Optional",
    "Seed",
    "Sequence",
    "Text",
]
