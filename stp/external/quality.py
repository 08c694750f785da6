"""Predict what people would think of the user's own videos (`stp videos quality`).

A measure of quality predicts the mean opinion score of a video, from 0 to 100. It is trained on
videos that people have rated (docs/pvqa.md). The metric `stp.metrics.predicted_quality` needs such
a measure, saved to a file.
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
from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.core.job import Report, report_nothing
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
    pool_features,
)
from stp.metrics.networks.maps import NETWORKS, open_feature_maps
from stp.metrics.networks.state import read_verified
from stp.metrics.srocc import correlation
from stp.models.compute import set_up_compute
from stp.opinions import network_features
from stp.opinions.new_videos import fit
from stp.opinions.prepared import Database, open_database
from stp.opinions.regression import AFFINE
from stp.options.quality import QualityOptions
from stp.plan.artefacts import CellArtefacts
from stp.plan.cells import Plan
from stp.plan.checked_config import check_known
from stp.score.samples import spread
from stp.score.tables import SAMPLES, read_samples
from stp.score.video_folder import find_clips, read_clip

SPLITS = "random"
"""Family of splits from which errors are estimated."""


@dataclass(frozen=True)
class Clip:
    """A video whose quality a measure rates: observed and predicted frames.

    Attributes:
        name: name of the video.
        frames: observed and predicted frames, uint8 (T, H, W, 3).
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
        quality: predicted opinion in points, mostly from 0 to 100; None if there is a ``reason``.
        low, high: ends of the 95 % prediction interval, in points; None without a quality.
        distance: distance of the clip's features from those of the nearest rated video, as a
            multiple of the largest such distance among rated videos.
        features: kind of features: `EXACT`, those of each frame, for clips with as many frames as
            the rated videos; or `POOLED`, their mean and standard deviation over the predicted
            frames, for other clips.
        reason: reason why the quality is missing; empty if there is one.
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
    """Accuracy of the ratings that a trained measure predicts from one kind of network features.

    Attributes:
        srocc: Spearman's correlation of predicted ratings and opinions of test videos, median over
            splits.
        margin: half the width of the 95 % prediction interval of a rating, in points.
    """

    srocc: float
    margin: float


@dataclass(frozen=True)
class ClipRatings:
    """Predicted ratings of clips, and how accurate such predictions are.

    Attributes:
        ratings: predicted rating of each clip.
        trained: accuracy, by kind of features (`EXACT` or `POOLED`, see `Rating`).
        rated: number of rated videos that the measure was trained on.
        source: source of the rated videos, such as official or synthetic.
    """

    ratings: list[Rating]
    trained: dict[str, Trained]
    rated: int
    source: str


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of a metric with a measure's predicted ratings, over the clips of a cell.

    Attributes:
        convention: exact definition of the metric, such as ``ssim.range2``.
        srocc: Spearman's correlation over clips, from -1 to 1.
        clips: number of clips that have both a value of the metric and a rating.
    """

    convention: str
    srocc: float
    clips: int


@dataclass(frozen=True)
class Measure:
    """A measure of quality, which predicts the mean opinion score of videos, and its training data.

    Made by `open_measure`.

    Attributes:
        network: network whose features the measure uses.
        weights: path of the weights of the network.
        identity: checksums of the weights' file in hexadecimal, by kind of checksum: ``sha256`` or
            ``git_blob_sha1``.
        options: options of the regression.
        database: rated videos with opinions.
        horizon: number of predicted frames of the rated videos.
        parts: network features of the V rated videos: an array, float (V, D), for each kind of
            features that the measure uses, such as ``mcs``. They are in the order of
            ``options.parts``.
        source: source of the rated videos, such as official or synthetic.
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
        """Whether the measure learns from the official opinions, which people gave.

        Opinions of all other sources count as synthetic: they say nothing about people.
        """
        return self.source == OFFICIAL

    def fit_measure(self) -> FittedQuality:
        """Train the measure on all rated videos, once for each of two kinds of features.

        `EXACT` are the features of each frame. They serve to rate clips with as many frames as the
        rated videos. `POOLED` are mean and standard deviation of these features over the predicted
        frames. They serve to rate clips of other lengths.
        """
        _, splits = self.database.splits(SPLITS)
        channels = NETWORKS[self.network].channels
        parts = {
            EXACT: self.parts,
            POOLED: [pool_features(part, channels, self.horizon) for part in self.parts],
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
            {name: fit(features, mos, splits, kind, count) for name, features in parts.items()},
        )

    def save(self, path: Path) -> dict[str, object]:
        """Train the measure, and write it to a file with the weights of its network.

        The metric `stp.metrics.predicted_quality` reads this file.

        Args:
            path: path of the file, which ends in ``.npz``.

        Returns:
            size in bytes (``bytes``) and checksums (such as ``sha256``) of the file.

        Raises:
            StpError: the file has another suffix, or the weights are damaged.
        """
        state, _ = read_verified(self.weights, self.identity)
        fitted_quality.write(path, self.fit_measure(), state)
        return identify(path)

    def rate(
        self,
        clips: Iterable[Clip],
        *,
        device: str = "auto",
        threads: int = 1,
        report: Report = report_nothing,
    ) -> ClipRatings:
        """Predict the opinions of people about clips.

        Args:
            clips: clips to rate, read one at a time.
            device: device of the network: auto, cpu or cuda.
            threads: number of CPU threads.
            report: callback for the progress.

        Returns:
            a rating of each clip, in the order of the clips, and the accuracy of such ratings.

        Raises:
            StpError: a clip is too short, or too small for the network; the weights are damaged.
        """
        state, _ = read_verified(self.weights, self.identity)
        fitted = self.fit_measure()
        ratings: list[Rating] = []
        with set_up_compute(device, threads, "float32") as compute:
            network_maps = open_feature_maps(self.network, state, compute.device)
            for clip in clips:
                kind, estimate = fitted.rate(clip.frames, clip.context, network_maps, clip.name)
                reason = FAR if estimate.value is None else ""
                values = (estimate.value, estimate.low, estimate.high, estimate.distance)
                ratings.append(Rating(clip.name, len(clip.frames), *values, kind, reason))
                report("clips seen", len(ratings), 0)
        trained = {}
        for kind in dict.fromkeys(rating.features for rating in ratings):
            learnt = fitted.learnt[kind]
            trained[kind] = Trained(learnt.srocc, learnt.margin)
        return ClipRatings(ratings, trained, fitted.rated, fitted.source)


def open_measure(plan: Plan, model: str, variant: str = "default") -> Measure:
    """Open a measure of quality with the rated videos on which it is trained.

    Args:
        plan: plan of a scale file that evaluates measures of quality.
        model: name of the measure.
        variant: name of a variant of the measure: a set of options.

    Raises:
        StpError: the plan does not have the measure; the measure compares predicted with true
            future frames, so that it cannot rate a video alone; it is no linear regression on
            features of a network; the weights of this network are missing; or the prepared data or
            features of the rated videos are not finished.
    """
    cell = _find_planned_cell(plan, model, variant)
    assert cell.predictions is not None
    options = QualityOptions.from_recipe(cell.predictions.recipe["predict"])
    network = plan.config.models[model].network
    of_prediction = set(options.parts) <= set(frame_features.PARTS)
    if network is None or options.regression not in AFFINE or not of_prediction:
        raise StpError(
            f"{model} ({variant}) cannot rate other videos",
            expected="a measure that learns from features of a network and needs no true future, "
            f"by the regression {' or '.join(AFFINE)}",
            remedy="name one with --measure, such as squeezenet_mcs_rfd",
        )
    if not cell.features:
        raise StpError(
            f"the weights of {network} are missing below {plan.weights}",
            remedy=f"`stp list weights {network}` says how to get them",
        )
    data, seen_folder = (plan.store / artefact.folder for artefact in (cell.data, *cell.features))
    for folder in (data, seen_folder):
        if not store.is_complete(folder):
            raise StpError(
                f"{folder} is not made yet",
                remedy="make the tables of the scale file first (docs/pvqa.md)",
            )
    dataset = plan.config.datasets[cell.cell.tested_on]
    database = open_database(data, dataset.context)
    features = network_features.read(seen_folder, database.names, options.parts)
    return Measure(
        network,
        plan.weight_files[network],
        cell.features[0].recipe["weights"],
        options,
        database,
        dataset.horizon,
        [features.parts[name] for name in options.parts],
        cell.data.recipe["source"],
    )


def _find_planned_cell(plan: Plan, model: str, variant: str) -> CellArtefacts:
    """A planned cell of the measure, with its artefacts."""
    measures: dict[str, dict[str, CellArtefacts]] = {}
    for cell in plan.cells:
        if cell.predictions and cell.data.kind.cores.video_features:
            measures.setdefault(cell.cell.model, {})[cell.cell.variant] = cell
    if not measures:
        raise StpError(
            "the scale file has no measures of quality",
            remedy="name a scale file of opinions, such as config/pvqa.yaml, with --configfile",
        )
    check_known(model, measures, "measure", "--measure")
    check_known(variant, measures[model], "variant", "--variant")
    return measures[model][variant]


def of_folder(folder: Path, context: int, count: int | None = None) -> Iterator[Clip]:
    """Yield the clips of a folder: films, array files, or folders of pictures.

    Args:
        folder: folder of the clips, in any form that `stp.score.video_folder` reads.
        context: number of observed frames at the beginning of each clip.
        count: maximum number of clips, evenly spread; None for all.

    Raises:
        StpError: there are no clips, or a clip is damaged.
    """
    clips = find_clips(folder)
    for number in _pick_samples(len(clips), count):
        clip = clips[number]
        name = clip.path.name if clip.number is None else f"{clip.path.name}, clip {clip.number}"
        yield Clip(name, pixels(read_clip(clip)), context)


def find_cell(database: Path, what: str) -> CellRow:
    """Find a cell (one model on one dataset in one setting) of a results store.

    Args:
        database: results.duckdb.
        what: words of the cell's key, such as ``simvpv2/kth``, or the beginning of a fingerprint.

    Raises:
        StpError: no cell matches, or several match.
    """
    cell = find(database, what)
    if not isinstance(cell, CellRow):
        raise StpError(
            f"{what} is not a cell with scores", remedy=f"`stp trace {what}` says what is known"
        )
    return cell


def of_cell(cell: CellRow, count: int | None = None) -> Iterator[Clip]:
    """Yield the clips that a model predicted in a test: observed frames, then the prediction.

    Of several stored predictions of a clip, the first is used.

    For distortions of whole clips, which have no observed frames, the first frames are taken from
    the real clip.

    Args:
        cell: a scored cell: one model on one dataset in one setting.
        count: maximum number of clips, evenly spread; None for all.

    Raises:
        StpError: predictions are not stored, do not have 1 or 3 channels, or are damaged.
    """
    stored = predictions(cell)
    for number in _pick_samples(len(stored.index), count):
        frames = pixels(video(stored, number))
        if not stored.context:
            real = stored.read(number, number + 1, slice(OBSERVED))[1][0]
            frames = np.concatenate([pixels(real), frames[OBSERVED:]])
        name = str(stored.index["clip"].iloc[number])
        yield Clip(name, frames, stored.context or OBSERVED)


def agreements(results: ClipRatings, cell: CellRow) -> list[Agreement]:
    """Correlate the ratings that a measure predicts for a cell's clips with other metrics.

    The correlation is over the clips. Distances between sets, such as FVD, are left out: they have
    no value for a single clip.

    Args:
        results: ratings of the clips, as a measure of quality predicts them (not those of people).
        cell: the scored cell whose clips were rated.

    Returns:
        a rank correlation for each convention (exact definition of a metric).

    Raises:
        StpError: a file of scores is damaged.
    """
    rated = {
        rating.clip: rating.quality for rating in results.ratings if rating.quality is not None
    }
    rows = []
    for folder in map(Path, filter(None, (cell.scores_folder, cell.perceptual_folder))):
        for convention in read_schema(sample_file(folder)).names:
            if convention in SAMPLES.names or convention.count(".") != 1:
                continue  # a part of the values of a convention
            samples = read_samples(folder, convention) or ([], [])
            values = {c: float(np.mean(v)) for c, v in zip(*samples, strict=True) if v}
            clips = [clip for clip in rated if clip in values]
            srocc = correlation(
                np.array([rated[clip] for clip in clips]), np.array([values[c] for c in clips])
            )
            if np.isfinite(srocc):
                rows.append(Agreement(convention, srocc, len(clips)))
    return rows


def _pick_samples(samples: int, count: int | None) -> list[int]:
    return [int(sample) for sample in spread(samples, count or samples)]


def summary(results: ClipRatings, others: Sequence[Agreement] = ()) -> list[str]:
    """Describe ratings in lines of text: their accuracy, number and mean.

    Args:
        results: the ratings that a measure predicts.
        others: correlations of the ratings with metrics, which get a line each.
    """
    origin = "their opinions are official"
    if results.source != OFFICIAL:
        origin = f"these are {results.source}: the numbers say nothing about people"
    lines = [
        f"learnt from {results.rated} rated videos; {origin}",
        *(
            f"{kind} features: SROCC {trained.srocc:.3f} on test videos (median over splits), "
            f"95 % intervals of ± {trained.margin:.1f} points"
            for kind, trained in results.trained.items()
        ),
    ]
    values = [rating.quality for rating in results.ratings if rating.quality is not None]
    share = len(values) / max(len(results.ratings), 1)
    mean = mean_rated(np.array(share), np.array(share * np.mean(values) if values else 0.0))
    average = f", mean {mean:.1f}" if np.isfinite(mean) else f"; no mean, since {MOST_ARE_FAR}"
    lines.append(f"{len(values)} of {len(results.ratings)} clips have a value{average}")
    if far := len(results.ratings) - len(values):
        lines.append(f"{far} have none: {FAR}")
    return lines + [
        f"rank correlation with {other.convention}: {other.srocc:+.3f} over {other.clips} clips"
        for other in others
    ]
