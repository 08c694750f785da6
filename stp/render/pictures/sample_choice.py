"""Which test samples are drawn: a fixed rule, so that nobody can pick the pretty ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.score.tables import read_samples

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
    folders: Sequence[Path],
    wanted: str,
    kept: np.ndarray,
    variables: Sequence[str] = (),
    clips: Sequence[str] | None = None,
) -> Chosen:
    """Choose a sample.

    Samples are ordered by their error, the mean over lead times and over the models that have all
    of them; of equal ones the first comes first. ``median`` is the middle one, the lower of two.

    Args:
        folders: score artefacts of all models.
        wanted: one of ``RULES``, or the number of a sample.
        kept: numbers of the samples that can be drawn, ascending, at least one.
        variables: names of the one whose error counts, where errors are of single variables.
        clips: names of all samples, of which models may lack some; all models have all unless
            given.

    Raises:
        StpError: there is no such rule or sample, or no sample with an error.
    """
    if wanted not in RULES:
        return _numbered(wanted, kept)
    criterion, of_models, there = errors_of(folders, variables, clips)
    if criterion is None:
        # Not every set of metrics of one's own has an error of single samples.
        middle = int(kept[(len(kept) - 1) // 2])
        return Chosen("middle", middle, "the middle one: no errors of single samples were scored")
    counted = there[:, kept].all(axis=1)
    errors = of_models[counted if counted.any() else slice(None)].mean(axis=0)
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
    models = int(counted.sum())
    of = "the model" if models == 1 else f"{models} models"
    word = {"median": "median error", "hardest": "largest error", "easiest": "smallest error"}
    return Chosen(
        wanted,
        sample,
        f"the sample of {word[wanted]} among {among} ({criterion}, mean over lead times and {of})"
        if models > 1
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


def errors_of(
    folders: Sequence[Path], variables: Sequence[str], every: Sequence[str] | None = None
) -> tuple[str | None, np.ndarray, np.ndarray]:
    """The error that each model has of each sample.

    Args:
        folders, variables: see `choose`.
        every: names of the clips of all samples; that of each model unless given.

    Returns:
        the convention, with its variable if it is of one (None if no error was scored); float64
        (models, samples): the mean over lead times, NaN where a model lacks the sample; and bool
        (models, samples): whether it has the sample.

    Raises:
        StpError: a file is missing or damaged, or models were tested on different samples and
            nothing says which there are.
    """
    for criterion in CRITERIA:
        for variable in (None, *variables):
            found = [read_samples(folder, criterion, variable) for folder in folders]
            tables = [table for table in found if table is not None]
            if len(tables) < len(folders):
                continue
            for folder, (clips, _) in zip(folders, tables, strict=True):
                if clips != tables[0][0] and (every is None or not set(clips) <= set(every)):
                    raise StpError(
                        f"{folder}: other samples than in {folders[0]}",
                        expected="models that were tested on the same clips",
                        remedy="run the table command again",
                    )
            errors, there = [], []
            for clips, values in tables:
                of_clip = {
                    clip: float(np.mean(_leads(of))) for clip, of in zip(clips, values, strict=True)
                }
                errors.append([of_clip.get(clip, np.nan) for clip in every or clips])
                there.append([clip in of_clip for clip in every or clips])
            name = criterion if variable is None else f"{criterion} of {variable}"
            return name, np.array(errors), np.array(there)
    return None, np.empty((0, 0)), np.empty((0, 0), bool)


def _leads(values: list[float] | None) -> list[float]:
    """The values that there are; NaN where there is none."""
    return [value for value in values or () if value is not None] or [np.nan]
