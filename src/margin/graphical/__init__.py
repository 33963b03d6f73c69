"""Probabilistic graphical models: products of tables over few variables, directed or not, learned and queried."""

__all__: list[str] = []
