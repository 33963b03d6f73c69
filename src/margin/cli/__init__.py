"""The command line: parse, call one service function, render."""

from margin.cli.app import app, main

__all__ = ["app", "main"]
