"""The life of a session's process: it opens fits, steps them, and sends what is to be seen."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import time
import warnings
from typing import Any

from margin.core.strict_json import strict
from margin.lab.stages.request import PlayRequest
from margin.lab.stages.views import frame, frame_text
from margin.lab.stepping import SteppedFit

__all__ = ["FitPlayer", "play_in_process"]

FRAME_SECONDS = 0.035  # between two frames of a fit that runs freely
MEMORY = 8 * 2**30  # bytes of address space beyond what the libraries take


class FitPlayer:
    """One fit and its controls; ``send`` takes the text of an event."""

    def __init__(self, send: Any):
        self.send = send
        self.request: PlayRequest | None = None
        self.fit: SteppedFit | None = None
        self.playing, self.speed, self.probe = False, 0.0, None
        self._sent = 0  # records that the other side has
        self._due = self._shown = -math.inf

    def handle(self, action: str, value: Any) -> None:
        """Do what a person asked; what goes wrong is one sentence to them."""
        try:
            getattr(self, f"do_{action}")(value)
        except MemoryError:
            self._give_up("There is not enough memory for this.")
        except Exception as problem:  # whatever it is, the process must live on
            lines = str(problem).strip().splitlines()
            self._give_up(lines[0] if lines else type(problem).__name__)

    def do_open(self, value: tuple[PlayRequest, bool, int]) -> None:
        """Begin anew: with a request, whether it plays, and after how many records it is first shown."""
        self.request, self.playing, position = value
        self.fit, self._sent = self.request.start(), 0
        while self.fit.position < max(1, position) and self.fit.step():
            pass
        self.show()

    def do_play(self, value: Any) -> None:
        self.playing = self.fit is not None and not self.fit.finished
        self.show()

    def do_pause(self, value: Any) -> None:
        self.playing = False
        self.show()

    def do_step(self, count: int) -> None:
        """``count`` records forward, or back if it is negative."""
        self.playing = False
        if self.fit is None:
            return
        if count < 0:
            self.fit.back_to(max(1, self.fit.position + count))
            self._sent = min(self._sent, self.fit.position)
        for _ in range(max(count, 0)):
            if not self.fit.step():
                break
        self.show()

    def do_speed(self, value: float) -> None:
        """So many records a second; 0 is as fast as it goes."""
        self.speed = value

    def do_probe(self, value: Any) -> None:
        self.probe = value
        self.show()

    def advance(self) -> None:
        """One record of a fit that plays."""
        if self.fit is None:
            self.playing = False
            return
        try:
            going = self.fit.step()
        except Exception as problem:
            self._give_up(str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__)
            return
        now = time.monotonic()
        self._due = now + 1 / self.speed if self.speed else now
        if not going or self.fit.finished:
            self.playing = False
        if self.speed or not self.playing or now - self._shown >= FRAME_SECONDS:
            self.show()

    def show(self) -> None:
        """Send the model as it is, and the records since the last frame."""
        if self.fit is None or self.request is None or not self.fit.records:
            return
        event = {
            "type": "frame",
            "position": self.fit.position,
            "from": self._sent,
            "records": self.fit.records[self._sent :],
            "playing": self.playing,
            "finished": self.fit.finished,
            "iterates": self.fit.iterates,
        }
        panels = frame_text(frame(self.request, self.fit.model, self.fit.X, self.fit.y, self.probe))
        self._sent, self._shown = self.fit.position, time.monotonic()
        self.send(f'{json.dumps(strict(event), allow_nan=False)[:-1]}, "panels": {panels}}}')

    def wait(self) -> float | None:
        """Seconds until the next record is due; None if there is none."""
        return max(0.0, self._due - time.monotonic()) if self.playing else None

    def _give_up(self, sentence: str) -> None:
        self.playing = False
        self.send(json.dumps({"type": "problem", "error": sentence}))


def play_in_process(pipe: Any) -> None:
    """Read commands until the pipe closes; of several fits asked for at once only the last is begun."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the server decides what it means
    warnings.simplefilter("ignore")  # what a fit remarks is no business of a page's terminal
    import torch  # noqa: F401 (the seconds that it takes are spent before anybody waits)

    _bound_memory()
    player = FitPlayer(pipe.send)
    with contextlib.suppress(EOFError, OSError):
        pipe.send(json.dumps({"type": "ready"}))
        while True:
            if not pipe.poll(player.wait()):
                player.advance()
                continue
            commands = [pipe.recv()]
            while pipe.poll(0):
                commands.append(pipe.recv())
            last = max((i for i, (action, _) in enumerate(commands) if action == "open"), default=0)
            for action, value in commands[last:]:
                player.handle(action, value)


def _bound_memory() -> None:
    try:
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        return  # a system without such limits has its own way to say no
