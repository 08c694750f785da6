"""The archive of a weather centre: a Zarr group for each start, in one .tar.gz in several parts.

A group has variables (step, level, latitude, longitude), in ensembles with a dimension ``number``
before these; step 0 is the start, the name of the group ends with the date, and missing values are
NaN. Starts may have any order.

The parts, read one after the other, are called the stream. It is read twice: once to list starts
and variables and to check that the stream is complete (the list is cached), and once for the
scores, in the order of the stream. One start at a time is on disk, still compressed.
"""

import fnmatch
import json
from collections.abc import Generator
from contextlib import closing
from typing import Any

import numpy as np
import xarray as xr

from stp.core.errors import StpError
from stp.core.json_files import json_or_none
from stp.data.daily_fields import (
    STANDARD_GRAVITY,
    Grid,
    check_times,
    date_of,
    open_group,
    read_fields,
)
from stp.data.tar_stream import Folder, folders
from stp.metrics.latitude import coordinate
from stp.predict.bias_correction import Corrected
from stp.predict.source import ForecastRequest, Source

OPTIONS = ("ensemble", "gravity", "corrected_on")
LISTING = "listing.json"


class CentreArchive(Source):
    """Forecasts of a weather centre, such as ECMWF, read from its archive.

    The archive is one .tar.gz in several parts, the raw files. Read one after the other, they are
    a stream with a Zarr group for each start.

    Args:
        request: clips, number of lead times and members, and the raw files (``archive``). A clip
            has a forecast if the archive has one that starts at the clip's last context frame.
        ensemble: whether the archive has several members for each start.
        gravity: number by which the archive divided geopotential to get heights, m s-2.
        parts: pattern of the paths of those raw files that are parts of this archive, such as
            ``*/ncep/*``; all raw files by default.

    Raises:
        StpError: the stream is damaged or ends early; it has no forecast of any clip; starts have
            different variables; or grid, units, steps or members are not as expected.
    """

    _first_step = 1
    """Index of the first lead time along steps; the start has index 0."""

    def __init__(
        self, request: ForecastRequest, ensemble: bool, gravity: float, parts: str = "*"
    ) -> None:
        assert request.archive is not None
        self._request, self._gravity = request, gravity
        self._outer = ("number", "step") if ensemble else ("step",)
        names_of_parts = fnmatch.filter(request.archive.names, parts)
        if not names_of_parts:
            raise StpError(
                f"no raw file is a part of the stream {parts}",
                expected=f"some of {', '.join(request.archive.names[:5])}",
                remedy="correct the names of the centres, or the files of the archive",
            )
        self._parts = [request.archive.find(name) for name in names_of_parts]
        self._grid = Grid(*request.data.shape[1:])
        names: list[str] = request.data.attrs["variables"]
        levels = coordinate(request.data, "level")
        hours = coordinate(request.data, "time")
        assert levels is not None and hours is not None
        # Archives of centres lack variables without levels, such as land and ocean.
        on_levels = np.flatnonzero(np.isfinite(levels)).tolist()
        self._levels = [
            (names[c].removesuffix(f"_{levels[c]:g}"), int(levels[c])) for c in on_levels
        ]
        self._names = [names[c] for c in on_levels]
        days = hours.astype("datetime64[h]").astype("datetime64[D]")
        starts = [str(days[request.valid(row, -1)]) for row in range(len(request.clips))]
        self._row = {start: row for row, start in enumerate(starts)}
        order, channels = self._listing()
        self.rows = np.array([self._row[start] for start in order], np.int64)
        self.channels = np.array([names.index(name) for name in channels], np.int64)
        self._available = [self._names.index(name) for name in channels]
        self._stream: Generator[tuple[str, xr.Dataset], None, None] | None = None
        self._position = -1  # position of the open start in the stream
        self._order = order

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """Read the forecasts of one clip in the dataset's units, (members, lead times, C, H, W)."""
        position = int(np.flatnonzero(self.rows == row)[0])
        name, opened = self._at(position)
        variables: dict[str, list[int]] = {}
        for c in self._available:
            variable, level = self._levels[c]
            variables.setdefault(variable, []).append(level)
        fields = self._fields(name, opened, variables, {"step": self._first_step + leads})
        if not np.isfinite(fields).all():
            bad = np.argwhere(~np.isfinite(fields))[0]
            channel, lead = self._names[self._available[bad[-3]]], int(leads[bad[-4]]) + 1
            raise StpError(
                f"{name}: {channel} is not finite at lead time {lead}",
                expected="finite numbers, or NaN in a whole missing forecast",
                remedy="fetch the archive again, or remove this start from it",
            )
        return fields if "number" in self._outer else fields[None]

    def close(self) -> None:
        """Close files and remove temporary ones (see `Source.close`)."""
        if self._stream is not None:
            self._stream.close()

    def _fields(
        self, name: str, opened: xr.Dataset, variables: dict[str, list[int]], at: dict[str, Any]
    ) -> np.ndarray:
        return read_fields(
            name,
            opened,
            variables,
            self._grid,
            gravity=self._gravity,
            outer=self._outer,
            at=at,
        )

    def _at(self, position: int) -> tuple[str, xr.Dataset]:
        """The opened group at a position of the stream."""
        if self._stream is None or position < self._position:
            if self._stream is not None:
                self._stream.close()
            self._stream, self._position = self._open_all(), -1
        while self._position < position:
            self._current = next(self._stream)
            self._position += 1
        return self._current

    def _open_all(self) -> Generator[tuple[str, xr.Dataset], None, None]:
        with closing(self._folders(set(self._order))) as stream:
            for folder in stream:
                yield folder.name, open_group(folder)

    def _folders(self, starts: set[str]) -> Generator[Folder, None, None]:
        return folders(
            self._parts,
            lambda name: date_of(name) in starts,
            suffix=".zarr",
            aside=self._request.aside / "starts",
        )

    def _listing(self) -> tuple[list[str], list[str]]:
        """The starts with forecasts, in the order of the stream, and their channels."""
        archive = self._request.archive
        assert archive is not None
        about = {"raw": archive.checksums(), "starts": sorted(self._row), "channels": self._names}
        path = self._request.aside / LISTING
        cached = json_or_none(path)
        if isinstance(cached, dict) and cached.get("about") == about:
            return cached["order"], cached["held"]
        channels_of: dict[str, list[str]] = {}
        with closing(self._folders(set(self._row))) as stream:
            for count, folder in enumerate(stream, 1):
                channels = self._channels_in(folder.name, open_group(folder))
                if channels:
                    channels_of[str(date_of(folder.name))] = channels
                self._request.report("starts listed", count, len(self._row))
        if not channels_of:
            raise StpError(
                f"{self._parts[0]} ({len(self._parts)} parts): no forecast of any of the "
                f"{len(self._row)} starts, {min(self._row)} to {max(self._row)}",
                expected="groups whose names end with some of these dates, and values in them",
                remedy="check that it is the archive of these years",
            )
        order = list(channels_of)
        for start in order[1:]:
            if channels_of[start] != channels_of[order[0]]:
                differ = sorted(set(channels_of[start]) ^ set(channels_of[order[0]]))
                raise StpError(
                    f"{self._parts[0]}: the forecasts of {order[0]} and {start} have different "
                    f"variables: {', '.join(differ)} in one of the two alone",
                    expected="the same variables for all starts with a forecast",
                    remedy="fetch the archive again, or remove one of the two from it",
                )
        text = json.dumps({"about": about, "order": order, "held": channels_of[order[0]]})
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
        return order, channels_of[order[0]]

    def _channels_in(self, name: str, opened: xr.Dataset) -> list[str]:
        """Channels with any value at the first lead time of a group."""
        self._check(name, opened)
        at: dict[str, Any] = {"step": [self._first_step]}
        if "number" in self._outer:
            at["number"] = [0]
        pairs = self._levels
        variables = {v: [level for w, level in pairs if w == v] for v, _ in pairs}
        fields = self._fields(name, opened, variables, at)
        present = np.isfinite(fields).reshape(len(self._names), -1).any(axis=1)
        return [channel for channel, has in zip(self._names, present, strict=True) if has]

    def _check(self, name: str, opened: xr.Dataset) -> None:
        """Refuse a group with an unexpected number of steps or members, or contradictory times."""
        expected = {"step": 1 + self._request.lead_times}
        if "number" in self._outer:
            expected["number"] = self._request.members
        for dim, size in expected.items():
            actual = opened.sizes.get(dim, 0)
            if actual < size or (dim == "number" and actual != size):
                raise StpError(
                    f"{name}: {actual} places along {dim}",
                    expected=f"{size}",
                    remedy="set predict: {samples: ...} of this model to the members of the "
                    "archive, or fetch it again",
                )
        if "step" in opened.coords:
            steps = opened["step"].to_numpy()[: 1 + self._request.lead_times].astype(np.int64)
            units = str(opened["step"].attrs.get("units", ""))
            day = 24 if units == "hours" else 1
            if (steps != day * np.arange(len(steps))).any():
                raise StpError(
                    f"{name}: steps are {steps[:3].tolist()}, ... {units}",
                    expected="successive days from 0",
                    remedy="fetch the official archive",
                )
        check_times(name, opened, np.arange(1 + self._request.lead_times))


def open_source(
    request: ForecastRequest,
    ensemble: bool = False,
    gravity: float = STANDARD_GRAVITY,
    corrected_on: str | None = None,
) -> Source:
    """Open the archive of a weather centre, such as ECMWF, as a source of its forecasts.

    Args:
        request: clips, number of lead times and members, and the raw files (``archive``).
        ensemble: whether the archive has several members for each start.
        gravity: number by which the archive divided geopotential to get heights, m s-2.
        corrected_on: name of a split of earlier years; the mean error of the forecasts of its
            starts is subtracted from all forecasts. None: forecasts are not corrected.
    """
    source = CentreArchive(request, ensemble, gravity)
    if corrected_on is None:
        return source
    past = request._replace(clips=request.data.clips(corrected_on), aside=request.aside / "past")
    return Corrected(source, CentreArchive(past, ensemble, gravity), past)
