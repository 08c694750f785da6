"""Repair the journal of a calibration (a search for a model's parameters) after a crash.

The journal is a text file of Optuna, to which several jobs append the parameters that they try, and
the errors that result.
"""

from pathlib import Path

from optuna.storages.journal import JournalFileSymlinkLock

JOURNAL = "study.journal"


def remove_incomplete_line(journal: Path) -> None:
    """Remove an incomplete last line, left by a crash, to which later lines would be joined."""
    if not journal.is_file():
        return
    lock = JournalFileSymlinkLock(str(journal))
    lock.acquire()
    try:
        with journal.open("rb+") as file:
            content = file.read()
            if not content.endswith(b"\n"):
                file.truncate(content.rfind(b"\n") + 1)
    finally:
        lock.release()
