"""Learning from rows of which only some have labels: self-training around any classifier, pseudo-labels for a network.

A row without a label is marked by -1 (with labels that are numbers), None or NaN.
"""

from margin.semi.pseudo_label import PseudoLabel
from margin.semi.self_training import SelfTraining

__all__ = ["PseudoLabel", "SelfTraining"]
