"""The archive of a forecast centre: one Zarr group for each start, in the parts of one tar stream.

A group has variables (step, level, latitude, longitude), in ensembles with a dimension number
before these, and step 0 is the start; its name ends with the date, and values that the archive
lacks are NaN. Starts lie in any order. The stream is read twice: once to see which starts and
variables there are and that it does not end early, which is written down, and once for the scores,
start by start in its own order. One start at a time is put aside on disk, as packed as it comes.
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
from stp.predict.source import Given, Source

OPTIONS = ("ensemble", "gravity", "corrected_on")
LISTING = "listing.json"


class CentreArchive(Source):
    """Forecasts of a centre.

    Args:
        given: what forecasts are read for. The clips that have some are those whose last context
            frame is the start of a forecast.
        ensemble: whether groups have members.
        gravity: m s-2, by which the archive divided geopotential.
        parts: pattern of the raw files that are the parts of the stream; all unless given.

    Raises:
        StpError: the stream is damaged or ends early; no start of the clips is in it, or they have
            different variables; a grid, unit, step or member is not as expected.
    """

    _first_step = 1
    """Place of the first lead time along steps: behind the start."""

    def __init__(self, given: Given, ensemble: bool, gravity: float, parts: str = "*") -> None:
        assert given.archive is not None
        self._given, self._gravity = given, gravity
        self._outer = ("number", "step") if ensemble else ("step",)
        names_of_parts = fnmatch.filter(given.archive.names, parts)
        if not names_of_parts:
            raise StpError(
                f"no raw file is a part of the stream {parts}",
                expected=f"some of {', '.join(given.archive.names[:5])}",
                remedy="correct the names of the centres, or the files of the archive",
            )
        self._parts = [given.archive.find(name) for name in names_of_parts]
        self._grid = Grid(*given.data.shape[1:])
        names: list[str] = given.data.attrs["variables"]
        levels = coordinate(given.data, "level")
        hours = coordinate(given.data, "time")
        assert levels is not None and hours is not None
        # Centres have no variables of land and ocean, which have no levels.
        on_levels = np.flatnonzero(np.isfinite(levels)).tolist()
        self._of = [(names[c].removesuffix(f"_{levels[c]:g}"), int(levels[c])) for c in on_levels]
        self._names = [names[c] for c in on_levels]
        days = hours.astype("datetime64[h]").astype("datetime64[D]")
        starts = [str(days[given.valid(row, -1)]) for row in range(len(given.clips))]
        self._row = {start: row for row, start in enumerate(starts)}
        order, channels = self._listing()
        self.rows = np.array([self._row[start] for start in order], np.int64)
        self.channels = np.array([names.index(name) for name in channels], np.int64)
        self._held = [self._names.index(name) for name in channels]
        self._stream: Generator[tuple[str, xr.Dataset], None, None] | None = None
        self._place = -1  # in the stream, of the start that is open
        self._order = order

    def read(self, row: int, leads: np.ndarray) -> np.ndarray:
        """See `Source.read`."""
        place = int(np.flatnonzero(self.rows == row)[0])
        name, opened = self._at(place)
        variables: dict[str, list[int]] = {}
        for c in self._held:
            variable, level = self._of[c]
            variables.setdefault(variable, []).append(level)
        fields = self._fields(name, opened, variables, {"step": self._first_step + leads})
        if not np.isfinite(fields).all():
            bad = np.argwhere(~np.isfinite(fields))[0]
            channel, lead = self._names[self._held[bad[-3]]], int(leads[bad[-4]]) + 1
            raise StpError(
                f"{name}: {channel} is not finite at lead time {lead}",
                expected="numbers where a start has a forecast, NaN in all of what is missing",
                remedy="fetch the archive again, or leave this start out of it",
            )
        return fields if "number" in self._outer else fields[None]

    def close(self) -> None:
        """See `Source.close`."""
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

    def _at(self, place: int) -> tuple[str, xr.Dataset]:
        """The opened group of a start; those before it are passed over."""
        if self._stream is None or place < self._place:
            if self._stream is not None:
                self._stream.close()
            self._stream, self._place = self._open_all(), -1
        while self._place < place:
            self._current = next(self._stream)
            self._place += 1
        return self._current

    def _open_all(self) -> Generator[tuple[str, xr.Dataset], None, None]:
        wanted = set(self._order)
        with closing(self._folders(wanted)) as found:
            for folder in found:
                yield folder.name, open_group(folder)

    def _folders(self, wanted: set[str]) -> Generator[Folder, None, None]:
        return folders(
            self._parts,
            lambda name: date_of(name) in wanted,
            suffix=".zarr",
            aside=self._given.aside / "starts",
        )

    def _listing(self) -> tuple[list[str], list[str]]:
        """The starts that have forecasts, in the order of the stream, and the channels of these."""
        archive = self._given.archive
        assert archive is not None
        about = {"raw": archive.checksums(), "starts": sorted(self._row), "channels": self._names}
        path = self._given.aside / LISTING
        held = json_or_none(path)
        if isinstance(held, dict) and held.get("about") == about:
            return held["order"], held["held"]
        found: dict[str, list[str]] = {}
        with closing(self._folders(set(self._row))) as stream:
            for seen, folder in enumerate(stream, 1):
                there = self._there(folder.name, open_group(folder))
                if there:
                    found[str(date_of(folder.name))] = there
                self._given.report("starts listed", seen, len(self._row))
        if not found:
            raise StpError(
                f"{self._parts[0]} ({len(self._parts)} parts): no forecast of any of the "
                f"{len(self._row)} starts, {min(self._row)} to {max(self._row)}",
                expected="groups whose names end with some of these dates, and values in them",
                remedy="see whether it is the archive of these years",
            )
        order = list(found)
        for start in order[1:]:
            if found[start] != found[order[0]]:
                differ = sorted(set(found[start]) ^ set(found[order[0]]))
                raise StpError(
                    f"{self._parts[0]}: the forecasts of {order[0]} and {start} have different "
                    f"variables: {', '.join(differ)} in one of the two alone",
                    expected="the same variables for all starts that have a forecast",
                    remedy="fetch the archive again, or leave one of the two out of it",
                )
        text = json.dumps({"about": about, "order": order, "held": found[order[0]]})
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
        return order, found[order[0]]

    def _there(self, name: str, opened: xr.Dataset) -> list[str]:
        """Channels with any value on the first day of the forecasts of a group."""
        self._check(name, opened)
        at: dict[str, Any] = {"step": [self._first_step]}
        if "number" in self._outer:
            at["number"] = [0]
        variables = {v: [level for w, level in self._of if w == v] for v, _ in self._of}
        fields = self._fields(name, opened, variables, at)
        there = np.isfinite(fields).reshape(len(self._names), -1).any(axis=1)
        return [channel for channel, has in zip(self._names, there, strict=True) if has]

    def _check(self, name: str, opened: xr.Dataset) -> None:
        """Refuse another number of steps or members, and times that contradict each other."""
        wanted = {"step": 1 + self._given.lead_times}
        if "number" in self._outer:
            wanted["number"] = self._given.members
        for dim, size in wanted.items():
            there = opened.sizes.get(dim, 0)
            if there < size or (dim == "number" and there != size):
                raise StpError(
                    f"{name}: {there} places along {dim}",
                    expected=f"{size}",
                    remedy="set predict: {samples: ...} of this model to the members of the "
                    "archive, or fetch it again",
                )
        if "step" in opened.coords:
            steps = opened["step"].to_numpy()[: 1 + self._given.lead_times].astype(np.int64)
            units = str(opened["step"].attrs.get("units", ""))
            day = 24 if units == "hours" else 1
            if (steps != day * np.arange(len(steps))).any():
                raise StpError(
                    f"{name}: steps are {steps[:3].tolist()}, ... {units}",
                    expected="days from 0, one after the other",
                    remedy="fetch the official archive",
                )
        check_times(name, opened, np.arange(1 + self._given.lead_times))


def open_source(
    given: Given,
    ensemble: bool = False,
    gravity: float = STANDARD_GRAVITY,
    corrected_on: str | None = None,
) -> Source:
    """Open an archive.

    Args:
        given: what forecasts are read for.
        ensemble: whether groups have members.
        gravity: m s-2, by which the archive divided geopotential.
        corrected_on: split whose mean error is taken off, see `stp.predict.bias_correction`.
    """
    source = CentreArchive(given, ensemble, gravity)
    if corrected_on is None:
        return source
    past = given._replace(clips=given.data.clips(corrected_on), aside=given.aside / "past")
    return Corrected(source, CentreArchive(past, ensemble, gravity), past)
