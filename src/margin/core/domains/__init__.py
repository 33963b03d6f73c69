"""What values a declared parameter may take (:mod:`margin.core.parameters`).

A domain checks a value, describes itself in an error sentence and in the documentation, parses ``--set alpha=0.1`` on
the command line, gives the JSON schema of a form, draws values for a search, and names wrong values for the tests.
"""

from margin.core.domains.base import Build, Domain
from margin.core.domains.callables import Function, Options
from margin.core.domains.composed import Array, Either, Instance, Learner, Nested, Optional, Sequence
from margin.core.domains.named import Named
from margin.core.domains.resources import Device, Jobs
from margin.core.domains.values import MOST_LAYERS, Choice, Flag, Integer, Number, Seed, Text

__all__ = [
    "MOST_LAYERS",
    "Array",
    "Build",
    "Choice",
    "Device",
    "Domain",
    "Either",
    "Flag",
    "Function",
    "Instance",
    "Integer",
    "Jobs",
    "Learner",
    "Named",
    "Nested",
    "Number",
    "Optional",
    "Options",
    "Seed",
    "Sequence",
    "Text",
]
