"""Rows that only some kinds of sample have, and that are many: they stay where they were written.

They are files of score artefacts, with the keys of the cell. A view of the results store reads all
files of a kind.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stp.collect import layout
from stp.collect.sample_files import quoted, schema_of
from stp.core.errors import StpError
from stp.core.receipts import again
from stp.plan.manifest import Manifest


@dataclass(frozen=True)
class KeptRows:
    """A view and its files.

    Attributes:
        view: its layout.
        file: name in a score artefact.
        has: attribute of a kind of sample (`stp.kinds.kind.Kind`) that says whether it has them.
        what: the file holds, for messages.
    """

    view: layout.Table
    file: str
    has: str
    what: str


ERRORS = KeptRows(
    layout.PERSON_ERRORS,
    "errors.parquet",
    "has_person_errors",
    "the errors of each person at each step",
)
QUALITY = KeptRows(
    layout.PREDICTED_OPINIONS,
    "quality.parquet",
    "has_opinions",
    "the predicted opinion of each test video",
)
KEPT_ROWS = (ERRORS, QUALITY)


def files(plans: Iterable[Manifest], kept: KeptRows) -> list[Path]:
    """The files of a view, found to be of the right schema; absolute.

    Raises:
        StpError: one is missing or damaged.
    """
    return [
        file_of(Path(cell.scores), kept)
        for plan in plans
        for cell in plan.cells
        if getattr(plan.kind_of(cell), kept.has)
    ]


def file_of(folder: Path, kept: KeptRows) -> Path:
    """The file of a score artefact, found to be of the right schema; absolute.

    Raises:
        StpError: it is missing or damaged.
    """
    path, schema = schema_of(folder, kept.file, kept.what)
    names = [name for name, _, _ in kept.view.columns]
    lacking = [name for name in names if name not in schema.names]
    if lacking:
        raise StpError(
            f"{path}: no column {', '.join(lacking)}",
            expected=f"columns {', '.join(names)}",
            remedy=again(folder),
        )
    return path


def query(paths: Iterable[Path], kept: KeptRows) -> str:
    """SQL of a view over its files; without any, of no rows."""
    columns = kept.view.columns
    listed = ", ".join(quoted(str(path)) for path in paths)
    if not listed:
        empty = ", ".join(f"NULL::{kind} AS {name}" for name, kind, _ in columns)
        return f"SELECT {empty} WHERE false"
    names = ", ".join(f"{name}::{kind} AS {name}" for name, kind, _ in columns)
    return f"SELECT {names} FROM read_parquet([{listed}], hive_partitioning=false)"
