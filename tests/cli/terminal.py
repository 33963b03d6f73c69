"""A program in a terminal: a pseudo-terminal, and as much of a screen as progress displays need."""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
from pathlib import Path

CONTROL = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")
ROOT = Path(__file__).resolve().parents[2]


class Screen:
    """Lines of characters and a cursor: carriage return, line feed, cursor up, erase; colors are dropped.

    Lines that scroll off the top stay in ``lines``, as they do in a window with a history.
    """

    def __init__(self, width):
        self.width, self.lines, self.row, self.column = width, [""], 0, 0
        self._rest, self._wrapped = "", set()

    def feed(self, text):
        text = self._rest + text
        self._rest = ""
        position = 0
        while position < len(text):
            if text[position] == "\x1b":
                found = CONTROL.match(text, position)
                if found is None and len(text) - position < 12:  # the end has not come yet
                    self._rest = text[position:]
                    return
                assert found is not None, f"unknown control sequence {text[position : position + 12]!r}"
                self._control(*found.groups())
                position = found.end()
            else:
                self._put(text[position])
                position += 1

    def _control(self, private, numbers, letter):
        count = int(numbers) if numbers.isdigit() else 1
        if letter == "A":
            self.row = max(self.row - count, 0)
        elif letter == "K":
            line = self.lines[self.row]
            self.lines[self.row] = "" if numbers == "2" else line[: self.column]
            self._wrapped.discard(self.row)
        else:
            assert letter == "m" or private, f"unknown control sequence ESC [{numbers}{letter}"

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._next_line()
        else:
            if self.column == self.width:
                self._wrapped.add(self.row)
                self._next_line()
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1

    def _next_line(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)

    @property
    def unwrapped(self):
        """The text with the lines joined that were too long for the screen, as they are when they are copied."""
        return "".join(line if i in self._wrapped else line.rstrip() + "\n" for i, line in enumerate(self.lines))


class Terminal:
    """A Python program in a terminal of so many columns; ``until`` reads what it shows, ``type`` presses keys."""

    def __init__(self, *arguments, cwd, width=80, height=40):
        self.screen, self._decoder = Screen(width), codecs.getincrementaldecoder("utf-8")()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
            "TERM": "xterm-256color",
            "COLUMNS": str(width),
            "LINES": str(height),
            "PYTHONWARNINGS": "ignore",
        }
        self.pid, self._keys = pty.fork()
        if not self.pid:
            os.chdir(cwd)
            os.execve(sys.executable, [sys.executable, *arguments], environment)
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def until(self, seen=None):
        """Read until ``seen(screen)`` or, without it, to the end of the program; whether that was seen."""
        while seen is None or not seen(self.screen):
            ready, _, _ = select.select([self._keys], [], [], 600)
            assert ready, f"nothing for ten minutes; the screen shows\n{self.screen.text}"
            try:
                data = os.read(self._keys, 4096)
            except OSError:  # the other end is closed
                data = b""
            if not data:
                return False
            self.screen.feed(self._decoder.decode(data))
        return True

    def type(self, keys):
        os.write(self._keys, keys.encode())

    def end(self):
        """Read to the end and return the exit code."""
        self.until()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._keys)
        return code
