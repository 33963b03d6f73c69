"""The rooms of the lab, in the order in which the page offers them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOMS", "Room", "open_rooms"]


@dataclass(frozen=True)
class Room:
    """One room: its name in addresses, its title, and the module under ``static`` whose default export draws it."""

    name: str
    title: str
    module: str
    sentence: str


ROOMS = (
    Room("notes", "Notes", "rooms/notes.js", "Every statement of the notes, with its verdict."),
    Room("play", "Play", "play/room.js", "Watch a method learn, on data you can touch."),
    Room("compare", "Compare", "rooms/compare.js", "Which model suits a table, with evidence."),
    Room("runs", "Runs", "rooms/runs.js", "What was trained, side by side."),
    Room("gallery", "Gallery", "rooms/gallery.js", "Every experiment with its picture and its claim."),
)


def open_rooms(static: Path) -> list[Room]:
    """The rooms that are built."""
    return [room for room in ROOMS if (static / room.module).exists()]
