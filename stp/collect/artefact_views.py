"""Views of large per-sample tables, which exist only for samples of some kinds (tracks, opinions).

The tables stay in files of the score artefacts (folders with the scores of a cell: one model on one
dataset in one setting) or of the prepared data. A view of the results store reads all files of one
kind, and adds the key of the cell to rows of score artefacts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stp.collect.sample_files import quote_literal, schema_of
from stp.collect.schema import OPINION_RATINGS, PERSON_ERRORS, PREDICTED_OPINIONS
from stp.collect.table import Table
from stp.core.errors import ArtefactError
from stp.plan.manifest import Manifest


@dataclass(frozen=True)
class KeptRows:
    """Description of a view of the results store, whose rows are kept in Parquet files.

    The view is an SQL query that reads one file of each artefact.

    Attributes:
        view: name, comment and columns of the view, e.g. ``PERSON_ERRORS`` for the view
            ``person_errors``, which has the errors of people in all cells of tracks.
        file: name of the file in each artefact: ``errors.parquet``, ``quality.parquet`` or
            ``ratings.parquet``.
        has: name of a Boolean attribute of tasks (`stp.tasks.task.Task`), which says whether cells
            of the task have the file, e.g. ``has_person_errors``.
        what: description of the file's content, for error messages.
        of_data: whether the files belong to prepared data instead of score artefacts. Files of
            prepared data are optional, and their rows have the fingerprint of the data instead of
            the key of a cell.
    """

    view: Table
    file: str
    has: str
    what: str
    of_data: bool = False

    @property
    def folder(self) -> str:
        """Column of the table ``cells`` that says in which folder the file of a cell is.

        ``data_folder`` for files of prepared data, else ``scores_folder``.
        """
        return "data_folder" if self.of_data else "scores_folder"


ERRORS = KeptRows(
    PERSON_ERRORS,
    "errors.parquet",
    "has_person_errors",
    "the errors of each person at each step",
)
QUALITY = KeptRows(
    PREDICTED_OPINIONS,
    "quality.parquet",
    "has_opinions",
    "the predicted opinion of each test video",
)
RATINGS = KeptRows(
    OPINION_RATINGS,
    "ratings.parquet",
    "has_opinions",
    "what each rater says of each video",
    of_data=True,
)
KEPT_ROWS = (ERRORS, QUALITY, RATINGS)
FINGERPRINT = "data_fingerprint"


def files(plans: Iterable[Manifest], kept: KeptRows) -> list[Path]:
    """Find the Parquet files that a view reads, and check their columns.

    For instance, the view ``person_errors`` reads ``errors.parquet`` in the score artefact of each
    cell of tracks. Cells of other tasks do not have this file, and are skipped.

    Args:
        plans: manifests, each with the cells of one dimension.
        kept: description of the view. Its attribute ``file`` names the file, its attribute ``has``
            the tasks that have the file, and ``of_data`` the artefacts that contain it.

    Returns:
        absolute paths. Of a file in score artefacts, one for each cell of a task with the file. Of
        a file in prepared data, one for each folder of prepared data that contains the file.

    Raises:
        StpError: a file is missing or damaged, or lacks a column of the view.
    """
    cells = [cell for plan in plans for cell in plan.cells if getattr(plan.kind_of(cell), kept.has)]
    if not kept.of_data:
        return [file_of(Path(cell.scores), kept) for cell in cells]
    folders = dict.fromkeys(Path(cell.data) for cell in cells)
    return [file_of(folder, kept) for folder in folders if (folder / kept.file).exists()]


def file_of(folder: Path, kept: KeptRows) -> Path:
    """Find the file with the rows of a view in one artefact, and check its columns.

    Args:
        folder: folder of a score artefact, or of prepared data.
        kept: description of the view. Its attribute ``file`` names the file, such as
            ``errors.parquet``.

    Returns:
        the absolute path of the file.

    Raises:
        StpError: the file is missing or damaged, or lacks a column of the view.
    """
    path, schema = schema_of(folder, kept.file, kept.what)
    names = [name for name, _, _ in kept.view.columns if name != FINGERPRINT]
    lacking = [name for name in names if name not in schema.names]
    if lacking:
        raise ArtefactError(
            path, f"no column {', '.join(lacking)}", expected=f"columns {', '.join(names)}"
        )
    return path


def query(paths: Iterable[Path], kept: KeptRows) -> str:
    """Make the SQL query of a view, which selects the rows of all its files.

    Args:
        paths: paths of the files, from `files`; without files, the view has no rows.
        kept: description of the view. The query selects the columns in its attribute ``view``.

    Returns:
        a SELECT statement. In views of prepared data, the fingerprint of the data is the name of
        the folder that contains the file.
    """
    columns = kept.view.columns
    listed = ", ".join(quote_literal(str(path)) for path in paths)
    if not listed:
        empty = ", ".join(f"NULL::{kind} AS {name}" for name, kind, _ in columns)
        return f"SELECT {empty} WHERE false"
    # The name of an artefact's folder is its fingerprint.
    expressions = {FINGERPRINT: "parse_path(filename)[-2]"}
    names = ", ".join(
        f"{expressions.get(name, name)}::{kind} AS {name}" for name, kind, _ in columns
    )
    return f"SELECT {names} FROM read_parquet([{listed}], filename=true, hive_partitioning=false)"
