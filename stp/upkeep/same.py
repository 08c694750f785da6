"""Do two folders hold the same numbers? By bytes first, then by content.

Two runs of the same code may write files that differ in bytes and not in meaning (times, order of
metadata); these are opened and compared value by value, without any tolerance.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.receipts import RECEIPT, SEALED, checksum
from stp.data.zarr_read import array_names, read_array
from stp.data.zarr_rows import MappedRows, is_mapped, read_metadata

NO_RESULT = {"history.parquet": ("seconds", "resumed")}
"""Columns that tell of the run, not of its result."""
BLOCK = 1 << 24
"""Values that are compared at once."""


def compare(old: Path, new: Path) -> Iterator[tuple[str, str, str | None]]:
    """Compare two folders.

    Args:
        old: an artefact.
        new: the same, made again.

    Yields:
        for each file, and each Zarr store as a whole: its name, how it was compared (``bytes`` or
        ``values``), and the first difference, or None.
    """
    for name in sorted({*_units(old), *_units(new)}):
        a, b = old / name, new / name
        if not a.exists() or not b.exists():
            yield name, "bytes", f"only in the {'old' if a.exists() else 'new'} one"
        elif _same_bytes(a, b):
            yield name, "bytes", None
        else:
            yield name, "values", _difference(a, b)


def _units(folder: Path) -> set[str]:
    """List the files at the top of an artefact, and its Zarr stores."""
    return {path.name for path in folder.iterdir() if path.name not in (RECEIPT, SEALED)}


def _same_bytes(a: Path, b: Path) -> bool:
    if a.is_file() and b.is_file():
        return a.stat().st_size == b.stat().st_size and checksum(a) == checksum(b)
    names = [sorted(str(f.relative_to(x)) for f in x.rglob("*") if f.is_file()) for x in (a, b)]
    return names[0] == names[1] and all(_same_bytes(a / name, b / name) for name in names[0])


def _difference(a: Path, b: Path) -> str | None:
    """Compare what two files of the same name hold."""
    if a.suffix == ".zarr":
        return _zarr(a, b)
    if a.suffix == ".parquet":
        return _parquet(a, b)
    if a.suffix == ".pt":
        import torch

        old, new = (torch.load(path, map_location="cpu", weights_only=True) for path in (a, b))
        return _tree(old, new, a.name)
    return "other bytes, of a kind of file whose content cannot be compared"


def _parquet(a: Path, b: Path) -> str | None:
    import pandas as pd

    tables = [pd.read_parquet(path, page_checksum_verification=True) for path in (a, b)]
    free = [c for c in NO_RESULT.get(a.name, ()) if all(c in table for table in tables)]
    old, new = (table.drop(columns=free) for table in tables)
    if list(old.columns) != list(new.columns) or len(old) != len(new):
        return f"{len(old)} rows of {list(old.columns)}, now {len(new)} of {list(new.columns)}"
    for name in old.columns:
        for row, (x, y) in enumerate(zip(old[name], new[name], strict=True)):
            found = _tree(x, y, f"{name}, row {row}")
            if found:
                return found
    return None


def _zarr(a: Path, b: Path) -> str | None:
    attributes = [read_metadata(path, "group").get("attributes", {}) for path in (a, b)]
    found = _tree(attributes[0], attributes[1], "attributes")
    old, new = array_names(a), array_names(b)
    for name in sorted({*old, *new}) if found is None else []:
        if name not in old or name not in new:
            return f"array {name} is only in the {'old' if name in old else 'new'} one"
        metadata = [read_metadata(path / name, "array") for path in (a, b)]
        if not all(map(is_mapped, metadata)):  # small
            found = _array(read_array(a / name), read_array(b / name), f"array {name}")
        else:
            found = _rows(MappedRows(a / name), MappedRows(b / name), f"array {name}")
        if found:
            return found
    return found


def _rows(x: MappedRows, y: MappedRows, name: str) -> str | None:
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"{name}: {x.shape} {x.dtype}, now {y.shape} {y.dtype}"
    rows = max(1, BLOCK // max(1, int(np.prod(x.shape[1:]))))
    parts = ((start, min(start + rows, len(x))) for start in range(0, len(x), rows))
    return next(filter(None, (_array(x.read(*at), y.read(*at), name) for at in parts)), None)


def _tree(x: Any, y: Any, name: str) -> str | None:
    """Compare nested values, arrays and tensors; NaN equals NaN."""
    if isinstance(x, dict) and isinstance(y, dict) and x.keys() == y.keys():
        pairs = ((x[key], y[key], f"{name}: {key}") for key in x)
    elif isinstance(x, list | tuple) and isinstance(y, list | tuple) and len(x) == len(y):
        pairs = ((p, q, f"{name}[{i}]") for i, (p, q) in enumerate(zip(x, y, strict=True)))
    elif hasattr(x, "shape") and hasattr(y, "shape"):
        return _array(np.asarray(x), np.asarray(y), name)
    elif x == y or (x != x and y != y) or (x is None and y is None):
        return None
    else:
        return f"{name}: {x!r}, now {y!r}"
    return next(filter(None, (_tree(*pair) for pair in pairs)), None)


def _array(x: np.ndarray, y: np.ndarray, name: str) -> str | None:
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"{name}: {x.shape} {x.dtype}, now {y.shape} {y.dtype}"
    if x.dtype == object:
        return _tree(x.tolist(), y.tolist(), name)
    if np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
        return None
    if x.dtype.kind not in "fciu":
        return f"{name}: other values"
    apart = np.abs(x.astype(float) - y.astype(float))
    count = int(np.count_nonzero(~(apart == 0)))
    return f"{name}: {count} of {x.size} values differ, by at most {np.nanmax(apart):.3g}"
