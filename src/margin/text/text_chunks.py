"""Text files read in chunks that end where a piece always ends, so that their tokens are those of the whole text."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

__all__ = ["CHUNK_BYTES", "text_chunks"]

CHUNK_BYTES = 2**20  # read at a time
BREAKS = " \t\n\r"


def text_chunks(path: Path) -> Iterator[str]:
    """The text of a UTF-8 file in parts; joined they are the text. Where it is no UTF-8, the sentence says at which
    byte."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    text, seen = "", 0
    with path.open("rb") as file:
        while True:
            content = file.read(CHUNK_BYTES)
            pending = len(decoder.getstate()[0])  # bytes of a character that the chunk before has cut
            try:
                text += decoder.decode(content, final=not content)
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}: the file must be UTF-8 text; byte {seen - pending + error.start} is "
                    f"0x{error.object[error.start]:02x}, which is not."
                ) from None
            text = text if seen else text.removeprefix("\ufeff")
            seen += len(content)
            if not content:
                break
            end = _last_break(text)
            if end:
                yield text[:end]
                text = text[end:]
    if text:
        yield text


def _last_break(text: str) -> int:
    """Where the last white space after something visible begins: a piece ends there whatever follows; 0: nowhere."""
    for i in range(len(text) - 1, 0, -1):
        if text[i] in BREAKS and not text[i - 1].isspace():
            return i
    return 0
