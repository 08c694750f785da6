"""Read the truth and the forecasts of all models for one test sample, for pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.errors import ArtefactError, StpError, suggest_name
from stp.core.parquet import read_table
from stp.data.prepared import Clips, Prepared
from stp.data.zarr_read import read_decoded
from stp.data.zarr_rows import MappedRows, read_metadata
from stp.page.figure_style import origin_note
from stp.page.units import format_unit
from stp.plan.manifest import Manifest, title_of
from stp.plan.manifest_types import StoredCell
from stp.plan.setting import setting_of
from stp.render.pictures.cases import TestedCase, find_case
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
    """A variable of forecasts to draw, from one channel, or from three as colours.

    Attributes:
        name: name of the variable; empty for video.
        units: units of the values.
        channels: indices of the variable's channels: one, or three for colours.
    """

    name: str
    units: str
    channels: tuple[int, ...]


@dataclass(frozen=True)
class Forecast:
    """The forecast of one model for the drawn sample.

    Attributes:
        label: title of the model.
        frames: predicted frames, float32 (lead times, C, H, W), in the dataset's units, unclipped.
    """

    label: str
    frames: np.ndarray


@dataclass(frozen=True)
class SampleForecasts:
    """One test sample, and the forecasts of all models.

    Attributes:
        title: title of the case, with the index of the sample.
        clip: name of the clip and, if known, its time.
        chosen_by: name of the rule that chose the sample, such as ``median``; or
            ``sample-<index>``.
        number: index of the sample, from 0.
        why: reason for the choice of the sample.
        context: context frames, float32 (T_in, C, H, W), in the dataset's units, with the drawn
            channels only.
        truth: true frames of the forecast, float32 (lead times, C, H, W), as `context`.
        forecasts: forecasts of the models, in the order of the manifest.
        variables: variables to draw.
        is_picture: whether values are brightness or colours in 0..1, not physical fields.
        seconds: seconds between frames; None if frames have no fixed step.
        lat, lon: latitudes along y and longitudes along x, in degrees; None if the frames are not
            maps.
        absent: reasons for missing forecasts, by label of the model.
        notes: sentences on the choice of the sample, the data, and missing forecasts.
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
        """Select one variable of frames (T, C, H, W) for drawing: (T, H, W), or (T, H, W, 3) for
        colours.
        """
        chosen = frames[:, list(variable.channels)]
        if len(variable.channels) == 1:
            return chosen[:, 0]
        return np.clip(np.moveaxis(chosen, 1, -1), 0, 1)

    def errors(self, forecast: Forecast, variable: Variable) -> np.ndarray:
        """Absolute errors of unclipped values, averaged over colours, (lead times, H, W)."""
        channels = list(variable.channels)
        difference = forecast.frames[:, channels].astype(np.float64) - self.truth[:, channels]
        return np.asarray(np.abs(difference).mean(axis=1))


class Kept:
    """The stored predictions of one model in one test, possibly for some samples only.

    Args:
        cell: the result (cell) of the model in the test, with the folder of its predictions.

    Attributes:
        absent: reason why there are no predictions; empty if there are some.
        samples: indices of the stored samples, ascending.
        members: number of forecasts of each sample.
        leads: number of lead times; frames of missing lead times are NaN.

    Raises:
        ArtefactError: the predictions are damaged.
    """

    def __init__(self, cell: StoredCell) -> None:
        self.absent, self.members = "", 1
        self.samples = np.empty(0, np.int64)
        # Long forecasts are scored while they are made; a few are stored beside their scores.
        folders = cell.folders(("predictions", "scores"))
        stored = [folder for folder in folders if (folder / "predictions.zarr").is_dir()]
        if not stored:
            self.absent = NOT_KEPT
            return
        self.folder = stored[0]
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
            )
        attributes = read_metadata(self.folder / "predictions.zarr", "group")["attributes"]
        self.interval = int(attributes.get("interval", 1))
        all_leads = range(1, self._frames.shape[-4] + 1)
        self._stored_leads = np.asarray(attributes.get("leads", all_leads), np.int64) - 1
        self.leads = int(attributes.get("lead_times", len(self._stored_leads)))
        # Index of each channel of the data among those predicted; -1 if it is missing.
        self._channel_of: list[int] | None = None
        data = read_metadata(Path(cell.data) / "frames.zarr", "group")["attributes"]
        variables, all_variables = attributes.get("variables"), data.get("variables")
        if variables and all_variables and variables != all_variables:
            self._channel_of = [
                variables.index(name) if name in variables else -1 for name in all_variables
            ]

    def read(self, sample: int, clip: str, channels: Sequence[int] | None = None) -> np.ndarray:
        """Read the forecast of one sample (first member of an ensemble), (lead times, C, H, W).

        Args:
            sample: index of the sample.
            clip: expected name of the sample's clip.
            channels: indices of the data's channels to read; None for all. Channels that the
                predictions lack are NaN.

        Raises:
            ArtefactError: the sample belongs to another clip.
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
        if len(self._stored_leads) < self.leads:
            complete = np.full((self.leads, *frames.shape[1:]), np.nan, np.float32)
            complete[self._stored_leads] = frames
            frames = complete
        if self._channel_of is not None:
            complete = frames[:, [max(index, 0) for index in self._channel_of]]
            complete[:, [index < 0 for index in self._channel_of]] = np.nan
            frames = complete
        return frames if channels is None else frames[:, list(channels)]


def _index(folder: Path) -> pd.DataFrame:
    path = folder / "index.parquet"
    return read_table(path, ["clip"], expected="the index row of each sample").to_pandas()


def compare(
    manifest: Manifest,
    case: str,
    rule: str = "median",
    models: Sequence[str] = (),
    variable: str | None = None,
) -> SampleForecasts:
    """Read one test sample, and the forecasts of all models for it.

    Args:
        manifest: list of the models and tests of a dimension (a question of the benchmark with a
            table of its own).
        case: name of the test: training and test dataset, such as ``kitti-caltech``.
        rule: index of the sample, or how to choose it by error: ``median``, ``hardest`` or
            ``easiest``.
        models: names of the models to draw; all by default.
        variable: name of the only variable to draw. By default, the variables that columns of the
            table show are drawn. If columns name no variables, all are drawn if there are at most
            two, otherwise the first.

    Raises:
        StpError: a name is unknown, no predictions are stored, or files are damaged.
    """
    return Case(find_case(manifest, case), models, variable).sample(rule)


class Case:
    """Opened data and predictions of one test, from which samples are read one by one.

    Args:
        tested: the case, with the results of its models.
        models: names of the models to read; all by default.
        variable: name of the only variable to draw; None for the variables of the table columns.
        lenient: whether models with damaged predictions are left out, with a reason in `absent`; if
            not, they raise an error.

    Attributes:
        cells: result of each model's first seed, by label of the model.
        kept: stored predictions, by label of the model.
        absent: reason why a model has no stored predictions, by label of the model.
        channels: number of channels of the data.

    Raises:
        StpError: a name is unknown, no predictions are stored, or files are damaged.
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
        available = list(dict.fromkeys(cell.key.model for cell in self.cells.values()))
        for name in models:
            if name not in available:
                raise StpError(f"{case}: no model {name!r}", remedy=suggest_name(name, available))
        self._first = next(iter(self.cells.values()))
        self._data = Prepared(Path(self._first.data))
        self.channels = self._data.shape[0]
        variables_drawn = _variables(tested.variables, self._data, variable)
        # Weather may have 69 channels, of which three are drawn: only these are read.
        self._channels = sorted(
            {channel for each_variable in variables_drawn for channel in each_variable.channels}
        )
        self._variables = [
            replace(
                each_variable,
                channels=tuple(self._channels.index(channel) for channel in each_variable.channels),
            )
            for each_variable in variables_drawn
        ]
        self.kept: dict[str, Kept] = {}
        self.absent: dict[str, str] = {}
        for label, cell in self.cells.items():
            if not models or cell.key.model in models:
                self._open(label, cell)
        if not self.kept:
            damaged = next((why for why in self.absent.values() if why != NOT_KEPT), "")
            raise StpError(
                f"{case}: no predictions are kept of {_join_labels(list(self.absent))}"
                + (f"; {damaged}" if damaged else ""),
                expected="predictions.zarr, in the folders that the manifest names",
                remedy="predict again (`stp predict`), or name other models",
            )
        self._samples = [kept.samples for kept in self.kept.values()]

    def _open(self, label: str, cell: StoredCell) -> None:
        """Open the predictions of a model; all models must have equal lead times."""
        if self._lenient and cell.data != self._first.data:
            self.absent[label] = "its test data were prepared differently"
            return
        try:
            stored = Kept(cell)
            first = next(iter(self.kept.values()), stored)
            if not stored.absent and (stored.leads, stored.interval) != (
                first.leads,
                first.interval,
            ):
                raise ArtefactError(stored.folder, f"other lead times than {first.folder}")
        except StpError as error:
            if not self._lenient:
                raise
            self.absent[label] = str(error)
            return
        if stored.absent:
            self.absent[label] = stored.absent
        else:
            self.kept[label] = stored

    def sample(self, rule: str) -> SampleForecasts:
        """Read one sample and its forecasts.

        Args:
            rule: index of the sample, or how to choose it by error: ``median``, ``hardest`` or
                ``easiest``.

        Raises:
            StpError: the sample does not exist, or files are damaged.
        """
        scores = [Path(cell.scores) for cell in self.cells.values()]
        # Scores write z500 where data write z_500.
        name = self._variables[0].name
        written = [name for name in dict.fromkeys((name, name.replace("_", ""))) if name]
        data = self._data
        first = next(iter(self.kept.values()))
        clips = data.clips(self._first.key.subset, interval=first.interval)
        names = clips.index["clip"].astype(str).tolist()
        # A numbered sample is drawn if any model has it; the rules choose among common samples.
        numbered = rule.isdecimal()
        drawable = (
            np.unique(np.concatenate(self._samples)) if numbered else _common_samples(self._samples)
        )
        chosen = choose_sample(scores, rule, drawable, written, names)
        number = chosen.sample
        if number >= len(clips):
            raise ArtefactError(
                first.folder,
                f"predictions of sample {number}",
                expected=f"samples 0..{len(clips) - 1}, as in {data.folder}",
            )
        clip = str(clips.index["clip"].iloc[number])
        forecasts, absent = [], dict(self.absent)
        for label, stored in self.kept.items():
            if number not in stored.samples:
                absent[label] = NOT_OF_IT
                continue
            try:
                forecasts.append(Forecast(label, stored.read(number, clip, self._channels)))
            except StpError as error:
                if not self._lenient:
                    raise
                absent[label] = str(error)
        if not forecasts:
            raise StpError("; ".join(absent.values()), remedy="predict the cells again")
        rows = np.array([number])
        frames = clips.read(rows, length=data.context + first.leads)[0][:, self._channels]
        lat, lon = grid_of(data)
        origin = origin_note(self.cells.values())
        return SampleForecasts(
            title=f"{title_of(self._names, self._first.key)}: sample {number} of {len(clips):,}",
            clip=labels_of(data, clips, rows)[0].replace("\n", ", from "),
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
                f"{origin[0].upper()}{origin[1:]}.",
            ],
        )

    def _missing(self, absent: dict[str, str]) -> list[str]:
        open_or_absent = {**self.kept, **absent}
        left_out = [label for label in self.cells if label not in open_or_absent]
        seeds = {
            cell.key.seed
            for label, cell in self.cells.items()
            if label in open_or_absent and cell.key.seed is not None
        }
        notes = []
        if absent:
            missing = [label for label in self.cells if label in absent]
            of_other_samples = [label for label in missing if absent[label] == NOT_OF_IT]
            missing = [label for label in missing if label not in of_other_samples]
            if missing:
                notes.append(
                    f"Not drawn, as their predictions are not kept: {_join_labels(missing)}."
                )
            if of_other_samples:
                notes.append(
                    "Not drawn, as their predictions of this sample are not kept: "
                    f"{_join_labels(of_other_samples)}."
                )
        if left_out:
            notes.append(f"Left out: {_join_labels(left_out)}.")
        for label, stored in self.kept.items():
            if stored.members > 1 and label not in absent:
                notes.append(f"{label}: the first of {stored.members} members.")
        if seeded := sorted(seeds):
            notes.append(f"Trained with seed {', '.join(map(str, seeded))}.")
        return notes


def one_seed(tested: TestedCase) -> dict[str, StoredCell]:
    """Select one result of each model and variant: of the longest horizon, and its first seed.

    Args:
        tested: a case (a test), with the results of all models.

    Returns:
        the selected results, keyed by the label of the model in pictures: its title, followed by
        the name of the variant if the model has several. Models without a result of the longest
        horizon are left out.
    """
    longest = max(setting_of(cell.key.setting)["horizon"] for cell in tested.cells)
    names = tested.names.models
    variants = {(cell.key.model, cell.key.variant) for cell in tested.cells}
    first_seed: dict[str, StoredCell] = {}
    for cell in tested.cells:
        key = cell.key
        label = names.get(key.model, key.model)
        if sum(model == key.model for model, _ in variants) > 1:
            label += f", {key.variant}"
        if setting_of(key.setting)["horizon"] == longest:
            first_seed.setdefault(label, cell)
    return first_seed


def _join_labels(labels: Sequence[str]) -> str:
    parts = (label.partition(", ") for label in labels)
    return ", ".join(f"{name} ({variant})" if variant else name for name, _, variant in parts)


def _common_samples(numbers: Sequence[np.ndarray]) -> np.ndarray:
    """Indices of the samples that all models (else most models) have stored, ascending."""
    all_samples, counts = np.unique(np.concatenate(numbers), return_counts=True)
    if not len(all_samples):
        return all_samples
    first = all_samples[counts == counts.max()][0]
    common = all_samples
    for of_model in numbers:
        if first in of_model:
            common = np.intersect1d(common, of_model)
    return common


def _variables(of_tables: Sequence[str], data: Prepared, variable: str | None) -> list[Variable]:
    """The variables to draw: the named variable, or by default those of the table columns.

    If the table has no columns for single variables, the first variables of the data are drawn.
    """
    if shows_pictures(data):
        if variable is not None:
            raise StpError(f"{data.folder}: video has no variables", remedy="leave out --variable")
        return [Variable("", "1", tuple(range(data.shape[0])))]
    names, units = variables_of(data), units_of(data)
    # Tables write z500, data z_500.
    plain_names = ["".join(c for c in name.lower() if c.isalnum()) for name in names]
    in_tables = dict.fromkeys(name for name in of_tables if name in plain_names)
    if variable in plain_names:
        chosen = [plain_names.index(variable)]
    elif variable is None and in_tables:
        chosen = [plain_names.index(name) for name in in_tables]
    else:
        chosen = choose(names, variable, None)
    return [
        Variable(
            plain_names[i] if plain_names[i] in in_tables else names[i], format_unit(units[i]), (i,)
        )
        for i in chosen
    ]


def _seconds(data: Prepared, clips: Clips, sample: int, length: int) -> float | None:
    """Seconds between frames, as stated by the data, else from their times if these are regular."""
    seconds = seconds_of(data, clips, np.array([sample]))
    store = data.folder / "frames.zarr"
    if seconds is not None or not (store / "time").is_dir():
        return seconds
    start, stride = (int(clips.index[key].iloc[sample]) for key in ("start", "stride"))
    positions = start + stride * np.arange(length)
    times = read_decoded(store / "time")[positions]
    if not np.issubdtype(times.dtype, np.datetime64):
        return None  # another calendar, such as one without leap years
    steps = np.unique(np.diff(times) / np.timedelta64(1, "s"))
    return float(steps[0]) if len(steps) == 1 and np.isfinite(steps[0]) else None
