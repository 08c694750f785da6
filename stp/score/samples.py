"""The interface between forecasts and scores.

Scoring (`stp.score.scoring`) reads forecasts and observations from a `Samples` object, some samples
and lead times at a time. It knows nothing of models, archives or files of predictions. Each kind of
score job has its own subclass of `Samples`:

- `stp.score.run` reads stored predictions (`stp.score.predictions.Predictions`);
- `stp.score.rollout` computes forecasts on demand (`stp.predict.forecasts.Forecasts`);
- `stp.score.read` reads forecasts that were made elsewhere, on demand
  (`stp.predict.source.Source`);
- `stp.score.motion` reads stored tracks of people.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from stp.core.errors import StpError
from stp.data.prepared import Clips
from stp.score.blocks import Blocks

ALL = slice(None)


def spread(samples: int, most: int) -> np.ndarray:
    """Indices of at most ``most`` of ``samples`` samples, evenly spaced from 0, int64."""
    count = min(most, samples)
    return np.arange(count, dtype=np.int64) * samples // max(count, 1)


def samples_to_keep(clips: Clips, keep: int | Sequence[str]) -> np.ndarray:
    """Indices of the samples whose forecasts are to be stored, ascending int64.

    Args:
        clips: clips of the split.
        keep: number of samples, evenly spaced; or names of clips.

    Raises:
        StpError: the split has no clip with that name.
    """
    if isinstance(keep, int):
        return spread(len(clips), keep)
    names = clips.index["clip"].astype(str).tolist()
    for name in keep:
        if name not in names:
            raise StpError(
                f"there is no clip {name!r} to keep the forecast of",
                expected=f"clips from {names[0]} to {names[-1]}",
                remedy="correct `keep` in the scale file",
            )
    return np.array(sorted({names.index(name) for name in keep}), np.int64)


class Availability(NamedTuple):
    """Lead times and channels that the forecasts have: ascending indices from 0.

    Attributes:
        leads: indices of lead times, int64 (T_available,).
        channels: indices of channels in the data, int64 (C_available,).
    """

    leads: np.ndarray
    channels: np.ndarray


class Samples(ABC):
    """The samples of one split: forecasts and observations.

    Attributes:
        index: table with a row for each sample that has forecasts; columns ``clip`` and
            ``cluster``.
        blocks: start and length of each cluster of the split, if clusters are blocks of time; else
            None.
        shape: shape of all available forecasts, (N, M, T_available, C_available, H, W): N samples,
            M ensemble members, the available lead times and channels, height and width.
        members: number M of forecasts of each sample; 1 unless the model draws several.
        leads: number T of lead times of a complete forecast.
        available: available lead times and channels.
        context: number of context frames.
        together: number of samples to read in one call when only some lead times are read.
    """

    index: pd.DataFrame
    blocks: Blocks | None
    shape: tuple[int, ...]
    members: int
    leads: int
    available: Availability
    context: int
    together: int = 1

    @abstractmethod
    def read(self, start: int, stop: int, leads: slice = ALL) -> tuple[np.ndarray, np.ndarray]:
        """Read frames of samples start..stop-1, for the channels that the forecasts have.

        Args:
            start, stop: range of samples.
            leads: range of the available lead times to read; all by default.

        Returns:
            predicted frames of M members at t lead times, float32 (n, M, t, C_available, H, W), and
            observed frames, float32 (n, t, C_available, H, W).
        """

    @abstractmethod
    def read_context(self, start: int, stop: int) -> np.ndarray:
        """Context frames of samples start..stop-1, float32 (n, context, C, H, W)."""

    @abstractmethod
    def frame_numbers(self) -> np.ndarray:
        """Index in the data of the observed frame of each sample and lead time, int64 (N, T)."""


class FrameSamples(Samples):
    """Base class of samples with observed frames from prepared data.

    Args:
        clips: clips of the split.
        shape: shape of all available forecasts, (N, M, T_available, C_available, H, W): N samples,
            M ensemble members, the available lead times and channels, height and width.
        rows: indices of the clips with forecasts, one for each sample; all by default.
        leads: number of lead times of a complete forecast; by default the available number.
        available: available lead times and channels; all by default.
    """

    def __init__(
        self,
        clips: Clips,
        shape: tuple[int, ...],
        *,
        rows: np.ndarray | None = None,
        leads: int | None = None,
        available: Availability | None = None,
    ) -> None:
        self._clips = clips
        self._rows = np.arange(shape[0]) if rows is None else rows
        self.index = clips.index.iloc[self._rows].reset_index(drop=True)
        self.blocks = Blocks.of(clips.index, clips.prepared.folder)
        self.shape = shape
        self.members = shape[1]
        self.leads = shape[2] if leads is None else leads
        self.available = available or Availability(np.arange(shape[2]), np.arange(shape[3]))
        self.context: int = clips.prepared.context

    @abstractmethod
    def forecasts(self, start: int, stop: int, leads: slice = ALL) -> np.ndarray:
        """Read or compute forecasts of samples start..stop-1, for the channels that they have.

        Args:
            start, stop: range of samples.
            leads: range of the available lead times to return; all by default.

        Returns:
            forecasts of M members at t lead times, float32 (n, M, t, C_available, H, W).
        """

    def read(self, start: int, stop: int, leads: slice = ALL) -> tuple[np.ndarray, np.ndarray]:
        steps = self.available.leads[leads]
        length = self.context + int(steps[-1]) + 1
        observed = self._clips.read(
            self._rows[start:stop], length=length, frames=self.context + steps
        )
        if len(self.available.channels) < observed.shape[2]:
            observed = np.ascontiguousarray(observed[:, :, self.available.channels])
        return self.forecasts(start, stop, leads), observed

    def read_context(self, start: int, stop: int) -> np.ndarray:
        if not self.context:
            return np.empty((stop - start, 0, *self._clips.prepared.shape), np.float32)
        return self._clips.read(self._rows[start:stop], length=self.context)

    def frame_numbers(self) -> np.ndarray:
        starts, strides = (self.index[key].to_numpy(np.int64) for key in ("start", "stride"))
        steps = self.context + np.arange(self.leads)
        return np.asarray(starts[:, None] + steps * strides[:, None])
