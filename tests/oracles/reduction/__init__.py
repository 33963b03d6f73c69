"""Reductions against scikit-learn's, SciPy's and formulas written out."""
