"""The board in terminals of any width: no name is cut off, and what does not fit is named."""

import pytest
from rich.console import Console

from margin.cli.board_columns import ShownModel, board_columns

HEADINGS = ("accuracy ↑", "95 % interval", "fit s", "predict s")
NAMES = ("hist-gradient-boosting-classifier", "quadratic-discriminant-analysis", "svc", "id3")
ROWS = [
    ShownModel("≈ ", NAMES[0], ("0.9123", "0.9000…0.9211", "12.345", "0.123"), "bold"),
    ShownModel("  ", NAMES[1], ("0.9023", "on 2,000 rows", "0.345", "0.123"), "dim"),
    ShownModel("  ", NAMES[2], ("failed",), "red"),
    ShownModel("  ", NAMES[3], ("left out",)),
]


def drawn(width):
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(board_columns(HEADINGS, ROWS, width))
    return captured.get().splitlines()


def names_in(lines):
    """The first column, what was broken at a hyphen put together again."""
    found = []
    for line in lines[1:]:
        if line.startswith("Too narrow") or not line[:4].strip():
            if found and not line.startswith("Too narrow") and line.startswith("    "):
                found[-1] += line.split()[0]
            continue
        if line.startswith(("≈ ", "  ")):
            found.append(line[2:].split()[0])
    return found


@pytest.mark.parametrize("width", [24, 30, 40, 50, 60, 70, 80, 100, 200])
def test_every_name_and_score_is_whole_at_any_width(width):
    lines = drawn(width)
    assert names_in(lines) == list(NAMES)
    text = "\n".join(lines)
    assert all(row.cells[0] in text for row in ROWS)
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split()).partition("Too narrow for: ")[2].rstrip(".")
    hidden = [] if not told else told.split(", ")
    heading = lines[0]
    assert [head for head in HEADINGS if head not in heading] == hidden


def test_more_room_shows_more_columns():
    shown = [sum(head in drawn(width)[0] for head in HEADINGS) for width in (40, 50, 60, 70, 80, 100)]
    assert shown == sorted(shown)
    assert (shown[0], shown[2], shown[-1]) == (1, 2, 4)
