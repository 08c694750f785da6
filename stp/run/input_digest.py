"""Digests beside results, from which a run knows whether the results are outdated.

Beside each table, figure or report lies a note, a small file with a digest of all inputs of the
result and checksums of the result's files. If the digest differs from that in the plan, the result
gets `OUTDATED` as an additional input, a file that is newer than any result. Snakemake then makes
the result again, regardless of the modification times of other files and of its own records.

Rules write notes by ``python -m stp.run.input_digest note DIGEST NOTE FILE...``.
"""

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from stp.core.disk import write_text
from stp.core.receipts import checksum
from stp.run.results import RESULTS

OUTDATED = RESULTS / "plan" / "outdated"
"""Path of the file that is an input of outdated results; each run writes it anew."""
BESIDE = ("_tidy", "_leads", "_agreement")
"""Endings of the names of further files of a table, such as ``short_term_tidy.csv``."""


def note_of(path: Path | str) -> str:
    """Path of the note beside a result: ``tables/.ranks.made`` for ``tables/ranks.csv``.

    A note is a small file with a digest of the result's inputs, and checksums of its files. They
    show whether the result is outdated (`is_current`).

    Args:
        path: path of the result, which may contain wildcards of Snakemake.
    """
    folder, _, name = str(path).rpartition("/")
    return f"{folder}/.{name.rpartition('.')[0] or name}.made"


def write_outdated(*folders: Path) -> None:
    """Write the file `OUTDATED`, so that Snakemake makes outdated results again.

    Snakemake makes a result again if one of its inputs is newer. The workflow adds this file to the
    inputs of outdated results. It has to be newer than all results.

    Args:
        folders: folders of results; modification times in the future are set to the current time.
    """
    now = time.time() - 1  # clocks of file systems tick coarsely
    for folder in folders:
        for path in folder.rglob("*"):
            clamp_future_time(path, now)
    write_text(OUTDATED, "Newer than any result: results with this input are made again.\n")


def clamp_future_time(path: Path, now: float) -> None:
    """Set the modification time of a file to now if it lies in the future (clocks may differ).

    This is needed because Snakemake refuses a result that is older than its inputs. Files of other
    users are not changed.

    Args:
        path: path of the file.
        now: current Unix time.
    """
    with contextlib.suppress(OSError):
        if path.stat().st_mtime > now:
            os.utime(path, (now, now))


def write_note(digest: str, note: Path, files: Iterable[Path] = ()) -> None:
    """Write the note of a result, from which later runs know whether the result is outdated.

    Args:
        digest: digest (hash) of all inputs of the result.
        note: path of the note to write.
        files: files of the result, in the folder of the note, whose checksums are recorded.
    """
    content = {"digest": digest, "files": {path.name: checksum(path) for path in files}}
    write_text(note, json.dumps(content, indent=1) + "\n")


def is_current(note: Path, digest: str) -> bool:
    """Whether a result, such as a table, is up to date.

    Its note is a small file beside it, with a digest of all inputs that it was made from, and with
    checksums of its files. The result is up to date if this digest is that of the inputs in the
    plan, and if its files still have these checksums.

    Args:
        note: path of the note (`note_of`); without a readable note, the result is not up to date.
        digest: digest of all inputs of the result, according to the plan.
    """
    try:
        content = json.loads(note.read_bytes())
        return bool(
            content["digest"] == digest
            and all(checksum(note.parent / name) == sha for name, sha in content["files"].items())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def is_copy_current(copy: Path, digest: str) -> bool:
    """Whether a copied table is up to date, and no files of an older copy remain.

    A table and its copy each have a note beside them: a small file with a digest of the table's
    inputs, and with checksums of its files. The copy is up to date if the digest in its note is
    ``digest``, and if its files have these checksums.

    Args:
        copy: CSV file of the copy.
        digest: digest of all inputs of the table, according to the plan.
    """
    note = Path(note_of(copy))
    return is_current(note, digest) and {path.name for path in files_of_table(copy)} == set(
        json.loads(note.read_bytes())["files"]
    )


def files_of_table(table: Path) -> list[Path]:
    """List a table's files in all formats, and its further files, such as ``NAME_tidy.csv``."""
    stems = (table.stem, *(f"{table.stem}{end}" for end in BESIDE))
    return sorted(path for path in table.parent.iterdir() if path.stem in stems and path.is_file())


def copy_table(table: Path, copy: Path) -> None:
    """Copy a table in all its formats (CSV, Markdown, ...) to another folder, with its note.

    The note is the small file beside the table with its digest and the list of its files. Files of
    an older copy are deleted first.

    Args:
        table: CSV file of the table.
        copy: path of the CSV file in the other folder, with the same name.
    """
    for path in files_of_table(copy):
        path.unlink()
    note = Path(note_of(table))
    for name in (*json.loads(note.read_bytes())["files"], note.name):
        shutil.copyfile(table.parent / name, copy.parent / name)


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    if verb == "note":
        digest, note, *files = words
        write_note(digest, Path(note), map(Path, files))
    else:
        copy_table(*map(Path, words))
