"""`stp videos quality`: predicted opinions about the user's own videos.

A measure of a plan of opinions (docs/pvqa.md) has learnt from rated videos. The metric
`stp.metrics.predicted_quality` needs a saved measure.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stp.collect.cell import find
from stp.collect.sample_files import sample_file
from stp.collect.schema import CellRow
from stp.collect.videos import predictions, video
from stp.core import store
from stp.core.errors import StpError, nearest
from stp.core.file_identity import identify
from stp.core.job import Report, silent
from stp.core.parquet import read_schema
from stp.data.pixels import pixels
from stp.metrics import fitted_quality, frame_features
from stp.metrics.fitted_quality import (
    EXACT,
    FAR,
    MOST_ARE_FAR,
    OBSERVED,
    OFFICIAL,
    POOLED,
    FittedQuality,
    mean_rated,
    pooled,
)
from stp.metrics.networks.maps import NETWORKS, open_looker
from stp.metrics.networks.state import read_verified
from stp.metrics.srocc import correlation
from stp.models.compute import settle
from stp.opinions import network_features
from stp.opinions.new_videos import fit
from stp.opinions.prepared import Database, open_database
from stp.opinions.regression import AFFINE
from stp.options.quality import QualityOptions
from stp.plan.artefacts import CellArtefacts
from stp.plan.cells import Plan
from stp.score.samples import spread
from stp.score.tables import SAMPLES, read_samples
from stp.score.video_folder import find_clips, read_clip

SPLITS = "random"
"""Family of splits from which errors are estimated."""


@dataclass(frozen=True)
class Clip:
    """A video to rate.

    Attributes:
        name: of the video.
        frames: observed and predicted, uint8 (T, H, W, 3).
        context: number of observed frames.
    """

    name: str
    frames: np.ndarray
    context: int


@dataclass(frozen=True)
class Rating:
    """Predicted opinion about a clip.

    Attributes:
        clip: name of the clip.
        frames: number of observed and predicted frames.
        quality: points, mostly from 0 to 100; None for the ``reason``.
        low, high: ends of the 95 % interval.
        distance: from the nearest rated video; see `stp.metrics.fitted_quality.Estimate`.
        features: `EXACT` or `POOLED`.
        reason: why the value is missing.
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
    """Accuracy of ratings with one kind of features.

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
        ratings: of each clip.
        trained: accuracy by kind of features.
        rated: number of rated videos that the measure has learnt from.
        source: of the rated videos, such as official or synthetic.
    """

    ratings: list[Rating]
    trained: dict[str, Trained]
    rated: int
    source: str


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of a metric with the ratings of the clips of a cell.

    Attributes:
        convention: of the metric.
        srocc: Spearman's correlation.
        clips: number of clips with a value and a rating.
    """

    convention: str
    srocc: float
    clips: int


@dataclass(frozen=True)
class Measure:
    """A measure of quality of a plan of opinions.

    Attributes:
        network: whose features it uses.
        weights: file of the network.
        identity: checksums of that file.
        options: of the regression.
        database: rated videos.
        horizon: number of predicted frames of the rated videos.
        parts: features of the rated videos, by part.
        source: of the rated videos, such as official or synthetic.
    """

    network: str
    weights: Path
    identity: dict[str, str]
    options: QualityOptions
    database: Database
    horizon: int
    parts: list[np.ndarray]
    source: str

    @property
    def is_official(self) -> bool:
        """Whether people rated the videos."""
        return self.source == OFFICIAL

    def fitted(self) -> FittedQuality:
        """Learn from all rated videos."""
        _, splits = self.database.splits(SPLITS)
        channels = NETWORKS[self.network].channels
        parts = {
            EXACT: self.parts,
            POOLED: [pooled(part, channels, self.horizon) for part in self.parts],
        }
        mos, kind = self.database.mos, self.options.regression
        count = self.options.components
        return FittedQuality(
            self.network,
            self.options.parts,
            self.database.context,
            self.horizon,
            len(self.database),
            self.source,
            {name: fit(own, mos, splits, kind, count) for name, own in parts.items()},
        )

    def save(self, path: Path) -> dict[str, object]:
        """Write the fitted measure with the weights of its network, for the metric.

        Args:
            path: ``.npz`` file.

        Returns:
            size (``bytes``) and checksums of the file.

        Raises:
            StpError: the file has another suffix; the weights are damaged.
        """
        state, _ = read_verified(self.weights, self.identity)
        fitted_quality.write(path, self.fitted(), state)
        return identify(path)

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
            clips: read one at a time.
            device: auto, cpu or cuda.
            threads: of the CPU.
            report: progress.

        Raises:
            StpError: a clip is too short, or too small for the network; the weights are damaged.
        """
        state, _ = read_verified(self.weights, self.identity)
        fitted = self.fitted()
        ratings: list[Rating] = []
        with settle(device, threads, "float32") as compute:
            looker = open_looker(self.network, state, compute.device)
            for clip in clips:
                kind, one = fitted.rate(clip.frames, clip.context, looker, clip.name)
                reason = FAR if one.value is None else ""
                values = (one.value, one.low, one.high, one.distance)
                ratings.append(Rating(clip.name, len(clip.frames), *values, kind, reason))
                report("clips seen", len(ratings), 0)
        used = dict.fromkeys(one.features for one in ratings)
        trained = {name: Trained(of.srocc, of.margin) for name, of in fitted.learnt.items()}
        return ClipRatings(
            ratings, {name: trained[name] for name in used}, fitted.rated, fitted.source
        )


def open_measure(plan: Plan, model: str, variant: str = "default") -> Measure:
    """Open a measure with its rated videos.

    Args:
        plan: of opinions.
        model: measure that uses features of a network.
        variant: of the measure.

    Raises:
        StpError: the plan has no such measure; the measure needs true futures or learns nothing;
            its weights are missing; its data or features are not finished.
    """
    cell = _planned(plan, model, variant)
    assert cell.predictions is not None
    options = QualityOptions.from_recipe(cell.predictions.recipe["predict"])
    network = plan.config.models[model].network
    of_prediction = set(options.parts) <= set(frame_features.PARTS)
    if network is None or options.regression not in AFFINE or not of_prediction:
        raise StpError(
            f"{model} ({variant}) rates no videos of others",
            expected="a measure that learns from features of a network and needs no true future, "
            f"by the regression {' or '.join(AFFINE)}",
            remedy="name one with --measure, such as squeezenet_mcs_rfd",
        )
    if not cell.features:
        raise StpError(
            f"the weights of {network} are missing",
            expected=f"a file below {plan.weights}",
            remedy=f"`stp list weights {network}` says how to get them",
        )
    data, looked = (plan.store / one.folder for one in (cell.data, *cell.features))
    for folder in (data, looked):
        if not store.is_complete(folder):
            raise StpError(
                f"{folder} is not made yet",
                expected="rated videos, and features of the network",
                remedy="make the tables of the scale file first (docs/pvqa.md)",
            )
    dataset = plan.config.datasets[cell.cell.tested_on]
    database = open_database(data, dataset.context)
    given = network_features.read(looked, database.names, options.parts)
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
    measures = [
        made for made in plan.cells if made.predictions and made.data.kind.cores.video_features
    ]
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
            remedy=f"`stp trace {what}` says what is known of it",
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
    names = read_schema(path).names
    return [name for name in names if name not in SAMPLES.names and name.count(".") == 1]


def _some(samples: int, count: int | None) -> list[int]:
    return [int(sample) for sample in spread(samples, count or samples)]


def summary(found: ClipRatings, others: Sequence[Agreement] = ()) -> list[str]:
    """Lines about ratings: their accuracy, number and mean.

    Args:
        found: the ratings.
        others: metrics of the same clips.
    """
    lines = [
        f"learnt from {found.rated} rated videos; "
        + (
            "their opinions are official"
            if found.source == OFFICIAL
            else f"these are {found.source}: the numbers say nothing about people"
        )
    ]
    lines += [
        f"{kind} features: SROCC {one.srocc:.3f} on test videos (median over splits), "
        f"95 % intervals of ± {one.margin:.1f} points"
        for kind, one in found.trained.items()
    ]
    values = [one.quality for one in found.ratings if one.quality is not None]
    share = len(values) / max(len(found.ratings), 1)
    mean = mean_rated(np.array(share), np.array(share * np.mean(values) if values else 0.0))
    said = f", mean {mean:.1f}" if np.isfinite(mean) else f"; no mean, since {MOST_ARE_FAR}"
    far = len(found.ratings) - len(values)
    lines.append(f"{len(values)} of {len(found.ratings)} clips have a value{said}")
    if far:
        lines.append(f"{far} have none: {FAR}")
    lines += [
        f"rank correlation with {one.convention}: {one.srocc:+.3f} over {one.clips} clips"
        for one in others
    ]
    return lines
