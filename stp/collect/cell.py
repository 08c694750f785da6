"""One cell of the results store with its scores, artefacts and cost: ``stp trace CELL``.

A cell is one model, trained on one dataset, tested on one dataset, in one setting, with one seed.
Users select a cell by words of its key in any order (``simvpv2/kth``, ``convlstm/kth/seed-0``), or
by the first characters of the fingerprint of one of its artefacts.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stp.collect.query import query_rows, run_query
from stp.collect.schema import (
    ALIKE,
    ArtefactRow,
    AttemptRow,
    CellRow,
    LineageRow,
    MissingRow,
    OverallRow,
    RawFileRow,
)
from stp.core.errors import StpError, suggest_name
from stp.core.exit_codes import NothingFoundError
from stp.options.score import CELL_KEYS
from stp.plan.setting import current_name, parts_of_name

FEWEST_LETTERS = 4
"""Smallest number of characters of a fingerprint."""
MOST = 20
"""Largest number of candidates in a list."""
STAGES = ("scores", "perceptual", "predictions", "data")
"""Artefacts of which a cell has at most one, in columns such as ``scores_fingerprint``."""
LISTS = ("model", "feature")
"""Artefacts of which a cell may have several, in columns such as ``model_fingerprints``."""

SAME_CELL = " AND ".join(f"{{0}}.{key} IS NOT DISTINCT FROM {{1}}.{key}" for key in CELL_KEYS)
"""A condition that joins rows of the same cell."""

OVERALL = f"""
SELECT
    o.*, c.title, c.unit, c.higher_is_better, c.best_at, l.rank, l.ranked
FROM overall o
LEFT JOIN conventions c USING (convention)
LEFT JOIN leaderboard l
    ON {" AND ".join(f"l.{key} = o.{key}" for key in CELL_KEYS if key != "seed")}
    AND l.convention = o.convention AND l.variable IS NOT DISTINCT FROM o.variable
    AND l.level IS NOT DISTINCT FROM o.level AND l.threshold IS NOT DISTINCT FROM o.threshold
    AND l.leads IS NOT DISTINCT FROM o.leads
    AND {" AND ".join(f"l.{name} = o.{name}" for name in ALIKE)}
WHERE {" AND ".join(f"o.{key} IS NOT DISTINCT FROM ?" for key in CELL_KEYS)}
ORDER BY o.metric, o.convention, o.variable NULLS FIRST, o.level NULLS FIRST,
    o.threshold NULLS FIRST, o.leads NULLS FIRST"""
"""All overall values of a cell, given its key, with the rank of its model (mean over seeds)."""


@dataclass(frozen=True, kw_only=True)
class RankedScoreRow(OverallRow):
    """A score over all lead times, with unit and direction of its convention, and its rank.

    A convention is one exact definition of a metric, such as ``ssim.range2``. ``rank`` is the
    place of the cell's model among ``ranked`` models that were evaluated in the same way.
    """

    title: str | None
    unit: str | None
    higher_is_better: bool | None
    best_at: float | None
    rank: int | None
    ranked: int | None


@dataclass(frozen=True)
class Artefact:
    """An artefact (folder that a job wrote) that several cells share, and these cells."""

    row: ArtefactRow
    cells: list[CellRow]


@dataclass(frozen=True)
class Missing:
    """A planned cell (a model on a dataset in a setting) that has no scores yet.

    Includes the attempts to make the artefact (folder of files) that is missing.
    """

    row: MissingRow
    attempts: list[AttemptRow]


@dataclass(frozen=True, kw_only=True)
class Step(LineageRow):
    """An artefact (folder that a job wrote, such as a trained model) behind a result (cell).

    Attributes:
        attempts: attempts to make the artefact.
        log: path of the log of the Snakemake rule that made the artefact; None if there is no log.
    """

    attempts: list[AttemptRow]
    log: str | None


@dataclass(frozen=True)
class CellDetails:
    """A cell (one model on one dataset in one setting), and all that the results store has on it.

    Attributes:
        name: short name of the cell.
        cell: row of the table of cells.
        scores: scores over all lead times.
        artefacts: artefacts on which the cell depends, from data to scores.
        raw_files: raw files that the data of the cell were prepared from.
        command: shell command that makes the scores of the cell again.
    """

    name: str
    cell: CellRow
    scores: list[RankedScoreRow]
    artefacts: list[Step]
    raw_files: list[RawFileRow]
    command: str


Planned = CellRow | MissingRow


def is_fingerprint(word: str) -> bool:
    """Whether a word could be the beginning of a fingerprint, the hash that names an artefact."""
    return bool(re.fullmatch(rf"[0-9a-f]{{{FEWEST_LETTERS},16}}", word))


def every(database: Path) -> list[Planned]:
    """Read all planned cells (a model on a dataset in a setting): first those with scores."""
    return [
        *query_rows(database, CellRow, "FROM cells ORDER BY rowid"),
        *query_rows(database, MissingRow, "FROM missing ORDER BY rowid"),
    ]


def begins_fingerprint(database: Path, word: str) -> bool:
    """Whether a word begins the fingerprint (hash in the path) of any result's files."""
    return is_fingerprint(word) and any(
        name.startswith(word)
        for cell in query_rows(database, CellRow, "FROM cells")
        for name in _fingerprints(cell)
    )


def _fingerprints(cell: CellRow) -> list[str]:
    single: list[str | None] = [getattr(cell, f"{stage}_fingerprint") for stage in STAGES]
    several = [name for part in LISTS for name in getattr(cell, f"{part}_fingerprints")]
    return [name for name in (*single, *several) if name]


def find(database: Path, what: str) -> CellRow | Artefact | Missing:
    """Find one cell (a model on a dataset in a setting), or an artefact that several cells share.

    Args:
        database: results.duckdb.
        what: words of a cell's key separated by ``/``, or the beginning of a fingerprint.

    Returns:
        the cell, the artefact, or the state of a cell without scores.

    Raises:
        NothingFoundError: no cell or artefact matches.
        StpError: several cells match; the message lists them.
    """
    cells = every(database)
    words = [word for word in what.strip("/").split("/") if word]
    if words and is_fingerprint(words[-1]):
        artefact = _of_fingerprint(database, cells, words[-1])
        if artefact is not None:
            return artefact
    chosen = matching(cells, words)
    if len(chosen) == 1:
        (cell_row,) = chosen
        return cell_row if isinstance(cell_row, CellRow) else _make_missing(database, cell_row)
    if not chosen:
        names_of_cells = {
            word for cell in cells for word in (cell.dimension, cell.model, cell.case_name)
        }
        true = {_normalise_word(word) for cell in cells for word in _cell_words(cell)}
        unknown = [word for word in words if _normalise_word(word) not in true]
        raise NothingFoundError(
            f"no cell of {database} is {what!r}",
            expected="words of its key with / between them, such as "
            f"{names(cells)[0] if cells else 'MODEL/DATASET'}; or {FEWEST_LETTERS} letters or more "
            "of a fingerprint",
            remedy=suggest_name(unknown[0], names_of_cells)
            if unknown
            else "`stp query 'FROM cells'` lists all",
        )
    candidates = names(chosen)
    more = [f"and {len(candidates) - MOST} more"] if len(candidates) > MOST else []
    raise StpError(
        f"{len(chosen)} cells are {what!r}:\n"
        + "\n".join(f"  {name}" for name in [*candidates[:MOST], *more]),
        remedy="name more of its key, as in this list",
    )


def _make_missing(database: Path, row: MissingRow) -> Missing:
    return Missing(row, _attempts(database, [row.path])[row.path])


def _attempts(database: Path, paths: Sequence[str]) -> dict[str, list[AttemptRow]]:
    """Attempts to make artefacts, by path."""
    attempts: dict[str, list[AttemptRow]] = {path: [] for path in paths}
    wanted = "FROM attempts WHERE list_contains(?::VARCHAR[], path) ORDER BY attempt"
    for row in query_rows(database, AttemptRow, wanted, [list(paths)]):
        attempts[row.path].append(row)
    return attempts


def matching(cells: Iterable[Planned], words: Sequence[str]) -> list[Planned]:
    """Select the cells whose keys contain all words, such as ``simvpv2`` and ``kth``.

    The training dataset and training subset are compared only if no cell matches otherwise.
    """
    folded = {_normalise_word(word) for word in words}
    every = list(cells)
    for words_of in (_test_words, _cell_words):
        matches = [
            cell
            for cell in every
            if folded <= {current_name(str(w)).casefold() for w in words_of(cell)}
        ]
        if matches and folded:
            return matches
    return []


def _normalise_word(word: object) -> str:
    """Normalise a word for comparison: lower case; old names become current ones."""
    return current_name(str(word)).casefold()


def _test_words(cell: Planned) -> set[str]:
    """Words that name a cell: its key without training dataset and training subset."""
    seed = "none" if cell.seed is None else cell.seed
    model_name = cell.model if cell.variant == "default" else f"{cell.model}:{cell.variant}"
    words = {cell.suite, cell.dimension, cell.model, cell.variant, cell.tested_on, cell.subset}
    words |= {cell.setting, *parts_of_name(cell.setting)}
    return words | {model_name, cell.case_name, f"seed-{seed}"}


def _cell_words(cell: Planned) -> set[str]:
    return _test_words(cell) | {cell.trained_on, cell.train_subset}


def name_of(cell: Planned) -> str:
    """The short name of a cell, such as ``short_term/simvpv2/kth/seed-0``."""
    seed = [] if cell.seed is None else [f"seed-{cell.seed}"]
    variant = "" if cell.variant == "default" else f":{cell.variant}"
    return "/".join([cell.dimension, cell.model + variant, cell.case_name, *seed])


def names(cells: Sequence[Planned]) -> list[str]:
    """Short names of cells (one model on one dataset each), in the same order.

    Suite (benchmark) and setting are added to names that would be equal.
    """
    short = [name_of(cell) for cell in cells]
    return [
        name if short.count(name) == 1 else f"{cell.suite}/{name}/{cell.setting}"
        for name, cell in zip(short, cells, strict=True)
    ]


def _of_fingerprint(
    database: Path, cells: Iterable[Planned], start: str
) -> CellRow | Artefact | None:
    """Find the cell with a fingerprint, or the artefact if several cells share it; else None."""
    cells_of_artefact: dict[str, list[CellRow]] = {}
    for cell in (cell for cell in cells if isinstance(cell, CellRow)):
        for fingerprint in _fingerprints(cell):
            if fingerprint.startswith(start):
                cells_of_artefact.setdefault(fingerprint, []).append(cell)
    if not cells_of_artefact:
        return None
    if len(cells_of_artefact) > 1:
        raise StpError(
            f"{len(cells_of_artefact)} fingerprints begin with {start}: "
            + ", ".join(sorted(cells_of_artefact)[:MOST]),
            expected="one artefact",
        )
    ((fingerprint, behind),) = cells_of_artefact.items()
    if len(behind) == 1:
        return behind[0]
    # Artefacts of every cell have a row.
    (row, *_) = query_rows(
        database, ArtefactRow, "FROM artefacts WHERE fingerprint = ?", [fingerprint]
    )
    return Artefact(row, behind)


def key_of(cell: CellRow) -> list[str | int | None]:
    """The values that identify a cell, such as model, dataset and seed, in the order of columns."""
    return [getattr(cell, key) for key in CELL_KEYS]


def read_details(database: Path, cell: CellRow) -> CellDetails:
    """Read what the store has on a cell (a model on a dataset): scores, artefacts, raw files."""
    steps = lineage(database, [cell])
    locks = {step.raw_lock for step in steps if step.raw_lock}
    return CellDetails(
        name=name_of(cell),
        cell=cell,
        scores=query_rows(database, RankedScoreRow, OVERALL, key_of(cell)),
        artefacts=steps,
        raw_files=[
            row
            for lock in sorted(locks)
            for row in query_rows(
                database, RawFileRow, "FROM raw_files WHERE lock = ? ORDER BY file", [lock]
            )
        ],
        command=command(cell),
    )


def lineage(database: Path, cells: Sequence[CellRow]) -> list[Step]:
    """List the artefacts (folders that jobs wrote) behind cells, from data to scores, each once."""
    where = " OR ".join(
        "(" + " AND ".join(f"{key} IS NOT DISTINCT FROM ?" for key in CELL_KEYS) + ")"
        for _ in cells
    )
    steps = query_rows(
        database,
        LineageRow,
        f"SELECT DISTINCT * EXCLUDE ({', '.join(CELL_KEYS)}) FROM lineage WHERE {where} "
        "ORDER BY step, path",
        [value for cell in cells for value in key_of(cell)],
    )
    attempts = _attempts(database, [row.path for row in steps])
    return [
        Step(**vars(row), attempts=attempts[row.path], log=_log(database, row)) for row in steps
    ]


def _log(database: Path, step: LineageRow) -> str | None:
    """Path of the log of the rule that made an artefact; None if there is no log."""
    _, _, below = step.path.partition("/")
    path = database.parent / "logs" / step.stage / f"{below}.log"
    return str(path) if path.is_file() else None


def raw_files(database: Path, lock: str) -> tuple[int, int, str]:
    """Summarise the raw files that a lock file lists, for the output of `stp trace`.

    Args:
        database: results.duckdb.
        lock: path of the lock file (the recorded checksums of raw files), relative to the store.

    Returns:
        number of files; their total size in bytes; and name and checksum of the first file by name,
        as one text: ``train.zip, sha256 3f4a...``.
    """
    _, ((files, size, first),) = run_query(
        database,
        "SELECT count(*), coalesce(sum(bytes), 0), min(file || ', sha256 ' || sha256) "
        "FROM raw_files WHERE lock = ?",
        [lock],
    )
    return int(files), int(size), str(first)


def command(cell: CellRow) -> str:
    """Shell command that makes the scores of a result (cell) again, with all that they need."""
    folder = Path(cell.perceptual_folder or cell.scores_folder)
    return (
        f"snakemake --profile local --configfile config/{cell.scale}.yaml -- "
        f"{folder / 'artefact.json'}"
    )
