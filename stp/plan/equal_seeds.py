"""Detect seeds with equal predictions, and count them once, since a copy is not another training
run.

Copies arise if the same weights are given for several seeds, if a seed is unused, or if folders are
copied. Copies have equal sums over clusters and equal checksums of stored predictions.
"""

import filecmp
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stp.core.receipts import read_receipt
from stp.plan.cell_key import CellKey
from stp.plan.manifest_types import Cell

SUMS = "cluster_sums.parquet"


def drop_equal_seeds(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Keep one of several cells (evaluations) that differ only in the seed and predict the same.

    The kept cell gets a note for tables.
    Cells whose predictions do not exist yet, or are not stored, are unchanged.
    """
    groups: dict[CellKey, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(replace(cell.key, seed=None), []).append(cell)
    cells_by_key: dict[CellKey, Cell] = {}
    for seeds in groups.values():
        distinct: list[Cell] = []
        notes = []
        for cell in seeds:
            twin = next((other for other in distinct if _are_equal(other, cell)), None)
            if twin is None:
                distinct.append(cell)
            else:
                notes.append(f"seed {cell.key.seed} has the predictions of seed {twin.key.seed}")
        note = f"EQUAL SEEDS are counted once: {', '.join(notes)}" if notes else ""
        for cell in distinct:
            text = "; ".join(filter(None, (cell.subset_note, note)))
            cells_by_key[cell.key] = replace(cell, subset_note=text) if note else cell
    return tuple(cells_by_key[cell.key] for cell in cells if cell.key in cells_by_key)


def _are_equal(cell: Cell, other: Cell) -> bool:
    if cell.predictions is None or other.predictions is None:
        return False
    # Mostly, sums of different predictions differ: receipts need not be read.
    first, second = Path(cell.scores, SUMS), Path(other.scores, SUMS)
    try:
        if not filecmp.cmp(first, second, shallow=False):
            return False
    except OSError:  # not scored yet
        return False
    receipts = [read_receipt(Path(folder)) for folder in (cell.predictions, other.predictions)]
    files = [{name: file.sha256 for name, file in r.files.items()} for r in receipts if r]
    return len(files) == 2 and bool(files[0]) and files[0] == files[1]
