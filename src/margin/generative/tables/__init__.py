"""Synthetic rows of tables with numbers and categories, and whether they give away the rows they were learned from."""
