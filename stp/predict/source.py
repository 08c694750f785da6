"""Interface of sources: forecasts that are read from an archive or prepared data, not computed."""

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


class ForecastRequest(NamedTuple):
    """A request for the forecasts of the clips of a split, made to a `Source`.

    Attributes:
        data: the prepared data.
        clips: clips of the split.
        lead_times: number of lead times.
        members: number of forecasts of each clip.
        archive: raw files that hold the forecasts; None if they follow from the prepared data.
        aside: folder of the job for temporary files of the source, such as unpacked ones; it
            survives a crash.
        report: function that receives the progress.
        intensity: for distorted clips: level of the distortion, from 1; 0 for all other
            forecasts.
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
        """Index in the data of the frame at a lead time of a clip.

        Args:
            row: index of the clip, from 0.
            lead: index of the lead time, from 0; -1 for the last context frame.
        """
        clip = self.clips.index.iloc[row]
        return int(clip["start"] + (self.data.context + lead) * clip["stride"])


class Source(ABC):
    """Forecasts of the clips of a split, which are read and not computed.

    Open one with `open_source`, and `close` it after use.

    Attributes:
        rows: indices of the clips with forecasts, int64, in the fastest order of reading.
        channels: indices of the available channels of the data, int64, ascending.
        leads: indices of the lead times that all forecasts have, int64, from 0, ascending; None for
            all lead times.
        members: number of different members, if some members are copies of others; None if all
            differ.
        note: text that tables show beside the forecasts; may be empty.
        is_unknown: whether the forecasts are from an unknown source, so that their agreement with
            the truth is measured (`stp.predict.agreement`).
    """

    rows: np.ndarray
    channels: np.ndarray
    leads: np.ndarray | None = None
    members: int | None = None
    note: str = ""
    is_unknown: bool = False

    @abstractmethod
    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of a clip in the dataset's units, float32 (members, leads, C, H, W).

        C is the number of available channels.

        Args:
            row: index of the clip.
            leads: indices of lead times, from 0, ascending.
        """

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Close files and remove temporary ones.

        Close a source before another one with the same folder ``aside`` (see `ForecastRequest`) is
        opened, since both put temporary files there.
        """
        # A source that is not closed removes its temporary files when it is garbage collected. By
        # then, a later source may have put files of the same names there, and would lose them.


def request_for(job: Job, recipe: Recipe, data: Prepared) -> ForecastRequest:
    """Make the request for the forecasts that a recipe (all settings of one result) describes.

    Args:
        job: job that reads the forecasts. If they are in an archive (raw files of a model), its
            inputs have ``archive``, the lock file of these files, and its runtime has
            ``raw_roots``, the folders that are searched for them.
        recipe: recipe of the forecasts, with ``split``, ``lead_times`` and ``predict`` (settings of
            prediction). It may have ``interval``, the spacing of the frames of a clip that are
            read (1, the default, for all of them), and ``intensity``, the level of the distortion
            of distorted clips, from 1.
        data: the prepared data.
    """
    archive = None
    if "archive" in job.inputs:
        archive = RawFiles(job.inputs["archive"], job.runtime["raw_roots"])
    return ForecastRequest(
        data,
        data.clips(recipe["split"], interval=recipe.get("interval", 1)),
        recipe["lead_times"],
        PredictOptions.from_recipe(recipe["predict"]).members,
        archive,
        Path(job.state) / "read",
        job.report,
        recipe.get("intensity", 0),
    )


def open_source(recipe: Recipe, request: ForecastRequest) -> Source:
    """Open the source of forecasts that a recipe (all settings of one result) names.

    Args:
        recipe: recipe with ``source``, the name of a module of stp.predict.sources, and its
            ``options``.
        request: clips whose forecasts are read, number of lead times, and so on.

    Raises:
        StpError: an option is unknown, or a file is missing or damaged.
    """
    module = importlib.import_module(f"stp.predict.sources.{recipe['source']}")
    check_keys(f"options of {recipe['model']}", recipe["options"], module.OPTIONS)
    source: Source = module.open_source(request, **recipe["options"])
    return source
