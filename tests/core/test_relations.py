"""Our trees and least squares count as scikit-learn's, except in a process that only predicts."""

import subprocess
import sys

import pytest

CHECK = """
import sys
{first}
from margin.linear import LinearRegression
from margin.trees import DecisionTreeClassifier, DecisionTreeRegressor
print("sklearn.tree" in sys.modules, "sklearn.linear_model" in sys.modules)
import sklearn.linear_model, sklearn.tree
pairs = [(LinearRegression, sklearn.linear_model), (DecisionTreeClassifier, sklearn.tree),
         (DecisionTreeRegressor, sklearn.tree)]
print(all(issubclass(ours, getattr(theirs, ours.__name__)) for ours, theirs in pairs))
"""
LIGHT = "from margin.cli.light_start import import_scikit_learn; import_scikit_learn()"


@pytest.mark.parametrize(
    "first, wanted",
    [
        ("", "True True True"),
        ("import sklearn.tree, sklearn.linear_model", "True True True"),
        (LIGHT, "False False False"),
    ],
)
def test_relations_are_made_outright_but_for_one_prediction(first, wanted):
    done = subprocess.run([sys.executable, "-c", CHECK.format(first=first)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == wanted.split()
