"""Ours against the libraries a user would pick instead, and full-scale studies; ``README.md`` says what is where."""
