"""`stp quality`: what people would think of anybody's videos, as a measure of PVQA says.

A measure that was made in a plan of opinions (docs/pvqa.md) has learnt from rated videos. Clips of
as many frames are rated with the features of the paper; clips of other lengths with the same
features, pooled over time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch

from stp.collect.cell import find
from stp.collect.rows import CellRow
from stp.collect.sample_files import sample_file
from stp.collect.videos import predictions, video
from stp.core import store
from stp.core.errors import StpError, nearest
from stp.core.job import Report, silent
from stp.features.maps import NETWORKS, Looker, check_size, open_looker
from stp.features.videos import features_of
from stp.metrics.networks.state import read_verified
from stp.metrics.srocc import correlation
from stp.models.compute import settle
from stp.opinions import seen
from stp.opinions.new_videos import Estimate, Estimator, pooled
from stp.opinions.prepared import Database, Video, open_database
from stp.options.quality import FITTED, QualityOptions
from stp.plan.artefacts import CellArtefacts
from stp.plan.cells import Plan
from stp.predict.opinions import COMPONENTS
from stp.render.pictures.sprites import pixels
from stp.score.predictions import spread
from stp.score.tables import SAMPLES, read_samples
from stp.score.video_folder import find_clips, read_clip

PARTS = ("ssa", "mcs", "mcs_written", "rfd", "rfd_written")
"""Of `stp.opinions.seen.PARTS`, those that need no true future."""
SPLITS = "random"
"""Family of the splits that errors are from."""
EXACT, POOLED = "exact", "pooled"
"""Features of frames in their order, for clips of the length of the rated videos; of others, their
mean and deviation over the predicted frames."""
OBSERVED = 4
"""Frames of the real clip that count as observed where data have no context, as of distortions."""
FAR = "farther from all rated videos than any of these is from the others"


@dataclass(frozen=True)
class Clip:
    """A video that is to be rated.

    Attributes:
        name: of it.
        frames: uint8 (T, H, W, 3), observed and predicted ones.
        context: how many of them are observed.
    """

    name: str
    frames: np.ndarray
    context: int


@dataclass(frozen=True)
class Rating:
    """What people would think of a clip.

    Attributes:
        clip: its name.
        frames: observed and predicted ones.
        quality: points, mostly from 0 to 100; None for the ``reason``.
        low, high: ends of its 95 % interval.
        distance: from the nearest rated video; see `stp.opinions.new_videos.Estimate`.
        features: `EXACT` or `POOLED`.
        reason: why there is no value.
    """

    clip: str
    frames: int
    quality: float | None
    low: float | None
    high: float | None
    distance: float
    features: str
    reason: str


@dataclass(frozen=True)
class Trained:
    """How good ratings with one kind of features are.

    Attributes:
        srocc: Spearman's correlation with the opinions of test videos, median over splits.
        margin: half the width of an interval, points.
    """

    srocc: float
    margin: float


@dataclass(frozen=True)
class ClipRatings:
    """Ratings of clips.

    Attributes:
        ratings: one for each clip.
        trained: of each kind of features that was used.
        rated: videos that were learnt from.
        source: of their bytes and opinions, such as official or synthetic.
    """

    ratings: list[Rating]
    trained: dict[str, Trained]
    rated: int
    source: str


@dataclass(frozen=True)
class Agreement:
    """How a metric ranks the clips of a cell, beside their ratings.

    Attributes:
        convention: of the metric.
        srocc: Spearman's correlation of its values with the ratings.
        clips: that have both.
    """

    convention: str
    srocc: float
    clips: int


@dataclass(frozen=True)
class _Looked:
    """What the network has seen of a clip: (1, D) for each part."""

    clip: str
    frames: int
    features: str
    parts: list[np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A measure of quality that was made in a plan of opinions.

    Attributes:
        network: that it looks through.
        weights: its file.
        identity: checksums of these bytes.
        options: how opinions are learnt.
        database: rated videos.
        horizon: their predicted frames.
        parts: what the network has seen of them.
        source: of their bytes.
    """

    network: str
    weights: Path
    identity: dict[str, str]
    options: QualityOptions
    database: Database
    horizon: int
    parts: list[np.ndarray]
    source: str

    def rate(
        self,
        clips: Iterable[Clip],
        *,
        device: str = "auto",
        threads: int = 1,
        report: Report = silent,
    ) -> ClipRatings:
        """Rate clips.

        Args:
            clips: one is in memory at a time.
            device: auto, cpu or cuda.
            threads: of the CPU.
            report: is told the progress.

        Raises:
            StpError: a clip is too short, or too small for the network; the weights are damaged.
        """
        state, _ = read_verified(self.weights, self.identity)
        looked: list[_Looked] = []
        with settle(device, threads, "float32") as compute, torch.inference_mode():
            looker = open_looker(self.network, state, compute.device)
            for clip in clips:
                looked.append(self._look(clip, looker))
                report("clips seen", len(looked), 0)
        trained: dict[str, Trained] = {}
        estimates: dict[str, Iterator[Estimate]] = {}
        for kind in (EXACT, POOLED):
            some = [one for one in looked if one.features == kind]
            if some:
                estimator = self._estimator(kind)
                trained[kind] = Trained(estimator.srocc, estimator.margin)
                rows = zip(*(one.parts for one in some), strict=True)
                estimates[kind] = iter(estimator.estimate([np.concatenate(row) for row in rows]))
        return ClipRatings(
            [_rating(one, next(estimates[one.features])) for one in looked],
            trained,
            len(self.database),
            self.source,
        )

    def _look(self, clip: Clip, looker: Looker) -> _Looked:
        predicted = len(clip.frames) - clip.context
        if clip.context < 1 or predicted < 1:
            raise StpError(
                f"{clip.name}: {len(clip.frames)} frames, {clip.context} of them observed",
                expected="at least one observed frame and one predicted frame",
                remedy="say with --context how many frames of each clip are observed",
            )
        check_size(self.network, min(clip.frames.shape[1:3]), f"leave out {clip.name}")
        own = self.database.context
        is_exact = predicted == self.horizon and clip.context >= own
        context = own if is_exact else clip.context
        frames = clip.frames[clip.context - context :]
        found = features_of(Video(frames, None), looker, context)
        parts = [found[name].reshape(1, -1) for name in self.options.parts]
        if not is_exact:
            parts = [pooled(part, self._channels, predicted) for part in parts]
        return _Looked(clip.name, len(clip.frames), EXACT if is_exact else POOLED, parts)

    def _estimator(self, kind: str) -> Estimator:
        parts = self.parts
        if kind == POOLED:
            parts = [pooled(part, self._channels, self.horizon) for part in parts]
        _, splits = self.database.splits(SPLITS)
        mos, regression = self.database.mos, self.options.regression
        return Estimator(parts, mos, splits, regression, COMPONENTS)

    @property
    def _channels(self) -> int:
        return NETWORKS[self.network].channels


def _rating(looked: _Looked, one: Estimate) -> Rating:
    reason = FAR if one.value is None else ""
    values = (one.value, one.low, one.high, one.distance)
    return Rating(looked.clip, looked.frames, *values, looked.features, reason)


def open_measure(plan: Plan, model: str, variant: str = "default") -> Measure:
    """Open a measure with all that it has learnt from.

    Args:
        plan: of opinions.
        model: a measure that looks through a network.
        variant: of it.

    Raises:
        StpError: the plan has no such measure, it needs true futures or learns nothing, its weights
            are not at hand, or what it learns from is not made yet.
    """
    cell = _planned(plan, model, variant)
    assert cell.predictions is not None
    options = QualityOptions.from_recipe(cell.predictions.recipe["predict"])
    network = plan.config.models[model].network
    if network is None or options.regression in FITTED or not set(options.parts) <= set(PARTS):
        raise StpError(
            f"{model} ({variant}) rates no videos of others",
            expected="a measure that learns from features of a network and needs no true future",
            remedy="name one with --measure, such as squeezenet_mcs_rfd",
        )
    if not cell.features:
        raise StpError(
            f"the weights of {network} are not there",
            expected=f"them below {plan.weights}",
            remedy=f"`stp weights {network}` says how to get them",
        )
    data, looked = (plan.store / one.folder for one in (cell.data, *cell.features))
    for folder in (data, looked):
        if not store.is_complete(folder):
            raise StpError(
                f"{folder} is not made yet",
                expected="rated videos, and what the network has seen of them",
                remedy="make the tables of the scale file first (docs/pvqa.md)",
            )
    dataset = plan.config.datasets[cell.cell.tested_on]
    database = open_database(data, dataset.context)
    given = seen.read(looked, database.names, options.parts)
    return Measure(
        network,
        plan.weight_files[network],
        cell.features[0].recipe["weights"],
        options,
        database,
        dataset.horizon,
        [given.parts[name] for name in options.parts],
        cell.data.recipe["source"],
    )


def _planned(plan: Plan, model: str, variant: str) -> CellArtefacts:
    """A cell of the measure.

    Raises:
        StpError: there is none.
    """
    measures = [made for made in plan.cells if made.predictions and made.data.kind.video_features]
    names = sorted({made.cell.model for made in measures})
    if not names:
        raise StpError(
            "the scale file has no measures of quality",
            expected="a scale file of opinions, such as config/pvqa.yaml",
            remedy="name it with --configfile",
        )
    own = {made.cell.variant: made for made in measures if made.cell.model == model}
    if variant not in own:
        known = sorted(own) if own else names
        raise StpError(
            f"no variant {variant!r} of {model}" if own else f"no measure {model!r}",
            expected=f"one of {', '.join(known)}",
            remedy=nearest(variant if own else model, known),
        )
    return own[variant]


def of_folder(folder: Path, context: int, count: int | None = None) -> Iterator[Clip]:
    """The clips of a folder (see `stp.score.video_folder`).

    Args:
        context: observed frames at the beginning of each.
        count: at most so many, evenly spread; all unless given.

    Raises:
        StpError: no clips, or a damaged one.
    """
    found = find_clips(folder)
    for number in _some(len(found), count):
        clip = found[number]
        name = clip.path.name if clip.number is None else f"{clip.path.name}, clip {clip.number}"
        yield Clip(name, pixels(read_clip(clip)), context)


def find_cell(database: Path, what: str) -> CellRow:
    """Find a cell of a results store.

    Args:
        what: words of its key (see `stp.collect.cell.find`).

    Raises:
        StpError: there is none, or several.
    """
    cell = find(database, what)
    if not isinstance(cell, CellRow):
        raise StpError(
            f"{what} is no cell with predictions",
            expected="a cell that has scores",
            remedy=f"`stp show {what}` says what is known of it",
        )
    return cell


def of_cell(cell: CellRow, count: int | None = None) -> Iterator[Clip]:
    """The stored predictions of a cell, behind what was observed; of several forecasts the first.

    Where nothing was observed, as of distortions of whole clips, the first frames are those of the
    real clip.

    Args:
        count: as `of_folder`.

    Raises:
        StpError: they are not kept, are no video of one or three channels, or are damaged.
    """
    stored = predictions(cell)
    for number in _some(len(stored.index), count):
        frames = pixels(video(stored, number))
        if not stored.context:
            real = stored.read(number, number + 1, slice(OBSERVED))[1][0]
            frames = np.concatenate([pixels(real), frames[OBSERVED:]])
        name = str(stored.index["clip"].iloc[number])
        yield Clip(name, frames, stored.context or OBSERVED)


def agreements(found: ClipRatings, cell: CellRow) -> list[Agreement]:
    """Compare ratings of the clips of a cell with its other scores of single clips.

    Distances of sets of clips, such as FVD, have no value of a clip.

    Raises:
        StpError: a file of scores is damaged.
    """
    rated = {one.clip: one.quality for one in found.ratings if one.quality is not None}
    rows = []
    for folder in (cell.scores_folder, cell.perceptual_folder):
        if folder is None:
            continue
        for convention in _conventions(sample_file(Path(folder))):
            read = read_samples(Path(folder), convention)
            values = {c: float(np.mean(v)) for c, v in zip(*read, strict=True) if v} if read else {}
            clips = [clip for clip in rated if clip in values]
            srocc = correlation(
                np.array([rated[clip] for clip in clips]), np.array([values[c] for c in clips])
            )
            if np.isfinite(srocc):
                rows.append(Agreement(convention, srocc, len(clips)))
    return rows


def _conventions(path: Path) -> list[str]:
    """Columns that hold the values of a convention, not a part of them."""
    names = pq.read_schema(path).names
    return [name for name in names if name not in SAMPLES.names and name.count(".") == 1]


def _some(samples: int, count: int | None) -> list[int]:
    return [int(one) for one in spread(samples, count or samples)]


def summary(found: ClipRatings, others: Sequence[Agreement] = ()) -> list[str]:
    """What to know of ratings: how good they are, how many there are, and their mean.

    Args:
        others: metrics of the same clips.
    """
    lines = [
        f"learnt from {found.rated} rated videos; "
        + (
            "their opinions are official"
            if found.source == "official"
            else f"these are {found.source}: the numbers say nothing about people"
        )
    ]
    lines += [
        f"{kind} features: SROCC {one.srocc:.3f} on test videos (median over splits), "
        f"95 % intervals of ± {one.margin:.1f} points"
        for kind, one in found.trained.items()
    ]
    values = [one.quality for one in found.ratings if one.quality is not None]
    mean = f", mean {np.mean(values):.1f}" if values else ""
    far = len(found.ratings) - len(values)
    lines.append(f"{len(values)} of {len(found.ratings)} clips have a value{mean}")
    if far:
        lines.append(f"{far} have none: {FAR}")
    lines += [
        f"rank correlation with {one.convention}: {one.srocc:+.3f} over {one.clips} clips"
        for one in others
    ]
    return lines
