"""The columns of a board in a terminal of any width: names are never cut off.

Where not all columns fit beside the names, the last ones go, and that is said; then names break at their hyphens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from textwrap import wrap
from typing import NamedTuple

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

__all__ = ["ShownModel", "board_columns"]

GAP = 2  # spaces between two columns
#: Beside a name of so many characters, which breaks where it is longer, a further column is worth its place.
NAME = 24
LEAST_NAME = 8  # narrower, a name is cut into syllables


class ShownModel(NamedTuple):
    """A mark before the name, the name, the cells behind it, and the style of all of them."""

    mark: str
    name: str
    cells: Sequence[str]
    style: str = ""


def board_columns(headings: Sequence[str], rows: Sequence[ShownModel], width: int, optional: int = 0) -> Table:
    """The rows under ``headings`` (of the cells; the names are called models) in ``width`` columns of a terminal.

    The last ``optional`` columns go without a word where they do not fit.
    """
    widths = [max(map(cell_len, [head, *(_cell(row, j) for row in rows)])) for j, head in enumerate(headings)]
    mark = max((cell_len(row.mark) for row in rows), default=0)
    longest = mark + max(map(cell_len, ["model", *(row.name for row in rows)]))
    shown = _how_many(widths, width - min(longest, mark + NAME))
    name_width = min(longest, max(width - sum(widths[:shown]) - GAP * shown, mark + LEAST_NAME))
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    table.add_column(" " * mark + "model", no_wrap=True, min_width=name_width)
    for head in headings[:shown]:
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        cells = [_cell(row, j) for j in range(shown)]
        table.add_row(*map(Text, [_broken(row, mark, name_width), *cells]), style=row.style)
    missed = headings[shown : len(headings) - optional]
    if missed:
        table.caption = f"Too narrow for: {', '.join(missed)}."
    return table


def _cell(row: ShownModel, j: int) -> str:
    return row.cells[j] if j < len(row.cells) else ""


def _how_many(widths: Sequence[int], room: int) -> int:
    """How many of the columns fit into ``room``; the first, which ranks, is always there."""
    return max(1, sum(total <= room for total in accumulate(GAP + width for width in widths)))


def _broken(row: ShownModel, mark: int, width: int) -> str:
    """A name in lines of at most ``width``; those that follow stand a little to the right."""
    if mark + cell_len(row.name) <= width:
        return row.mark + row.name
    lines = wrap(row.name, max(width - mark - GAP, 1), break_on_hyphens=True)
    first, *others = lines
    return "\n".join([row.mark + first, *(" " * (mark + GAP) + line for line in others)])
