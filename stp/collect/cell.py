"""One cell of the results store with its scores, artefacts and cost: ``stp show CELL``.

A cell is chosen by words of its key, in any order (``simvpv2/kth``, ``convlstm/kth/seed-0``), or by
the fingerprint of an artefact behind it, of which the first letters are enough.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stp.collect.layout import ALIKE
from stp.collect.query import answer
from stp.core.errors import StpError, nearest
from stp.core.exits import NothingFoundError
from stp.options.score import CELL_KEYS

Json = dict[str, Any]

FEWEST_LETTERS = 4
"""Of a fingerprint."""
MOST = 20
"""Candidates that are listed."""
STAGES = ("scores", "perceptual", "predictions", "data")
"""The artefacts of which a cell has one at most: columns such as ``scores_fingerprint``."""

SAME_CELL = " AND ".join(f"{{0}}.{key} IS NOT DISTINCT FROM {{1}}.{key}" for key in CELL_KEYS)
"""A condition that joins rows of one cell."""

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
"""All overall values of a cell, with the rank of its model (seeds together); values of its key."""


class Artefact(NamedTuple):
    """An artefact that several cells were made from: its row of ``artefacts``, and the cells."""

    row: Json
    cells: list[Json]


class Missing(NamedTuple):
    """A planned cell without scores: its row of ``missing``, ``attempts`` at what it waits for."""

    row: Json
    attempts: list[Json]


def rows(database: Path, sql: str, values: Sequence[Any] = ()) -> list[Json]:
    """The rows of an answer, by the names of its columns."""
    columns, found = answer(database, sql, values)
    return [dict(zip(columns, row, strict=True)) for row in found]


def is_fingerprint(word: str) -> bool:
    """Whether a word could be the beginning of a fingerprint."""
    return bool(re.fullmatch(rf"[0-9a-f]{{{FEWEST_LETTERS},16}}", word))


def every(database: Path) -> list[Json]:
    """Rows of ``cells``, then those of ``missing``; only the latter have a column ``how``."""
    return rows(database, "FROM cells ORDER BY rowid") + rows(
        database, "FROM missing ORDER BY rowid"
    )


def has_fingerprint(cells: Iterable[Json], start: str) -> bool:
    """Whether the fingerprint of an artefact of one of these cells begins with a text."""
    return any(name.startswith(start) for cell in cells for name in _fingerprints(cell))


def _fingerprints(cell: Json) -> list[str]:
    """The fingerprints of a cell's artefacts; none for a cell without scores."""
    one = [cell.get(f"{stage}_fingerprint") for stage in STAGES]
    return [name for name in (*one, *cell.get("model_fingerprints", ())) if name]


def find(database: Path, what: str) -> Json | Artefact | Missing:
    """Find one cell, or an artefact that several cells share.

    Args:
        what: words of its key with ``/`` between them, or the beginning of a fingerprint.

    Returns:
        a row of ``cells``, the artefact, or what is known of a cell without scores.

    Raises:
        NothingFoundError: there is none.
        StpError: there are several; the message lists them.
    """
    cells = every(database)
    words = [word for word in what.strip("/").split("/") if word]
    if words and is_fingerprint(words[-1]):
        found = _of_fingerprint(database, cells, words[-1])
        if found is not None:
            return found
    chosen = matching(cells, words)
    if len(chosen) == 1:
        return _missing(database, chosen[0]) if "how" in chosen[0] else chosen[0]
    if not chosen:
        known = {str(cell[key]) for cell in cells for key in ("dimension", "model", "case_name")}
        true = {word.casefold() for cell in cells for word in _words(cell)}
        unknown = [word for word in words if word.casefold() not in true]
        raise NothingFoundError(
            f"no cell of {database} is {what!r}",
            expected="words of its key with / between them, such as "
            f"{names(cells)[0] if cells else 'simvpv2/kth'}; or {FEWEST_LETTERS} letters or more "
            "of a fingerprint",
            remedy=nearest(unknown[0], known) if unknown else "`stp query 'FROM cells'` lists all",
        )
    candidates = names(chosen)
    more = [f"and {len(candidates) - MOST} more"] if len(candidates) > MOST else []
    raise StpError(
        f"{len(chosen)} cells are {what!r}:\n"
        + "\n".join(f"  {name}" for name in [*candidates[:MOST], *more]),
        expected="one cell",
        remedy="name more of its key, as in this list",
    )


def _missing(database: Path, row: Json) -> Missing:
    tried = "FROM attempts WHERE path = ? ORDER BY attempt"
    return Missing(row, rows(database, tried, [row["path"]]))


def matching(cells: Iterable[Json], words: Sequence[str]) -> list[Json]:
    """The cells that all words are true of; that of a training counts where no other does."""
    asked = {word.casefold() for word in words}
    every = list(cells)
    for told in (_tested_words, _words):
        found = [cell for cell in every if asked <= {str(w).casefold() for w in told(cell)}]
        if found and asked:
            return found
    return []


def _tested_words(cell: Json) -> set[str]:
    """What a cell is called by: all of its key but the dataset of its training."""
    seed = "none" if cell["seed"] is None else cell["seed"]
    model = cell["model"]
    shown = model if cell["variant"] == "default" else f"{model}:{cell['variant']}"
    told = {cell[key] for key in CELL_KEYS if key not in ("seed", "trained_on", "train_subset")}
    return told | {shown, cell["case_name"], f"seed-{seed}", *cell["setting"].split(",")}


def _words(cell: Json) -> set[str]:
    return _tested_words(cell) | {cell["trained_on"], cell["train_subset"]}


def name_of(cell: Json) -> str:
    """A short name: ``short_term/simvpv2/kth/seed-0``."""
    seed = [] if cell["seed"] is None else [f"seed-{cell['seed']}"]
    variant = "" if cell["variant"] == "default" else f":{cell['variant']}"
    return "/".join([cell["dimension"], cell["model"] + variant, cell["case_name"], *seed])


def names(cells: Sequence[Json]) -> list[str]:
    """Short names of several cells, with suite and setting where they are needed."""
    short = [name_of(cell) for cell in cells]
    return [
        name if short.count(name) == 1 else f"{cell['suite']}/{name}/{cell['setting']}"
        for name, cell in zip(short, cells, strict=True)
    ]


def _of_fingerprint(database: Path, cells: list[Json], start: str) -> Json | Artefact | None:
    """The cell of an artefact, or the artefact where several cells share it."""
    found: dict[str, list[Json]] = {}
    for cell in cells:
        for fingerprint in _fingerprints(cell):
            if fingerprint.startswith(start):
                found.setdefault(fingerprint, []).append(cell)
    if not found:
        return None
    if len(found) > 1:
        raise StpError(
            f"{len(found)} fingerprints begin with {start}: {', '.join(sorted(found)[:MOST])}",
            expected="one artefact",
            remedy="give more letters",
        )
    ((fingerprint, behind),) = found.items()
    if len(behind) == 1:
        return behind[0]
    (row, *_) = rows(database, "FROM artefacts WHERE fingerprint = ?", [fingerprint]) or [
        {"fingerprint": fingerprint}
    ]
    return Artefact(row, behind)


def key_of(cell: Json) -> list[Any]:
    """The values of ``CELL_KEYS``."""
    return [cell[key] for key in CELL_KEYS]


def about(database: Path, cell: Json) -> Json:
    """All that the store knows of a cell.

    Returns:
        ``cell``, a row of ``cells``; ``name``; ``scores``, rows of `OVERALL`; ``artefacts``, see
        `lineage`; ``raw_files``; ``command``, which makes its scores again.
    """
    steps = lineage(database, [cell])
    locks = {step["raw_lock"] for step in steps if step["raw_lock"]}
    return {
        "name": name_of(cell),
        "cell": cell,
        "scores": rows(database, OVERALL, key_of(cell)),
        "artefacts": steps,
        "raw_files": [
            row
            for lock in sorted(locks)
            for row in rows(database, "FROM raw_files WHERE lock = ? ORDER BY file", [lock])
        ],
        "command": command(cell),
    }


def lineage(database: Path, cells: Sequence[Json]) -> list[Json]:
    """The artefacts behind cells, from data to scores, each once: rows of ``lineage`` without the
    key, with ``attempts`` (rows of the table) and ``log`` (None where it is not at hand)."""
    where = " OR ".join(
        "(" + " AND ".join(f"{key} IS NOT DISTINCT FROM ?" for key in CELL_KEYS) + ")"
        for _ in cells
    )
    values = [value for cell in cells for value in key_of(cell)]
    steps = rows(
        database,
        f"SELECT DISTINCT * EXCLUDE ({', '.join(CELL_KEYS)}) FROM lineage WHERE {where} "
        "ORDER BY step, path",
        values,
    )
    for step in steps:
        step["attempts"] = rows(
            database, "FROM attempts WHERE path = ? ORDER BY attempt", [step["path"]]
        )
        step["log"] = _log(database, step)
    return steps


def _log(database: Path, step: Json) -> str | None:
    """Where the rule of an artefact writes its log."""
    _, _, below = step["path"].partition("/")
    path = database.parent / "logs" / step["stage"] / f"{below}.log"
    return str(path) if path.is_file() else None


def raw_files(database: Path, lock: str) -> tuple[int, int, str]:
    """How many raw files a lock names, their bytes, and one of them with its checksum."""
    (row,) = rows(
        database,
        "SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes, "
        "min(file || ', sha256 ' || sha256) AS first FROM raw_files WHERE lock = ?",
        [lock],
    )
    return int(row["files"]), int(row["bytes"]), str(row["first"])


def command(cell: Json) -> str:
    """What makes the scores of a cell again, with all that they need: Snakemake knows artefacts by
    the whole path."""
    folder = Path(cell["perceptual_folder"] or cell["scores_folder"])
    return (
        f"snakemake --profile local --configfile config/{cell['scale']}.yaml -- "
        f"{folder / 'artefact.json'}"
    )
