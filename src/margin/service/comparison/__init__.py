"""Every suitable model of the catalog on one table, with evidence, surviving a kill.

To read it in order: ``comparison_request`` (beside this package: what may be asked), ``data`` (rows and remarks),
``drawn`` (rows of many files), ``copies`` (rows that repeat), ``deciding`` (the metric), ``rows`` and ``candidates``
(models), ``folder`` (what is kept), ``setup`` (all that is fixed), ``result`` (what is known at a moment), ``caveats``
(what to say beside it), ``job`` (what changes), ``trials`` (its work), ``leaders`` (blend and stack), ``one_model``
(where none was measured), ``finishing`` (judgement and last fit), ``last_fits`` (the same within a budget),
``all_rows`` (of many files), ``running`` (from a request to its result), ``calling`` (``margin.compare``), ``showing``
(the view). ``generative`` compares models that draw new rows.

A page or another program that compares uses four things: :func:`comparison_options` (every option with type, default
and help, as data for a form), :class:`ComparisonRequest` (``of_texts`` makes one from such a form),
:class:`BackgroundComparison` (runs one in a thread, its trials in processes; ``snapshot``, ``stop``, and the same
folder again continues) and :func:`board_snapshot` (what is known at a moment as plain values).
"""

from margin.service.comparison.background import BackgroundComparison
from margin.service.comparison.calling import compare
from margin.service.comparison.candidates import BASELINE
from margin.service.comparison.deciding import PRIMARY
from margin.service.comparison.job import Oversight
from margin.service.comparison.result import Comparison
from margin.service.comparison.running import open_comparison, run_comparison
from margin.service.comparison.showing import board_snapshot
from margin.service.comparison_request import ComparisonRequest, comparison_options

__all__ = [
    "BASELINE",
    "PRIMARY",
    "BackgroundComparison",
    "Comparison",
    "ComparisonRequest",
    "Oversight",
    "board_snapshot",
    "compare",
    "comparison_options",
    "open_comparison",
    "run_comparison",
]
