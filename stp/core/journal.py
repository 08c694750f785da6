"""The journal of a search: a file of lines, to which several jobs may append."""

from pathlib import Path

from optuna.storages.journal import JournalFileSymlinkLock

JOURNAL = "study.journal"


def mend(journal: Path) -> None:
    """Cut off a last line that a crash tore: what is appended to it could never be read again."""
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
