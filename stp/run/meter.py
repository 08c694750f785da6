"""Progress line for commands that make no artefact (folder of results), such as exports."""

import sys
import time

from stp.core.units import duration
from stp.run.progress import LOG_SECONDS, TERMINAL_SECONDS


class CountMeter:
    """A progress line for commands, printed every few seconds; a terminal shows only the last one.

    Args:
        verb: name of the command, at the beginning of the line.
    """

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.begun = self.shown = time.monotonic()
        self.open_line = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show the progress of the work.

        Args:
            what: description of the counted items.
            done: number of finished items.
            total: number of all items.
        """
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self.shown < (TERMINAL_SECONDS if terminal else LOG_SECONDS):
            return
        self.shown = now
        left = duration((now - self.begun) / done * (total - done)) if done else "?"
        text = f"{self.verb}: {what} {done} of {total}, {left} left"
        self.open_line = terminal
        print(f"\r\033[K{text}" if terminal else text, end="" if terminal else "\n",
              file=sys.stderr, flush=True)  # fmt: skip

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self.open_line:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.open_line = False
