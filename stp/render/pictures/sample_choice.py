"""Choose test samples to draw: by fixed rules, to avoid cherry-picking, or by index."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.score.tables import read_samples

RULES = ("median", "hardest", "easiest")
CRITERIA = (
    "mse.pixel_mean",
    "mse.pixel_sum",
    "wrmse.per_frame",
    "rmse.per_frame",
    "mae.pixel_mean",
    "mae.pixel_sum",
)
"""Errors by which samples are sorted; the first one that was scored is used."""


class Chosen(NamedTuple):
    """A sample that was chosen to be drawn, and the reason.

    Attributes:
        name: the rule, or ``sample-<index>``; part of file names.
        sample: index of the sample, from 0.
        why: reason for the choice, for the caption of the picture.
    """

    name: str
    sample: int
    why: str


def choose(
    folders: Sequence[Path],
    rule: str,
    drawable: np.ndarray,
    variables: Sequence[str] = (),
    clips: Sequence[str] | None = None,
) -> Chosen:
    """Choose a test sample by rule or index.

    Rules order samples by error: the mean over lead times, and over the models that have all
    samples; ties keep the order of the samples. ``median`` is the middle sample; of two middle
    samples, the one with the lower error.

    Args:
        folders: folders of the score artefacts of all models.
        rule: ``median``, ``hardest`` or ``easiest`` error, or the index of a sample.
        drawable: indices of the samples that can be drawn, ascending, at least one.
        variables: possible spellings of the variable whose error is used, if errors are scored by
            variable.
        clips: names of the clips of all samples, if models may lack some of them; None if all
            models have all samples.

    Raises:
        StpError: the rule or sample is unknown, or no sample has an error.
    """
    if rule not in RULES:
        return _choose_by_number(rule, drawable)
    criterion, of_models, has_sample = errors_of(folders, variables, clips)
    if criterion is None:
        # A user's metrics need not have an error of single samples.
        middle = int(drawable[(len(drawable) - 1) // 2])
        return Chosen("middle", middle, "the middle one: no errors of single samples were scored")
    counted = has_sample[:, drawable].all(axis=1)
    errors = of_models[counted if counted.any() else slice(None)].mean(axis=0)
    candidates = drawable[np.isfinite(errors[drawable])]
    if not len(candidates):
        raise StpError(
            f"{folders[0]}: no sample that can be drawn has a finite {criterion}",
            remedy="name a sample by its number",
        )
    order = candidates[np.argsort(errors[candidates], kind="stable")]
    ends = {"easiest": order[0], "hardest": candidates[np.argmax(errors[candidates])]}
    sample = int(ends.get(rule, order[(len(order) - 1) // 2]))
    candidates_text = f"{len(candidates):,}" + (
        "" if len(candidates) == len(errors) else f" whose predictions are kept, of {len(errors):,}"
    )
    models = int(counted.sum())
    word = {"median": "median error", "hardest": "largest error", "easiest": "smallest error"}
    measure = (
        f"{criterion}, mean over lead times and {models} models"
        if models > 1
        else f"{criterion} of the model, mean over lead times"
    )
    return Chosen(rule, sample, f"the sample of {word[rule]} among {candidates_text} ({measure})")


def _choose_by_number(rule: str, drawable: np.ndarray) -> Chosen:
    if not rule.isdecimal():
        raise StpError(
            f"no rule {rule!r} to choose a sample by",
            expected=f"{', '.join(RULES)}, or the number of a sample",
        )
    if int(rule) not in drawable:
        raise StpError(
            f"there are no predictions of sample {rule}",
            expected=f"one of the {len(drawable):,} samples from {drawable[0]} to {drawable[-1]} "
            "that are kept",
        )
    return Chosen(f"sample-{int(rule)}", int(rule), "chosen by hand")


def errors_of(
    folders: Sequence[Path], variables: Sequence[str], all_clips: Sequence[str] | None = None
) -> tuple[str | None, np.ndarray, np.ndarray]:
    """Read the error of each model on each sample.

    Args:
        folders: folders of the score artefacts of all models.
        variables: possible spellings of the variable whose error is used, if errors are scored by
            variable.
        all_clips: names of the clips of all samples; None if all models have the same samples.

    Returns:
        three values. Name of the error, such as ``mse.pixel_mean``, with its variable if it has
        one; None if no error was scored. Errors averaged over lead times, float64 (models,
        samples), NaN where a model lacks the sample. Whether each model has the sample, bool
        (models, samples).

    Raises:
        StpError: a file is missing or damaged, or models have different samples although
            ``all_clips`` is None.
    """
    for criterion in CRITERIA:
        for variable in (None, *variables):
            samples_of = [read_samples(folder, criterion, variable) for folder in folders]
            tables = [table for table in samples_of if table is not None]
            if len(tables) < len(folders):
                continue
            for folder, (clips, _) in zip(folders, tables, strict=True):
                if clips != tables[0][0] and (
                    all_clips is None or not set(clips) <= set(all_clips)
                ):
                    raise StpError(
                        f"{folder}: other samples than in {folders[0]}",
                        remedy="run the table command again",
                    )
            errors, has_sample = [], []
            for clips, values in tables:
                error_of = {
                    clip: float(np.mean(_leads(lead_errors)))
                    for clip, lead_errors in zip(clips, values, strict=True)
                }
                errors.append([error_of.get(clip, np.nan) for clip in all_clips or clips])
                has_sample.append([clip in error_of for clip in all_clips or clips])
            name = criterion if variable is None else f"{criterion} of {variable}"
            return name, np.array(errors), np.array(has_sample)
    return None, np.empty((0, 0)), np.empty((0, 0), bool)


def _leads(values: list[float] | None) -> list[float]:
    """Values without None; a single NaN if nothing remains."""
    return [value for value in values or () if value is not None] or [np.nan]
