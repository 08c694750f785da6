"""Forecasts that are read and not computed: from somebody's archive, or from the prepared data."""

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.job import Job, Recipe, Report
from stp.core.options import check_keys
from stp.data.prepared import Clips, Prepared
from stp.data.raw_files import RawFiles
from stp.options.predict import PredictOptions


class Given(NamedTuple):
    """What forecasts are read for, and from.

    Attributes:
        data: the prepared data.
        clips: of the split.
        lead_times: of the forecasts.
        members: forecasts of each clip.
        archive: the raw files of an archive; None where there is none.
        aside: a folder that survives a crash, for what is put aside.
        report: progress.
        intensity: of a distortion, from 1; 0 where there is none.
    """

    data: Prepared
    clips: Clips
    lead_times: int
    members: int
    archive: RawFiles | None
    aside: Path
    report: Report
    intensity: int = 0

    def valid(self, row: int, lead: int) -> int:
        """Frame of the data that a clip is forecast to be at a lead time, from 0."""
        clip = self.clips.index.iloc[row]
        return int(clip["start"] + (self.data.context + lead) * clip["stride"])


class Source(ABC):
    """Forecasts of the clips of a split.

    Attributes:
        rows: numbers of the clips that have forecasts, int64, in the order in which they are best
            read.
        channels: numbers of the data's channels that they have, int64, ascending.
        leads: numbers of the lead times that they all have, int64, from 0, ascending; all unless
            set.
        members: how many of each are read, where equal ones are counted once; all unless set.
        note: what tables say of them; empty for nothing.
        is_unknown: nobody has vouched for them, so their agreement with the truth is measured
            (`stp.predict.agreement`).
    """

    rows: np.ndarray
    channels: np.ndarray
    leads: np.ndarray | None = None
    members: int | None = None
    note: str = ""
    is_unknown: bool = False

    @abstractmethod
    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """The forecasts of a clip, float32 (members, leads, C_there, H, W), in the dataset's units.

        Args:
            row: number of the clip.
            leads: numbers of lead times, from 0, ascending.
        """

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Put away what is open or lies aside. A source that is left to Python would do so at any
        later time, also to what the next one has put there.
        """


def given_for(job: Job, recipe: Recipe, data: Prepared) -> Given:
    """What the forecasts of a recipe are read for, and from.

    Args:
        job: its inputs may have an ``archive``, whose raw files its runtime names.
        recipe: of the forecasts.
        data: the prepared data.
    """
    archive = None
    if "archive" in job.inputs:
        archive = RawFiles(job.inputs["archive"], job.runtime["raw_roots"])
    return Given(
        data,
        data.clips(recipe["split"], interval=recipe.get("interval", 1)),
        recipe["lead_times"],
        PredictOptions.from_recipe(recipe["predict"]).members,
        archive,
        Path(job.state) / "read",
        job.report,
        recipe.get("intensity", 0),
    )


def open_source(recipe: Recipe, given: Given) -> Source:
    """Open the source that a recipe names.

    Args:
        recipe: has ``source``, a module of stp.predict.sources, and its ``options``.
        given: what forecasts are read for.

    Raises:
        StpError: it does not know an option, or what it reads is not there or damaged.
    """
    module = importlib.import_module(f"stp.predict.sources.{recipe['source']}")
    check_keys(f"options of {recipe['model']}", recipe["options"], module.OPTIONS)
    source: Source = module.open_source(given, **recipe["options"])
    return source
