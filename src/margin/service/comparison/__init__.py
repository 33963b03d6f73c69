"""Every suitable model of the catalog on one table, with evidence, surviving a kill.

To read it in order: ``request`` (what a comparison is to do), ``data`` (rows and remarks), ``copies`` (rows that
repeat), ``deciding`` (the metric), ``candidates`` (models), ``folder`` (what is kept), ``result`` (what a user gets),
``leaders`` (blend and stack), ``finishing`` (judgement and last fit) and ``last_fits`` (the same within a budget),
``one_model`` (where none was measured), ``job`` (all the work), ``running`` (from a request to its result), ``calling``
(``margin.compare``), ``showing``. ``generative`` compares models that draw new rows.
"""

from margin.service.comparison.calling import compare
from margin.service.comparison.candidates import BASELINE
from margin.service.comparison.deciding import PRIMARY
from margin.service.comparison.request import ComparisonRequest
from margin.service.comparison.result import Comparison
from margin.service.comparison.running import open_comparison, run_comparison

__all__ = ["BASELINE", "PRIMARY", "Comparison", "ComparisonRequest", "compare", "open_comparison", "run_comparison"]
