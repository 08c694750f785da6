"""Which test samples are drawn: a fixed rule, so that nobody can pick the pretty ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import StpError

RULES = ("median", "hardest", "easiest")
CRITERIA = ("mse.pixel_mean", "wrmse.per_frame", "rmse.per_frame", "mae.pixel_mean")
"""Errors that samples are ordered by: the first one that was scored."""


class Chosen(NamedTuple):
    """A sample, and why it is this one.

    Attributes:
        name: the rule, or ``sample-<number>``; part of file names.
        sample: its number among the test samples, from 0.
        why: for the reader of the picture.
    """

    name: str
    sample: int
    why: str


def choose(
    folders: Sequence[Path], wanted: str, kept: np.ndarray, variables: Sequence[str] = ()
) -> Chosen:
    """Choose a sample.

    Samples are ordered by their error, the mean over lead times and models; of equal ones the
    first comes first. ``median`` is the middle one, the lower of two.

    Args:
        folders: score artefacts of all models that were tested on the same samples.
        wanted: one of ``RULES``, or the number of a sample.
        kept: numbers of the samples that can be drawn, ascending, at least one.
        variables: names of the one whose error counts, where errors are of single variables.

    Raises:
        StpError: there is no such rule or sample, or no sample with an error.
    """
    if wanted not in RULES:
        return _numbered(wanted, kept)
    criterion, errors = errors_of(folders, variables)
    if criterion is None:
        # Not every set of metrics of one's own has an error of single samples.
        middle = int(kept[(len(kept) - 1) // 2])
        return Chosen("middle", middle, "the middle one: no errors of single samples were scored")
    candidates = kept[np.isfinite(errors[kept])]
    if not len(candidates):
        raise StpError(
            f"{folders[0]}: no sample that can be drawn has a finite {criterion}",
            remedy="name a sample by its number",
        )
    order = candidates[np.argsort(errors[candidates], kind="stable")]
    ends = {"easiest": order[0], "hardest": candidates[np.argmax(errors[candidates])]}
    sample = int(ends.get(wanted, order[(len(order) - 1) // 2]))
    among = f"{len(candidates):,}" + (
        "" if len(candidates) == len(errors) else f" whose predictions are kept, of {len(errors):,}"
    )
    of = "the model" if len(folders) == 1 else f"{len(folders)} models"
    word = {"median": "median error", "hardest": "largest error", "easiest": "smallest error"}
    return Chosen(
        wanted,
        sample,
        f"the sample of {word[wanted]} among {among} ({criterion}, mean over lead times and {of})"
        if len(folders) > 1
        else f"the sample of {word[wanted]} among {among} ({criterion} of {of}, mean over lead "
        "times)",
    )


def _numbered(wanted: str, kept: np.ndarray) -> Chosen:
    if not wanted.isdecimal():
        raise StpError(
            f"no rule {wanted!r} to choose a sample by",
            expected=f"{', '.join(RULES)}, or the number of a sample",
        )
    if int(wanted) not in kept:
        raise StpError(
            f"there are no predictions of sample {wanted}",
            expected=f"one of the {len(kept):,} samples from {kept[0]} to {kept[-1]} that are kept",
        )
    return Chosen(f"sample-{int(wanted)}", int(wanted), "chosen by hand")


def errors_of(folders: Sequence[Path], variables: Sequence[str]) -> tuple[str | None, np.ndarray]:
    """The error of each sample.

    Returns:
        the column of sample_scores.parquet (None if no error was scored) and float64 (samples,):
        the mean over lead times and models.

    Raises:
        StpError: a file is missing or damaged, or models were tested on different samples.
    """
    names = [_columns(folder) for folder in folders]
    wanted = [name for c in CRITERIA for name in (c, *(f"{c}.{v}" for v in variables))]
    common = [name for name in wanted if all(name in columns for columns in names)]
    if not common:
        return None, np.empty(0)
    tables = [_read(folder, common[0]) for folder in folders]
    errors = []
    for folder, table in zip(folders, tables, strict=True):
        if not table["clip"].equals(tables[0]["clip"]):
            raise StpError(
                f"{folder}: other samples than in {folders[0]}",
                expected="models that were tested on the same clips",
                remedy="run the table command again",
            )
        errors.append([np.mean(leads) for leads in table[common[0]].to_pylist()])
    return common[0], np.mean(errors, axis=0)


def _columns(folder: Path) -> list[str]:
    try:
        return list(pq.read_schema(folder / "sample_scores.parquet").names)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(folder, error) from error


def _read(folder: Path, column: str) -> pa.Table:
    try:
        path = folder / "sample_scores.parquet"
        return pq.read_table(
            path, columns=["clip", column], partitioning=None, page_checksum_verification=True
        )
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(folder, error) from error


def _unreadable(folder: Path, error: Exception) -> StpError:
    return StpError(
        f"{folder / 'sample_scores.parquet'}: "
        + ("missing" if isinstance(error, FileNotFoundError) else str(error)),
        expected="the scores of each sample",
        remedy="run the table command again: it scores what is missing",
    )
