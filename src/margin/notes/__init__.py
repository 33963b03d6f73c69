"""The notes' wing: what the notes say row by row (``atlas``), a check of every statement (``claims``), phenomena worth
looking at (``experiments``), and what only these use.

Models and services know nothing of it but its verdicts: product packages never import it.
"""
