"""What kernels of byte pairs and the Python around them share: classes of characters, and the least hash table."""

from __future__ import annotations

__all__ = ["FIRST_SLOTS", "LETTER", "NUMBER", "OTHER", "WHITE"]

OTHER, WHITE, LETTER, NUMBER = 0, 1, 2, 3  # what a character is where text is cut into pieces
FIRST_SLOTS = 2**10  # of a hash table, before it grows
