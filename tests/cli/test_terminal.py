"""``margin compare`` in a terminal: a board that grows, Ctrl-C, and the same command again."""

import re
import shlex

import numpy as np
import pytest

pytest.importorskip("pty", reason="pseudo-terminals are a thing of Unix")

from tests.cli.terminal import Screen, Terminal

MODELS = ["gaussian-nb", "bernoulli-nb", "multinomial-nb", "categorical-nb", "linear-discriminant-analysis"]
FOLDS = 8


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    size, noise = rng.normal(size=(2, 300))
    rows = [f"{s:.3f},{n:.3f},{'yes' if s + 0.5 * n > 0 else 'no'}" for s, n in zip(size, noise)]
    (tmp_path / "houses.csv").write_text("\n".join(["size,noise,sold", *rows]) + "\n")
    return tmp_path


def command(*more):
    models = [part for model in MODELS for part in ("-m", model)]
    return ["-m", "margin", "compare", "houses.csv", "-t", "sold", *models, "--folds", str(FOLDS), "-j", "1", *more]


def trials_done(screen):
    """Trials that the heading of the live board counts."""
    found = re.findall(r"(\d+) of (\d+) trials", screen.text)
    return int(found[-1][0]) if found else 0


def test_the_board_grows_ctrl_c_keeps_it_and_the_same_command_goes_on(folder):
    asked = command("--no-report", "--no-curve", "--held-out", "0")
    terminal = Terminal(*asked, cwd=folder)
    assert terminal.until(lambda screen: trials_done(screen) > 0), terminal.screen.text
    assert "model" in terminal.screen.text
    terminal.type("\x03")
    code = terminal.end()
    shown = terminal.screen.text
    kept = (folder / "runs" / "compare-houses" / "trials.jsonl").read_text().splitlines()
    assert code == 130, shown
    assert 0 < len(kept) < len(MODELS) * FOLDS + FOLDS
    assert "houses.csv: classification" in shown
    assert re.search(r"best so far, [\w-]+, is saved in", shown)
    assert "Traceback" not in shown
    said = terminal.screen.unwrapped.partition("To continue:")[2].strip()
    assert shlex.split(said)[:3] == ["margin", "compare", "houses.csv"]

    again = Terminal("-m", *shlex.split(said), "--no-report", "-j", "1", cwd=folder)
    assert again.end() == 0, again.screen.text
    after = (folder / "runs" / "compare-houses" / "trials.jsonl").read_text().splitlines()
    assert after[: len(kept)] == kept, "what was done is not done again"
    assert len(after) > len(kept)
    board = again.screen.text
    assert all(model in board for model in MODELS)
    assert f"{FOLDS} folds" in board
    assert "trials" not in board, "the live board is gone, the last one stays"
    assert max(map(len, board.splitlines())) <= 80
    assert board.count("≈ ") + board.count("  baseline") >= 1


def test_the_screen_model_moves_and_erases():
    screen = Screen(10)
    screen.feed("one\r\ntwo\r\n\x1b[1A\x1b[2K\rthr\x1b[1mee\x1b[0m\r\n\x1b[?25l")
    assert screen.text == "one\nthree\n"
    screen.feed("0123456789ab\x1b[")
    screen.feed("1A\r..\x1b[K")
    assert screen.text.splitlines()[2:] == ["..", "ab"]
