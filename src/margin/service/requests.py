"""What is wrong with a request, as opposed to what went wrong in doing it."""

__all__ = ["BadRequest"]


class BadRequest(ValueError):
    """The user asked for something that does not exist or does not fit together; the sentence says what."""
