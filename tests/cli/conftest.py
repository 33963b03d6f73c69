"""Commands are called as a user would, in a folder of their own."""

import pytest
from typer.testing import CliRunner

from margin.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call ``margin`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert outcome.exit_code == code, f"{outcome.stdout}\n{outcome.stderr}\n{outcome.exception!r}"
        return outcome

    return call
