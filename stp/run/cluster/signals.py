"""Convert signals that stop a job to a request that its work checks between two steps."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WARNING = signal.SIGURG
"""Signal that Slurm sends ahead of the time limit (profiles/slurm). Unlike other signals, it is
ignored by processes of the job that do not handle it (shells, Snakemake)."""


class Stop:
    """Request to stop the work of a job; a call returns whether a stop is requested.

    Attributes:
        reason: name of the first signal, such as ``SIGTERM``; None while no stop is requested.
    """

    reason: str | None = None

    def ask(self, received: signal.Signals) -> None:
        """Request a stop; only the first call sets `reason`."""
        self.reason = self.reason or received.name

    def __call__(self) -> bool:
        return self.reason is not None


class Terminated(BaseException):
    """Work that cannot save its state was asked to end."""


@contextmanager
def handle_signals(resumable: bool) -> Iterator[Stop]:
    """Context manager: convert signals to a request to stop.

    The signals are SIGTERM, SIGINT, and SIGURG (`WARNING`), which Slurm sends some time before a
    job's time limit.

    Args:
        resumable: whether the work checks the request and saves its state. If not, SIGURG has no
            effect, and SIGTERM and SIGINT raise `Terminated`, so that everything is cleaned up.

    Yields:
        the request, which work that is resumable checks between two steps.

    Raises:
        Terminated: SIGTERM or SIGINT came, and the work is not resumable.
    """
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        received = signal.Signals(number)
        stop.ask(received)
        if not resumable and received != WARNING:
            raise Terminated(received.name)

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {
        number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT, WARNING)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
