"""What is wrong with a request, as opposed to what went wrong in doing it."""

__all__ = ["BadRequest"]


class BadRequest(ValueError):
    """The user asked for something that does not exist or does not fit together; the sentence says what.

    A sentence is one line: a line break in a name or a value that it quotes is written as a space.
    """

    def __init__(self, sentence: str):
        super().__init__(" ".join(str(sentence).splitlines()))
