"""Fourteen Saturdays: the table on which decision trees are taught."""

from __future__ import annotations

import numpy as np

from margin.data import Table

__all__ = ["play_tennis"]

DAYS = """
sunny     hot   high    weak    no
sunny     hot   high    strong  no
overcast  hot   high    weak    yes
rain      mild  high    weak    yes
rain      cool  normal  weak    yes
rain      cool  normal  strong  no
overcast  cool  normal  strong  yes
sunny     mild  high    weak    no
sunny     cool  normal  weak    yes
rain      mild  normal  weak    yes
sunny     mild  normal  strong  yes
overcast  mild  high    strong  yes
overcast  hot   normal  weak    yes
rain      mild  high    strong  no
"""


def play_tennis() -> tuple[Table, np.ndarray]:
    """Outlook, temperature, humidity and wind of fourteen days, and whether tennis was played.

    >>> days, played = play_tennis()
    >>> days.names, int((played == "yes").sum())
    (('outlook', 'temperature', 'humidity', 'wind'), 9)
    """
    *columns, played = zip(*(line.split() for line in DAYS.strip().splitlines()), strict=True)
    names = ("outlook", "temperature", "humidity", "wind")
    kinds = dict.fromkeys(names, "category")
    return Table(dict(zip(names, map(list, columns))), kinds), np.array(played)
