"""The Dockerfile copies what exists, ends as another user than root, and starts a command that there is."""

import re
from pathlib import Path

from typer.testing import CliRunner

from margin.cli import app

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text().splitlines()
INSTRUCTIONS = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}


def test_every_line_is_an_instruction_and_the_last_user_is_not_root():
    words = [line.split()[0] for line in LINES if line and not line.startswith("#")]
    assert set(words) <= INSTRUCTIONS
    assert words[0] == "FROM"
    assert words.index("USER") > len(words) - 5
    assert "USER margin" in LINES


def test_what_is_copied_exists():
    copied = [line.split()[1:-1] for line in LINES if line.startswith("COPY") and "--from" not in line]
    for path in (path for paths in copied for path in paths):
        assert (ROOT / path).exists(), path


def test_the_command_exists_with_its_options():
    (entry,) = (line for line in LINES if line.startswith("ENTRYPOINT"))
    words = re.findall(r'"([^"]*)"', entry)
    assert words[0] == "margin"
    shown = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"}).output
    assert all(word in shown for word in words if word.startswith("--"))
