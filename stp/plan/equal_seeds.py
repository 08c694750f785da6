"""Seeds whose predictions are the same are counted once: a copy is no repeated training.

Copies come from weights that were given for several seeds, from seeds that nothing depends on, and
from folders that somebody copied. They are told by the checksums of their stored predictions, where
their sums over clusters are equal.
"""

import filecmp
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stp.core.receipts import read_receipt
from stp.plan.cell_key import CellKey
from stp.plan.manifest_types import Cell

SUMS = "cluster_sums.parquet"


def counted_once(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Leave out cells whose predictions are those of another seed; the others' notes name them.

    Cells are as they are where predictions are not made yet, or not kept.
    """
    groups: dict[CellKey, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(replace(cell.key, seed=None), []).append(cell)
    kept: dict[CellKey, Cell] = {}
    for seeds in groups.values():
        distinct: list[Cell] = []
        notes = []
        for cell in seeds:
            same = next((one for one in distinct if _are_equal(one, cell)), None)
            if same is None:
                distinct.append(cell)
            else:
                notes.append(f"seed {cell.key.seed} has the predictions of seed {same.key.seed}")
        note = f"EQUAL SEEDS are counted once: {', '.join(notes)}" if notes else ""
        for cell in distinct:
            text = "; ".join(filter(None, (cell.subset_note, note)))
            kept[cell.key] = replace(cell, subset_note=text) if note else cell
    return tuple(kept[cell.key] for cell in cells if cell.key in kept)


def _are_equal(one: Cell, other: Cell) -> bool:
    if one.predictions is None or other.predictions is None:
        return False
    # Sums of other predictions have other sizes, mostly: their receipts need not be read.
    first, second = Path(one.scores, SUMS), Path(other.scores, SUMS)
    try:
        if not filecmp.cmp(first, second, shallow=False):
            return False
    except OSError:  # not scored yet
        return False
    receipts = [read_receipt(Path(folder)) for folder in (one.predictions, other.predictions)]
    files = [{name: file.sha256 for name, file in r.files.items()} for r in receipts if r]
    return len(files) == 2 and bool(files[0]) and files[0] == files[1]
