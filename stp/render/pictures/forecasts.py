"""What the models of a case predict for one sample, beside what happened."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.errors import ArtefactError, StpError, nearest
from stp.core.parquet import read_table
from stp.data.prepared import Clips, Prepared
from stp.data.zarr_read import read_decoded
from stp.data.zarr_rows import MappedRows, read_metadata
from stp.page.figure_style import whose
from stp.page.units import readable
from stp.plan.manifest import Manifest, title_of
from stp.plan.manifest_types import StoredCell
from stp.plan.setting import setting_of
from stp.render.pictures.cases import TestedCase, case_of
from stp.render.pictures.prepared import (
    choose,
    grid_of,
    labels_of,
    seconds_of,
    shows_pictures,
    units_of,
    variables_of,
)
from stp.render.pictures.sample_choice import choose as choose_sample

NOT_KEPT = "its predictions are not kept"
NOT_OF_IT = "no prediction of this sample is kept"


@dataclass(frozen=True)
class Variable:
    """A variable that is drawn.

    Attributes:
        name: empty for video.
        units: of its values.
        channels: its channels among those of a sample: one, or the three colours of a video.
    """

    name: str
    units: str
    channels: tuple[int, ...]


@dataclass(frozen=True)
class Forecast:
    """What one model predicts.

    Attributes:
        label: its name.
        frames: float32 (lead times, C, H, W), in the dataset's units, unclipped.
    """

    label: str
    frames: np.ndarray


@dataclass(frozen=True)
class SampleForecasts:
    """One test sample, and the predictions of all models.

    Attributes:
        title: what was tested.
        clip: the name of the sample and, where it has one, its time.
        chosen_by: the name of the rule that chose it.
        number: of the sample, from 0.
        why: it was chosen.
        context: float32 (T_in, C, H, W), in the dataset's units; the channels that are drawn.
        truth: float32 (lead times, C, H, W).
        forecasts: in the order of the manifest.
        variables: those to draw.
        is_picture: whether values are brightness or colours in 0..1.
        seconds: from frame to frame, or None if frames have no such thing.
        lat: latitudes along y in degrees, or None where it is no map.
        lon: longitudes along x, likewise.
        absent: why there is no forecast of other models, by label.
        notes: sentences that a reader must know: the rule, the bytes, what is missing.
    """

    title: str
    clip: str
    chosen_by: str
    number: int
    why: str
    context: np.ndarray
    truth: np.ndarray
    forecasts: list[Forecast]
    variables: list[Variable]
    is_picture: bool
    seconds: float | None
    lat: np.ndarray | None
    lon: np.ndarray | None
    absent: dict[str, str]
    notes: list[str]

    def fields(self, frames: np.ndarray, variable: Variable) -> np.ndarray:
        """Frames of one variable as they are drawn: (T, H, W), or (T, H, W, 3) for colours."""
        chosen = frames[:, list(variable.channels)]
        if len(variable.channels) == 1:
            return chosen[:, 0]
        return np.clip(np.moveaxis(chosen, 1, -1), 0, 1)

    def errors(self, forecast: Forecast, variable: Variable) -> np.ndarray:
        """|prediction - truth| of unclipped values, (lead times, H, W); the mean over colours."""
        channels = list(variable.channels)
        difference = forecast.frames[:, channels].astype(np.float64) - self.truth[:, channels]
        return np.asarray(np.abs(difference).mean(axis=1))


class Kept:
    """The predictions of a cell that are still there, perhaps of some samples only.

    Args:
        cell: of the manifest.

    Attributes:
        absent: why there are none; empty if there are.
        samples: numbers of the samples that are kept, ascending.
        members: forecasts of each sample.
        leads: lead times that were to be forecast; frames of those that are not there are NaN.

    Raises:
        StpError: what is there is damaged.
    """

    def __init__(self, cell: StoredCell) -> None:
        self.absent, self.members = "", 1
        self.samples = np.empty(0, np.int64)
        # Long forecasts are scored while they are made; a few of them lie beside their scores.
        places = cell.folders(("predictions", "scores"))
        found = [place for place in places if (place / "predictions.zarr").is_dir()]
        if not found:
            self.absent = NOT_KEPT
            return
        self.folder = found[0]
        self._frames = MappedRows(self.folder / "predictions.zarr" / "predictions")
        if len(self._frames.shape) not in (5, 6):
            raise ArtefactError(
                self.folder / "predictions.zarr",
                f"predictions have shape {self._frames.shape}",
                expected="(samples, lead times, C, H, W), or (samples, members, lead times, ...)",
            )
        self.members = self._frames.shape[1] if len(self._frames.shape) == 6 else 1
        self._index = _index(self.folder)
        numbers = MappedRows(self.folder / "predictions.zarr" / "sample")
        self.samples = np.asarray(numbers.read(0, len(numbers)), np.int64)
        if not len(self.samples) == len(self._frames) == len(self._index):
            raise ArtefactError(
                self.folder,
                f"{len(self._frames)} predictions, {len(self._index)} rows of the index, "
                f"{len(self.samples)} numbers of samples",
                expected="one each of a sample",
            )
        attributes = read_metadata(self.folder / "predictions.zarr", "group")["attributes"]
        self.interval = int(attributes.get("interval", 1))
        stored = range(1, self._frames.shape[-4] + 1)
        self._there = np.asarray(attributes.get("leads", stored), np.int64) - 1
        self.leads = int(attributes.get("lead_times", len(self._there)))
        self._places: list[int] | None = None  # of the data's channels; -1 for those it lacks
        data = read_metadata(Path(cell.data) / "frames.zarr", "group")["attributes"]
        there, every = attributes.get("variables"), data.get("variables")
        if there and every and there != every:
            self._places = [there.index(name) if name in there else -1 for name in every]

    def read(self, sample: int, clip: str, channels: Sequence[int] | None = None) -> np.ndarray:
        """The forecast of one sample, of an ensemble the first: (lead times, C, H, W).

        Args:
            sample: its number.
            clip: the name of its clip.
            channels: of the data, the only ones to read; all unless given. Those that the
                predictions lack are NaN.

        Raises:
            StpError: the sample is of another clip.
        """
        row = int(np.flatnonzero(self.samples == sample)[0])
        if str(self._index["clip"].iloc[row]) != clip:
            raise ArtefactError(
                self.folder / "index.parquet",
                f"sample {sample} is clip {self._index['clip'].iloc[row]!r}",
                expected=f"{clip!r}, as in the prepared data",
            )
        frames = self._frames.read(row, row + 1)[0]
        frames = np.asarray(frames[0] if frames.ndim == 5 else frames, np.float32)
        if len(self._there) < self.leads:
            every = np.full((self.leads, *frames.shape[1:]), np.nan, np.float32)
            every[self._there] = frames
            frames = every
        if self._places is not None:
            whole = frames[:, [max(place, 0) for place in self._places]]
            whole[:, [place < 0 for place in self._places]] = np.nan
            frames = whole
        return frames if channels is None else frames[:, list(channels)]


def _index(folder: Path) -> pd.DataFrame:
    path = folder / "index.parquet"
    return read_table(path, ["clip"], expected="the index row of each sample").to_pandas()


def compare(
    manifest: Manifest,
    case: str,
    wanted: str = "median",
    models: Sequence[str] = (),
    variable: str | None = None,
) -> SampleForecasts:
    """Read one sample of a case and what is predicted for it; nothing else is read.

    Args:
        manifest: of a dimension.
        case: see `stp.render.pictures.cases`.
        wanted: which sample, see `stp.render.pictures.sample_choice.choose`.
        models: names of those to draw; all of them unless given.
        variable: the only one to draw. By default those that columns of tables name, otherwise
            all of up to two, or the first one.

    Raises:
        StpError: a name is not known, no predictions are kept, or files are damaged.
    """
    return Case(case_of(manifest, case), models, variable).sample(wanted)


class Case:
    """A case whose samples can be drawn, one after the other.

    Args:
        tested: the case.
        models, variable: see `compare`.
        lenient: whether models whose predictions are damaged are left out, with what is wrong.

    Attributes:
        cells: the first seed of each model, by its label.
        there: predictions that are kept, by label.
        absent: why others are not, by label.
        channels: of the data, whether they are drawn or not.

    Raises:
        StpError: a name is not known, no predictions are kept, or files are damaged.
    """

    def __init__(
        self,
        tested: TestedCase,
        models: Sequence[str] = (),
        variable: str | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self._names, self._lenient, case = tested.names, lenient, tested.name
        self.cells = one_seed(tested)
        known = list(dict.fromkeys(cell.key.model for cell in self.cells.values()))
        for name in models:
            if name not in known:
                raise StpError(f"{case}: no model {name!r}", remedy=nearest(name, known))
        self._first = next(iter(self.cells.values()))
        self._data = Prepared(Path(self._first.data))
        self.channels = self._data.shape[0]
        drawn = _variables(tested.variables, self._data, variable)
        # Of 69 channels of weather, three are drawn: no others are held.
        self._channels = sorted({channel for one in drawn for channel in one.channels})
        self._variables = [
            replace(one, channels=tuple(self._channels.index(channel) for channel in one.channels))
            for one in drawn
        ]
        self.there: dict[str, Kept] = {}
        self.absent: dict[str, str] = {}
        for label, cell in self.cells.items():
            if not models or cell.key.model in models:
                self._open(label, cell)
        if not self.there:
            damaged = next((why for why in self.absent.values() if why != NOT_KEPT), "")
            raise StpError(
                f"{case}: no predictions are kept of {_listed(list(self.absent))}"
                + (f"; {damaged}" if damaged else ""),
                expected="predictions.zarr, in the folders that the manifest names",
                remedy="predict again (`stp predict`), or name other models",
            )
        self._samples = [kept.samples for kept in self.there.values()]

    def _open(self, label: str, cell: StoredCell) -> None:
        """Open the predictions of a model, which must be alike for all."""
        if self._lenient and cell.data != self._first.data:
            self.absent[label] = "its test data were prepared in another way"
            return
        try:
            kept = Kept(cell)
            first = next(iter(self.there.values()), kept)
            if not kept.absent and (kept.leads, kept.interval) != (first.leads, first.interval):
                raise ArtefactError(kept.folder, f"other lead times than {first.folder}")
        except StpError as error:
            if not self._lenient:
                raise
            self.absent[label] = str(error)
            return
        if kept.absent:
            self.absent[label] = kept.absent
        else:
            self.there[label] = kept

    def sample(self, wanted: str) -> SampleForecasts:
        """Read one sample and what is predicted for it.

        Raises:
            StpError: there is no such sample, or files are damaged.
        """
        scores = [Path(cell.scores) for cell in self.cells.values()]
        # Scores write z500 where data write z_500.
        name = self._variables[0].name
        written = [name for name in dict.fromkeys((name, name.replace("_", ""))) if name]
        data = self._data
        first = next(iter(self.there.values()))
        clips = data.clips(self._first.key.subset, interval=first.interval)
        names = clips.index["clip"].astype(str).tolist()
        # A sample that is asked for is drawn if any model has it, others if most models do.
        numbered = wanted.isdecimal()
        drawable = np.unique(np.concatenate(self._samples)) if numbered else _common(self._samples)
        chosen = choose_sample(scores, wanted, drawable, written, names)
        number = chosen.sample
        if number >= len(clips):
            raise ArtefactError(
                first.folder,
                f"predictions of sample {number}",
                expected=f"samples 0..{len(clips) - 1}, as in {data.folder}",
            )
        clip = str(clips.index["clip"].iloc[number])
        forecasts, absent = [], dict(self.absent)
        for label, kept in self.there.items():
            if number not in kept.samples:
                absent[label] = NOT_OF_IT
                continue
            try:
                forecasts.append(Forecast(label, kept.read(number, clip, self._channels)))
            except StpError as error:
                if not self._lenient:
                    raise
                absent[label] = str(error)
        if not forecasts:
            raise StpError("; ".join(absent.values()), remedy="predict the cells again")
        row = np.array([number])
        frames = clips.read(row, length=data.context + first.leads)[0][:, self._channels]
        lat, lon = grid_of(data)
        bytes_ = whose(self.cells.values())
        return SampleForecasts(
            title=f"{title_of(self._names, self._first.key)}: sample {number} of {len(clips):,}",
            clip=labels_of(data, clips, row)[0].replace("\n", ", from "),
            chosen_by=chosen.name,
            number=number,
            why=chosen.why,
            context=frames[: data.context],
            truth=frames[data.context :],
            forecasts=forecasts,
            variables=self._variables,
            is_picture=shows_pictures(data),
            seconds=_seconds(data, clips, number, len(frames)),
            lat=lat,
            lon=lon,
            absent=absent,
            notes=[
                f"Drawn: sample {number}, counted from 0: {chosen.why}.",
                *self._missing(absent),
                f"{bytes_[0].upper()}{bytes_[1:]}.",
            ],
        )

    def _missing(self, absent: dict[str, str]) -> list[str]:
        """Say what is not drawn, and what is drawn in part."""
        shown = {**self.there, **absent}
        left_out = [label for label in self.cells if label not in shown]
        seeds = {
            cell.key.seed
            for label, cell in self.cells.items()
            if label in shown and cell.key.seed is not None
        }
        found = []
        if absent:
            lost = [label for label in self.cells if label in absent]
            other = [label for label in lost if absent[label] == NOT_OF_IT]
            lost = [label for label in lost if label not in other]
            if lost:
                found.append(f"Not drawn, as their predictions are not kept: {_listed(lost)}.")
            if other:
                found.append(
                    f"Not drawn, as no prediction of this sample is kept of them: {_listed(other)}."
                )
        if left_out:
            found.append(f"Left out: {_listed(left_out)}.")
        for label, kept in self.there.items():
            if kept.members > 1 and label not in absent:
                found.append(f"{label}: the first of {kept.members} members.")
        if seeded := sorted(seeds):
            found.append(f"Trained with seed {', '.join(map(str, seeded))}.")
        return found


def one_seed(tested: TestedCase) -> dict[str, StoredCell]:
    """The first seed of each model, for the longest horizon, by the name of the model."""
    longest = max(setting_of(cell.key.setting)["horizon"] for cell in tested.cells)
    names = tested.names.models
    variants = {(cell.key.model, cell.key.variant) for cell in tested.cells}
    found: dict[str, StoredCell] = {}
    for cell in tested.cells:
        key = cell.key
        label = names.get(key.model, key.model)
        if sum(model == key.model for model, _ in variants) > 1:
            label += f", {key.variant}"
        if setting_of(key.setting)["horizon"] == longest:
            found.setdefault(label, cell)
    return found


def _listed(labels: Sequence[str]) -> str:
    """Labels of `one_seed` in a sentence, where variants stand in brackets."""
    parts = (label.partition(", ") for label in labels)
    return ", ".join(f"{name} ({variant})" if variant else name for name, _, variant in parts)


def _common(numbers: Sequence[np.ndarray]) -> np.ndarray:
    """Samples that all models keep, ascending; where there are none, those of as many as can be."""
    every, counts = np.unique(np.concatenate(numbers), return_counts=True)
    if not len(every):
        return every
    first = every[counts == counts.max()][0]
    found = every
    for more in numbers:
        if first in more:
            found = np.intersect1d(found, more)
    return found


def _variables(of_tables: Sequence[str], data: Prepared, wanted: str | None) -> list[Variable]:
    """Those that are asked for; else those of the tables; else the first ones."""
    if shows_pictures(data):
        if wanted is not None:
            raise StpError(f"{data.folder}: video has no variables", remedy="leave out --variable")
        return [Variable("", "1", tuple(range(data.shape[0])))]
    names, units = variables_of(data), units_of(data)
    # Tables write z500, data z_500.
    plain = ["".join(c for c in name.lower() if c.isalnum()) for name in names]
    in_tables = dict.fromkeys(name for name in of_tables if name in plain)
    if wanted in plain:
        chosen = [plain.index(wanted)]
    elif wanted is None and in_tables:
        chosen = [plain.index(name) for name in in_tables]
    else:
        chosen = choose(names, wanted, None)
    return [
        Variable(plain[i] if plain[i] in in_tables else names[i], readable(units[i]), (i,))
        for i in chosen
    ]


def _seconds(data: Prepared, clips: Clips, sample: int, length: int) -> float | None:
    """Seconds from frame to frame: of the data, or from its times where they are regular."""
    seconds = seconds_of(data, clips, np.array([sample]))
    store = data.folder / "frames.zarr"
    if seconds is not None or not (store / "time").is_dir():
        return seconds
    start, stride = (int(clips.index[key].iloc[sample]) for key in ("start", "stride"))
    at = start + stride * np.arange(length)
    times = read_decoded(store / "time")[at]
    if not np.issubdtype(times.dtype, np.datetime64):
        return None  # a calendar of its own, such as one without leap years
    steps = np.unique(np.diff(times) / np.timedelta64(1, "s"))
    return float(steps[0]) if len(steps) == 1 and np.isfinite(steps[0]) else None
