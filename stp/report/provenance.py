"""Section on provenance: all values with all digits, and what they were made from.

A cell is one model on one dataset. An artefact is a folder that a stage wrote, such as trained
weights. Each artefact is listed once; cells and other artefacts refer to it by index.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import duckdb

from stp.options.score import CELL_KEYS
from stp.report.columns import Rows, Value, Words, by_columns, columnar, run_query
from stp.report.row_keys import PART, Numbers, cells

VALUES = f"""
SELECT {", ".join(CELL_KEYS)}, {", ".join(PART)}, value, ci95_low, ci95_high, n, clusters, reason
FROM overall ORDER BY convention, variable, level, threshold, leads"""

ARTEFACTS = """
SELECT
    path, stage, fingerprint, code_fingerprint, "commit", host, device, slurm_job,
    strftime(finished, '%Y-%m-%d %H:%M') AS finished, seconds, python, packages, bytes, inputs
FROM artefacts ORDER BY rowid"""

LOCKS = """
SELECT
    lock, any_value(dataset) AS dataset, any_value(release) AS release,
    any_value(source) AS source, count(*) AS files, sum(bytes)::BIGINT AS bytes,
    list({'file': file, 'sha256': sha256} ORDER BY file)[:3] AS first
FROM raw_files GROUP BY lock ORDER BY lock"""

FOLDERS_OF_CELLS = """
SELECT flatten([
    [data_folder], model_folders, [predictions_folder], feature_folders,
    [scores_folder, perceptual_folder]
])
FROM cells ORDER BY rowid"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query the values of all cells (one model on one dataset each), and what they were made from.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        six tables and lists by name. Their rows refer to each other by index, from 0.

        - ``parts``: a row for each combination of convention, variable, level, threshold and lead
          times that has values.
        - ``values``: a row for each value, with its interval, number of samples and clusters, and
          the reason if it is missing. ``cell`` is an index into the list ``cells`` of
          `stp.report.core.data`. ``part`` is an index into ``parts``.
        - ``artefacts``: a row for each artefact (folder that a stage wrote). ``inputs`` is a list
          of indices into ``artefacts``. ``lock`` is an index into ``locks``; -1 if no raw files
          were read.
        - ``behind``: a list for each cell, with indices into ``artefacts``: those that the cell was
          made from.
        - ``locks``: a row for each lock file, with dataset, release, number and size of its raw
          files.
        - ``first_files``: the first three raw files of each row of ``locks``.
    """
    numbers, parts = cells(database), Numbers(PART)
    keys, behind = len(CELL_KEYS), len(CELL_KEYS) + len(PART)
    _, rows = run_query(database, VALUES)
    values = [(numbers.of(row[:keys]), parts.of(row[keys:behind]), *row[behind:]) for row in rows]
    values.sort(key=lambda row: row[:2])
    names, artefacts = run_query(database, ARTEFACTS)
    number = {row[0]: index for index, row in enumerate(artefacts)}
    locks = columnar(database, "SELECT * EXCLUDE (first) FROM (" + LOCKS + ")")
    firsts = [row[-1] for row in run_query(database, LOCKS)[1]]
    lock_of = {name: index for index, name in enumerate(_column_texts(locks.columns["lock"]))}
    _, folders = run_query(database, FOLDERS_OF_CELLS)
    return {
        "parts": parts.columnar(),
        "values": by_columns(
            ["cell", "part", "value", "ci95_low", "ci95_high", "n", "clusters", "reason"],
            values,
            exact=("value", "ci95_low", "ci95_high"),
        ),
        "artefacts": by_columns(
            [*names[:-1], "inputs", "lock"], _link_inputs(artefacts, number, lock_of)
        ),
        "behind": [[number[path] for path in _paths(row, number)] for (row,) in folders],
        "locks": locks,
        "first_files": firsts,
    }


def _column_texts(column: Words | list[Value]) -> list[str]:
    """The texts of a column, one for each row."""
    return [column.words[code] for code in column.codes] if isinstance(column, Words) else []


def _link_inputs(artefacts: Rows, number: dict[str, int], lock_of: dict[str, int]) -> Rows:
    rows = []
    for *about, written in artefacts:
        inputs = [path for path in json.loads(written or "{}").values() if isinstance(path, str)]
        lock = next((lock_of[path] for path in inputs if path in lock_of), -1)
        rows.append((*about, [number[path] for path in inputs if path in number], lock))
    return rows


def _paths(folders: Iterable[str | None], paths_of_store: dict[str, int]) -> list[str]:
    paths = []
    for folder in folders:
        parts = Path(folder).parts if folder else ()
        tails = ("/".join(parts[at:]) for at in range(len(parts)))
        paths += [path for path in tails if path in paths_of_store][:1]
    return paths
