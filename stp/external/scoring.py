"""Score predicted videos against true ones, from two folders or two arrays, without a plan.

In a notebook::

    from stp.external.scoring import evaluate

    for score in evaluate(predicted, true, ["psnr.per_frame", "ssim.range1"]):
        print(score)

Values are the same as in the score stage (`stp.score.run`); each clip is a separate cluster.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from stp.core.disk import require_regular
from stp.core.errors import FileError, StpError
from stp.core.job import Job
from stp.core.parquet import read_table
from stp.data.feature_table import Features, write
from stp.external.layout import LayoutCheck
from stp.external.sanity_checks import channel_names
from stp.features.frames import CHOICES
from stp.metrics.perceptual import Embed, Weights
from stp.options.score import CELL_KEYS, ScoreOptions
from stp.plan import weights as files
from stp.plan.metric import NetworkFeatures, read_convention
from stp.predict.agreement import Agreement
from stp.score.samples import ALL, Availability, Samples
from stp.score.scoring import score
from stp.score.video_folder import ARRAYS, Clip, find_clips, read_array, read_clip

METRICS = ("mse.pixel_mean", "psnr.per_frame", "ssim.range1", "lpips.alex", "fvd.predicted_only")
"""Conventions that are scored by default."""
CLIPS = "clips (N, T, C, H, W), C is 1 or 3"
BATCH = 16
"""Number of clips in a batch of a network."""


class Score(NamedTuple):
    """The value of one convention (exact definition of a metric, such as ``ssim.range1``).

    Attributes:
        convention: name of the convention, ``<metric>.<choice>``.
        value: value over all frames and clips; None if there is a ``reason``.
        low, high: ends of the 95 % interval over clips; None without an interval.
        n: number of clips.
        reason: reason why the value is missing.
        threshold: threshold of events, if the convention has several.
        note: text about suspicious properties of the predictions, such as equality with the truth;
            may be empty.
    """

    convention: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str
    threshold: float | None = None
    note: str = ""


def evaluate(
    predicted: Path | str | np.ndarray,
    true: Path | str | np.ndarray,
    metrics: Sequence[str] = METRICS,
    *,
    context: int = 0,
    frames: int | None = None,
    interval: int = 1,
    weights: Path = files.FOLDER,
    device: str = "auto",
    threads: int = 1,
) -> list[Score]:
    """Score predicted clips against the true ones.

    Args:
        predicted: a folder of clips (videos, arrays, folders of pictures; see
            `stp.score.video_folder`), or an array (clip, frame, channel, y, x) with 1 or 3
            channels, of uint8, of floating-point numbers in [0, 1], or of integers that are all 0
            or 1 (masks); or a file with such an array (.npy, or .npz with one array).
        true: true clips in the same forms; clips of two folders are paired by name, others by
            order.
        metrics: names of conventions, ``<metric>.<choice>``.
        context: number of first frames, which the model observed; they are not scored.
        frames: number of frames of each clip, context included; by default all.
        interval: interval between scored frames, in frames.
        weights: folder with the weights of networks; without them, a metric has a ``reason``.
        device: "auto", "cpu" or "cuda".
        threads: number of CPU threads.

    Returns:
        scores in the order of ``metrics``.

    Raises:
        StpError: a convention is unknown, or clips cannot be paired, are too short or differ in
            size.
    """
    about = {name: read_convention(name, "--metric")[1] for name in dict.fromkeys(metrics)}
    sources = _clips(predicted, "predicted"), _clips(true, "true")
    clips = PairedClips(*sources, context, frames, interval)
    present = files.present(Path(weights), files.read_declared_weights())
    identities = {name: file.identity for name, file in present.items()}
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("out", "state"):
            (root / name).mkdir()
        inputs: dict[str, Path] = {}
        views: dict[str, str] = {}
        for convention, declaration in about.items():
            view = declaration.features
            if view is None or (view.seed is None and view.network not in present):
                continue
            views[convention] = view.name
            if f"{view.name}.observed" not in inputs:
                path = Path(weights) / present[view.network].file if view.seed is None else Path()
                network = Weights(path, identities.get(view.network, {}), device, threads)
                for role, features in zip(
                    ("predicted", "observed"),
                    _network_features(clips, view, network),
                    strict=True,
                ):
                    inputs[f"{view.name}.{role}"] = root / view.name / role
                    inputs[f"{view.name}.{role}"].mkdir(parents=True)
                    write(
                        inputs[f"{view.name}.{role}"],
                        clips.index["clip"].tolist(),
                        features,
                    )
        paths = {name: str(Path(weights) / file.file) for name, file in present.items()}
        runtime = {"weights": paths, "device": device}
        job = Job({}, inputs, root / "out", root / "state", runtime)
        cell = {key: None if key == "seed" else "-" for key in CELL_KEYS}
        options = ScoreOptions(
            cell,
            {name: declaration.definition for name, declaration in about.items()},
            weights=identities,
            features=views,
            threads=threads,
        )
        score(
            job,
            options,
            VideoData((clips.shape[3], clips.shape[4], clips.shape[5])),
            clips,
            where="predicted",
            threads=threads,
        )
        rows = read_table(root / "out" / "scores.parquet").to_pylist()
    missing = {
        name: f"the weights of {view.network} are missing (see `stp list weights`)"
        for name, declaration in about.items()
        if (view := declaration.features) and name not in views
    }
    note = clips.note()
    return [
        value._replace(note=note)
        for name in about
        for value in _scores(name, rows, missing.get(name, ""))
    ]


def _scores(convention: str, rows: Sequence[Mapping[str, Any]], missing: str) -> Iterator[Score]:
    """Yield the value of a convention over all lead times, or a value for each threshold."""
    totals = [row for row in rows if row["convention"] == convention and row["lead"] is None]
    for row in totals:
        if row["statistic"] != "mean":
            continue
        ends = {
            other["statistic"]: other["value"]
            for other in totals
            if all(other[key] == row[key] for key in ("variable", "level", "threshold"))
        }
        yield Score(
            convention,
            row["value"],
            ends.get("ci95_low"),
            ends.get("ci95_high"),
            row["n"],
            missing or row["reason"] or "",
            row["threshold"],
        )


def _clips(source: Path | str | np.ndarray, role: str) -> "np.ndarray | list[Clip]":
    if isinstance(source, np.ndarray):
        name, array = f"the {role} clips", source
    elif Path(source).is_file() and Path(source).suffix.lower() in ARRAYS:
        name, array = str(source), read_array(Path(source))
    elif Path(source).exists() and not Path(source).is_dir():
        raise StpError(
            f"{require_regular(Path(source))} is neither a folder nor an array",
            expected=f"a folder of videos, or a .npy file with {CLIPS}",
        )
    else:
        return find_clips(Path(source))
    if array.ndim != 5 or array.shape[2] not in (1, 3) or not array.size:
        raise FileError(name, f"shape {array.shape}", expected=CLIPS)
    if array.dtype == bool or (array.dtype.kind in "iu" and array.min() >= 0 and array.max() == 1):
        return array.astype(np.float32)  # masks: black and white
    if array.dtype == np.uint8:
        return array
    if not (np.issubdtype(array.dtype, np.floating) and array.min() >= 0 and array.max() <= 1):
        raise FileError(
            name,
            f"{array.dtype} from {array.min()} to {array.max()}",
            expected="uint8, or floating-point numbers in [0, 1], none of them NaN",
        )
    return array


@dataclass(frozen=True)
class VideoData:
    """Description of videos with values in [0, 1], in place of prepared data.

    Metrics expect a `stp.data.prepared.Prepared`. This class has those of its attributes that
    metrics of videos use.

    Attributes:
        shape: channels, height and width of a frame.
        folder: not used; present because prepared data have a folder.
        attrs: attributes of the data: their units, "1".
    """

    shape: tuple[int, int, int]
    folder: Path = Path()
    attrs: Mapping[str, Any] = field(default_factory=lambda: {"units": "1"})

    @property
    def channels(self) -> np.ndarray:
        """Indices of all channels, int64."""
        return np.arange(self.shape[0])

    def only(self, channels: np.ndarray) -> "VideoData":
        """Return a copy restricted to some channels, by index."""
        return VideoData((len(channels), *self.shape[1:]))


class PairedClips(Samples):
    """Predicted clips, each with its true clip, read on demand while they are scored."""

    def __init__(
        self,
        predicted: np.ndarray | list[Clip],
        true: np.ndarray | list[Clip],
        context: int,
        frames: int | None,
        interval: int,
    ) -> None:
        self._sources = predicted, true
        self._frames, self._interval, self.context = frames, interval, context
        names = [_names(clips) for clips in self._sources]
        is_paired = len(names[0]) == len(names[1])
        if is_paired and all(isinstance(clips, list) for clips in self._sources):
            is_paired = names[0] == names[1]
        if not is_paired:
            alone = ", ".join(sorted({*names[0]} ^ {*names[1]})[:3])
            raise StpError(
                f"{len(names[0])} predicted clips and {len(names[1])} true ones"
                + (f"; only in one of the two: {alone}" if alone else ""),
                expected="a true clip of the same name for each predicted one",
                remedy="`stp videos fvd` compares sets of clips that do not belong together",
            )
        self.index = pd.DataFrame({"clip": names[0], "cluster": names[0]})
        self.blocks = None
        first = self._clip(1, 0)
        length = len(first) - context
        if length < 1:
            raise StpError(f"clips of {len(first)} frames, {context} of them context")
        self._shape = first.shape
        self.shape = (len(names[0]), 1, length, *first.shape[1:])
        self.members, self.leads = 1, length
        self.available = Availability(np.arange(length), np.arange(first.shape[1]))
        self._agreement, self._compared = Agreement(), 0
        shape: tuple[int, int, int] = first.shape[1:]
        self._layout = LayoutCheck(self.shape[0], shape, channel_names({"shape": shape}))

    def note(self) -> str:
        """Text about suspicious properties of the predictions read so far; may be empty."""
        mistake = self._layout.mistake()
        remarks = [f"{mistake.what}: {mistake.remedy}"] if mistake else []
        agreement = self._agreement.note(self.index["clip"].tolist())
        return "; ".join([*remarks, *([agreement] if agreement else [])])

    def _clip(self, which: int, number: int) -> np.ndarray:
        """Read a clip as float32 (T, C, H, W) in [0, 1]."""
        clips = self._sources[which]
        if isinstance(clips, list):
            return read_clip(clips[number], self._frames, self._interval)
        frames = clips[number, :: self._interval][: self._frames]
        scale = np.float32(255 if frames.dtype == np.uint8 else 1)
        return np.asarray(frames.astype(np.float32) / scale)

    def _read_clip(self, which: int, number: int) -> np.ndarray:
        clip = self._clip(which, number)
        if clip.shape != self._shape:
            role, name = ("predicted", "true")[which], self.index["clip"].iloc[number]
            raise StpError(
                f"the {role} clip {name} has the shape {clip.shape}",
                expected=f"{self._shape} (frames, channels, height, width), as the first true one",
                remedy="--frames takes the first ones of each; scale frames to one size",
            )
        return clip

    def both(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Read predicted and true clips with their context, from number start to stop - 1.

        Returns:
            predicted and true frames, float32 (clip, frame, channel, y, x) each.
        """
        rows = range(start, min(stop, self.shape[0]))
        predicted, true = (np.stack([self._read_clip(w, row) for row in rows]) for w in (0, 1))
        if start <= self._compared < rows.stop:  # clips that are read again count once
            new = slice(self._compared - start, None)
            forecasts = predicted[new, None, self.context :]
            frames = true[new]
            self._agreement.add(self._compared, forecasts, frames[:, max(0, self.context - 2) :])
            latest = frames[:, self.context - 1] if self.context else None
            self._layout.add(
                self._compared, forecasts, frames[:, self.context], latest, frames[:, -1]
            )
            self._compared = rows.stop
        return predicted, true

    def read(self, start: int, stop: int, leads: slice = ALL) -> tuple[np.ndarray, np.ndarray]:
        predicted, true = self.both(start, stop)
        return predicted[:, None, self.context :][:, :, leads], true[:, self.context :][:, leads]

    def read_context(self, start: int, stop: int) -> np.ndarray:
        return self.both(start, stop)[1][:, : self.context]

    def frame_numbers(self) -> np.ndarray:
        return np.arange(self.shape[0] * self.leads).reshape(self.shape[0], self.leads)


def _names(clips: np.ndarray | list[Clip]) -> list[str]:
    if isinstance(clips, list):
        numbers = ("" if clip.number is None else f" {clip.number}" for clip in clips)
        return [f"{clip.path.stem}{n}" for clip, n in zip(clips, numbers, strict=True)]
    return [f"{number:06}" for number in range(len(clips))]


def _network_features(
    clips: PairedClips, view: NetworkFeatures, weights: Weights
) -> tuple[Features, Features]:
    module, choose = importlib.import_module(view.code), CHOICES[view.frames]
    context = clips.context
    first = clips.both(0, 1)[1]
    length = choose(first[:, :context], first[:, context:]).shape[1]
    if length < module.SHORTEST:
        empty = np.empty((0, 1))
        reason = f"clips of {length} frames; the network needs {module.SHORTEST}"
        return Features(empty, reason), Features(empty, reason)
    if view.seed is None:
        embed: Embed = module.embed(weights, view.layer)
    else:
        embed = module.embed_random(view.seed, view.layer, weights.device, weights.threads)
    parts: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for start in range(0, clips.shape[0], BATCH):
        predicted, true = clips.both(start, start + BATCH)
        observed = true[:, :context]
        for part, frames in zip(parts, (predicted, true), strict=True):
            part.append(embed(choose(observed, frames[:, context:])))
    return Features(np.concatenate(parts[0])), Features(np.concatenate(parts[1]))
