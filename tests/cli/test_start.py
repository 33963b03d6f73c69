"""Commands are imported when they are called, and what scikit-learn loads for others when it is asked for."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.main import get_group

import margin.cli
from margin.cli.app import MODULES
from margin.cli.light_start import DEFERRED


def modules_after(code):
    listing = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("module", dict.fromkeys(MODULES.values()))
def test_a_module_registers_the_commands_that_the_table_says(module):
    part = typer.Typer()
    import_module(f"margin.cli.{module}").register(part)
    assert list(get_group(part).commands) == [name for name, home in MODULES.items() if home == module]


def test_every_module_with_commands_is_in_the_table():
    folder = Path(margin.cli.__file__).parent
    found = {path.stem for path in folder.glob("*.py") if "\ndef register(app" in path.read_text()}
    assert found == set(MODULES.values())


def test_a_command_imports_no_other():
    called = "from margin.cli import app\ntry: app(['predict', '--help'])\nexcept SystemExit: pass"
    loaded = {name.removeprefix("margin.cli.") for name in modules_after(called) if name.startswith("margin.cli.")}
    assert loaded & set(MODULES.values()) == {"predicting"}


def test_a_misspelled_command_is_answered_with_the_nearest():
    done = subprocess.run([sys.executable, "-m", "margin", "compere"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "'compare'" in done.stderr


LIGHT = "from margin.cli.light_start import import_scikit_learn; import_scikit_learn()"


def test_scikit_learn_is_imported_without_what_it_loads_for_others():
    assert "sklearn" in modules_after(LIGHT)
    assert not modules_after(LIGHT) & set(DEFERRED)


USES = """
import numpy as np, scipy, pandas as pd
from scipy._lib.array_api_compat import numpy as copied
from sklearn.utils import _array_api
assert np.ma.masked_equal([1, 2], 2).sum() == 1 and copied.ma.masked_equal([1, 2], 2).sum() == 1
np.testing.assert_allclose(_array_api.special.expit(0.0), 0.5)
from scipy.special import logsumexp, xlogy
assert xlogy(0.0, 0.0) == 0.0 and scipy.special.logsumexp is logsumexp
assert scipy.stats.norm.cdf(0.0) == 0.5
assert callable(np.f2py.get_include)
from sklearn.linear_model import LogisticRegression
frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
print(*LogisticRegression().fit(frame, [0, 0, 1, 1]).predict(frame))
"""


def test_what_was_left_out_is_the_real_one_when_it_is_used():
    done = subprocess.run([sys.executable, "-c", f"{LIGHT}\n{USES}"], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "0", "1", "1"], done.stderr
