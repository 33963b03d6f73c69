"""Locks of files between processes, where the file system has them."""

from __future__ import annotations

import errno

__all__ = ["take_lock"]

#: What says that another process has the lock; anything else says that there are no locks here.
TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


def take_lock(number: int, *, shared: bool = False) -> bool | None:
    """Lock an open file until it is closed: True if that worked, False if another process has it.

    None where nobody can have one: some network file systems and folders of other systems refuse every lock.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as problem:
        return False if problem.errno in TAKEN else None
    return True
