"""Signals that ask a job to stop, as wishes that work can look at between two steps."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WARNING = signal.SIGURG
"""What Slurm sends ahead of the time limit (profiles/slurm): unlike other signals, those processes
of the job that do not listen (shells, Snakemake) ignore it."""


class Stop:
    """Whether the work was asked to stop, and by which signal.

    Attributes:
        reason: name of the first signal, such as ``SIGTERM``; None as long as there was none.
    """

    reason: str | None = None

    def ask(self, received: signal.Signals) -> None:
        """Wish that the work stops; the first reason counts."""
        self.reason = self.reason or received.name

    def __call__(self) -> bool:
        return self.reason is not None


class Terminated(BaseException):
    """Work that cannot save its state was asked to end."""


@contextmanager
def listening(resumable: bool) -> Iterator[Stop]:
    """Turn signals into a wish to stop, until the end of the block.

    Args:
        resumable: the work looks at the wish and saves its state. Other work ignores the warning
            and is ended by SIGTERM and SIGINT as usual, with everything cleaned up.

    Raises:
        Terminated: SIGTERM or SIGINT came, and the work is not resumable.
    """
    stop = Stop()

    def wish(number: int, frame: FrameType | None) -> None:
        received = signal.Signals(number)
        stop.ask(received)
        if not resumable and received != WARNING:
            raise Terminated(received.name)

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {
        number: signal.signal(number, wish) for number in (signal.SIGTERM, signal.SIGINT, WARNING)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
