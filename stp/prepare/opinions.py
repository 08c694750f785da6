"""Read opinions about videos in the layout of the IISc PVQA database (Somraj et al. 2022).

One folder contains ``MOS.csv`` (Video Name, MOS), ``Predicted_Videos/<name>.mp4`` and
``TrainTestSplit.csv``; optional files are ``Ratings.csv`` (Rater, Session, Video Name, Rating),
``Tags.csv`` (Video Name, and Dataset, Tags, Strength, Family, Generator if known) and
``True_Videos/<name>.mp4``. Videos keep their size.
"""

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.errors import RawFileError, StpError, suggest_name
from stp.core.job import Extras, Job
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.opinions import prepared
from stp.opinions.raters import identical
from stp.opinions.ratings import Opinions, Ratings, Rescaling, opinions, split_half
from stp.opinions.splits import leave_one_out, random_splits
from stp.prepare.output import attributes
from stp.prepare.video import decode_film

NAME, MOS = "Video Name", "MOS"
RATING_COLUMNS = ("Rater", "Session", NAME, "Rating")
FOLDERS = PREDICTED, TRUE = "Predicted_Videos", "True_Videos"


@dataclass(frozen=True)
class OpinionsOptions:
    """Options of the reader of people's opinions of videos.

    Attributes:
        folder: folder of the database, below a raw folder.
        mos: source of opinion scores: ``file`` (MOS.csv) or ``ratings`` (computed from
            Ratings.csv).
        rescaling: how Z-scores of raters become points from 0 to 100 in computed scores: ``fixed``
            (-3 becomes 0, 3 becomes 100) or ``observed`` (smallest becomes 0, largest 100).
        splits: number of random splits, besides the published ones.
        test: per cent of the videos in the test set of a random split.
        seed: seed of the random splits.
    """

    folder: str = "opinions"
    mos: Literal["file", "ratings"] = "file"
    rescaling: Rescaling = "fixed"
    splits: PositiveInt = 100
    test: Annotated[int, Field(ge=1, le=90)] = 20
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        names = get_args(Rescaling)
        require(self.rescaling in names, "rescaling", self.rescaling, " or ".join(names))


def run(job: Job) -> Extras:
    """Write the videos, their opinion scores, single ratings, and splits into training and test.

    Returns:
        facts for the receipt: numbers of videos, raters, rejected raters and splits; groups of
        raters with identical ratings; and the split-half consistency, which is the median
        correlation between the opinions of random halves of the raters, None without ratings.

    Raises:
        StpError: an option or a raw file is wrong.
    """
    recipe = job.recipe
    options = build(OpinionsOptions, recipe["options"], "prepare options")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    source = Source(raw, options.folder)
    ratings = source.ratings()
    computed = (
        None if ratings is None else opinions(ratings, options.rescaling, source.at("Ratings.csv"))
    )
    scores = source.scores() if options.mos == "file" else _scores(computed, source)
    names = sorted(scores)
    if ratings is not None:
        source.same("Ratings.csv", ratings.video.tolist(), names, all_of_them=False)
    for folder in FOLDERS:
        source.same(folder, source.in_folder(folder), names, all_of_them=False)
    tags = source.tags(names)
    sizes = _videos(job, raw, source, names)
    rated = {}
    if computed is not None:
        rated = dict(zip(computed.video.tolist(), computed.count.tolist(), strict=True))
    rows: list[dict[str, object]] = [
        {
            "video": name,
            "mos": scores[name],
            "ratings": rated.get(name),
            **tags[name],
            **sizes[name],
        }
        for name in names
    ]
    prepared.write(job.out / prepared.OPINIONS, prepared.OPINION_COLUMNS, rows)
    if ratings is not None and computed is not None:
        _write_ratings(job.out, ratings, computed)
    families = {
        "published": source.read_splits(names),
        "random": random_splits(
            len(names), round(len(names) * options.test / 100), options.splits, options.seed
        ),
        "source": leave_one_out(np.array([row["dataset"] for row in rows])),
        "generator": leave_one_out(np.array([row["generator"] for row in rows])),
    }
    counts = _write_splits(job.out, names, families)
    return {
        "videos": len(names),
        "raters": 0 if ratings is None else len(np.unique(ratings.rater)),
        "rejected": [] if computed is None else computed.rejected.tolist(),
        "identical": [] if ratings is None else identical(ratings.by_rater()),
        "split_half": None if computed is None else float(np.median(split_half(computed.scores))),
        "with_truth": sum(bool(size["has_truth"]) for size in sizes.values()),
        "splits": counts,
    }


class Files(Protocol):
    """Any object that lists and finds raw files by name, such as `stp.data.raw_files.RawFiles`."""

    @property
    def names(self) -> Sequence[str]: ...

    def find(self, name: str) -> Path: ...


class Source:
    """Reads the raw files of a database of opinions about videos.

    Args:
        raw: the raw files of the release.
        folder: folder of the database, below a raw folder.
    """

    def __init__(self, raw: Files, folder: str) -> None:
        self.raw, self.folder = raw, folder

    def at(self, name: str) -> str:
        """Path of a file relative to the raw folder.

        Args:
            name: name of the file in the folder of the database.
        """
        return f"{self.folder}/{name}"

    def has(self, name: str) -> bool:
        """Whether the release has a file, given its name in the folder of the database."""
        return self.at(name) in self.raw.names

    def in_folder(self, folder: str) -> list[str]:
        """List the names of the videos in a folder of the release."""
        at = f"{self.at(folder)}/"
        files = (Path(name) for name in self.raw.names if name.startswith(at))
        return [file.stem for file in files if file.suffix == ".mp4"]

    def rows(self, name: str, needed: Iterable[str]) -> list[dict[str, str]]:
        """Read the rows of a CSV file of the release.

        Args:
            name: name of the file in the folder of the database.
            needed: names of the columns that the file must have.

        Raises:
            StpError: the file cannot be read, lacks a column or a field, or has a column twice.
        """
        path = self.raw.find(self.at(name))
        expected = f"a CSV file in UTF-8 with the columns {', '.join(needed)}"
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                reader = csv.DictReader(file, strict=True)
                rows = list(reader)
                header = reader.fieldnames or []
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise RawFileError(path, f"cannot be read ({error})", expected=expected) from None
        lacking = [column for column in needed if column not in header]
        twice = [column for column in header if header.count(column) > 1]
        if lacking or twice or not rows:
            problem = "no rows"
            if lacking or twice:
                missing = f"no column {', '.join(lacking)}"
                problem = missing if lacking else f"two columns {twice[0]!r}"
            raise RawFileError(path, problem, expected=expected)
        for number, row in enumerate(rows, start=2):
            if None in row or any(value is None for value in row.values()):
                problem = f"not {len(header)} fields, the number of columns"
                raise RawFileError(f"{path}, line {number}", problem, expected=expected)
        return rows

    def number(self, name: str, row: dict[str, str], column: str) -> float:
        """Read a field as a finite number.

        Args:
            name: name of the CSV file in the folder of the database, for errors.
            row: row of this file, from `rows`: its fields, by name of the column.
            column: name of the column whose field is read.

        Raises:
            StpError: the field is not a finite number.
        """
        try:
            value = float(row[column])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            problem = f"{column} of {row[NAME]} is {row[column]!r}"
            remedy = "write a number with a decimal point, without separators of thousands"
            raise RawFileError(self.at(name), problem, remedy=remedy)
        return value

    def by_video(self, name: str, needed: Iterable[str]) -> dict[str, dict[str, str]]:
        """The rows of a CSV file by the name of the video.

        Args:
            name: name of the file in the folder of the database.
            needed: names of further columns that the file must have.

        Raises:
            StpError: a video has two rows.
        """
        rows: dict[str, dict[str, str]] = {}
        for row in self.rows(name, [NAME, *needed]):
            if row[NAME] in rows:
                raise RawFileError(self.at(name), f"{row[NAME]} has two rows")
            rows[row[NAME]] = row
        return rows

    def scores(self) -> dict[str, float]:
        """Opinion scores of MOS.csv, by video.

        Raises:
            StpError: a score is not within 0 to 100.
        """
        rows = self.by_video("MOS.csv", [MOS])
        scores = {name: self.number("MOS.csv", row, MOS) for name, row in rows.items()}
        for name, value in scores.items():
            if not 0 <= value <= 100:
                problem = f"the MOS of {name} is {value:g}"
                raise RawFileError(self.at("MOS.csv"), problem, expected="0 to 100")
        return scores

    def ratings(self) -> Ratings | None:
        """The ratings of single raters; None without Ratings.csv."""
        if not self.has("Ratings.csv"):
            return None
        rows = self.rows("Ratings.csv", RATING_COLUMNS)
        rater, session, video = (np.array([row[key] for row in rows]) for key in RATING_COLUMNS[:3])
        score = np.array([self.number("Ratings.csv", row, "Rating") for row in rows])
        return Ratings(rater, session, video, score)

    def tags(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """Read what is known of each video from the optional file Tags.csv.

        Returns:
            by name of the video, a dict with these keys, None where they are not stated:

            - ``dataset``: dataset that the video comes from. If not stated, it is the name of the
              video without its last part: "KTH" of "KTH_012".
            - ``tags``: words for visible damage, separated by spaces; "natural" for a video without
              damage.
            - ``generator``: model that predicted the video.
            - ``family``: "stochastic" or "deterministic", the family of this model.
            - ``strength``: strength of the damage, a number, for videos that were damaged on
              purpose.
        """
        rows = self.by_video("Tags.csv", []) if self.has("Tags.csv") else {}
        self.same("Tags.csv", rows, names, all_of_them=False)
        return {
            name: {
                "dataset": row.get("Dataset") or name.rpartition("_")[0] or name,
                "tags": row.get("Tags") or None,
                "family": row.get("Family") or None,
                "generator": row.get("Generator") or None,
                "strength": self.number("Tags.csv", row, "Strength")
                if row.get("Strength")
                else None,
            }
            for name in names
            for row in [rows.get(name, {})]
        }

    def read_splits(self, names: list[str]) -> np.ndarray:
        """Read the splits of TrainTestSplit.csv.

        Args:
            names: names of the videos that have opinions.

        Returns:
            whether a video is in the test set, bool (splits, videos); without the file, there are
            no splits, shape (0, videos).

        Raises:
            StpError: the videos in the file differ from those with opinions, or a field is neither
                Train nor Test.
        """
        file = "TrainTestSplit.csv"
        if not self.has(file):
            return np.zeros((0, len(names)), bool)
        rows = self.by_video(file, [])
        self.same(file, rows, names, all_of_them=True)
        numbers = [column for column in rows[names[0]] if column != NAME]
        fields = np.array([[rows[name][column] for column in numbers] for name in names])
        odd = np.argwhere(~np.isin(fields, ["Train", "Test"]))
        if len(odd):
            video, column = odd[0]
            field = str(fields[video, column])
            problem = f"{numbers[column]} of {names[video]} is {field!r}"
            raise RawFileError(self.at(file), problem, expected="Train or Test")
        return np.asarray(fields.T == "Test")

    def same(
        self, file: str, videos: Iterable[str], names: list[str], *, all_of_them: bool
    ) -> None:
        """Check that every video in a file or folder has an opinion, and perhaps the reverse.

        Args:
            file: name of the file or folder, for errors.
            videos: names of the videos in it.
            names: names of the videos with opinions.
            all_of_them: whether each video with an opinion must be in it.

        Raises:
            StpError: a video has no opinion; or, with `all_of_them`, a video with an opinion is
                missing.
        """
        present = set(videos)
        unknown, lacking = sorted(present - set(names)), sorted(set(names) - present)
        if unknown or (lacking and all_of_them):
            name = unknown[0] if unknown else lacking[0]
            problem = f"{name} has no opinion score" if unknown else f"no row of {name}"
            raise RawFileError(
                self.at(file),
                problem,
                expected=f"the {len(names)} videos with opinion scores",
                remedy=suggest_name(name, names) if unknown else None,
            )

    def video(self, folder: str, name: str) -> np.ndarray | None:
        """The frames of a video, uint8 (T, H, W, 3); None without the file.

        Raises:
            StpError: the video cannot be decoded.
        """
        file = f"{folder}/{name}.mp4"
        if not self.has(file):
            return None
        return np.stack(list(decode_film(self.raw.find(self.at(file)))))


def _scores(computed: Opinions | None, source: Source) -> dict[str, float]:
    if computed is None:
        raise StpError(
            f"{source.at('Ratings.csv')}: missing",
            expected="ratings, from which opinion scores are computed (mos: ratings)",
            remedy="set mos: file, or add the file to the release",
        )
    return dict(zip(computed.video.tolist(), computed.mos.tolist(), strict=True))


def _videos(
    job: Job, raw: RawFiles, source: Source, names: list[str]
) -> dict[str, dict[str, object]]:
    """Write an array for each size of videos, and locate each video in them."""
    recipe = job.recipe
    length = recipe["context"] + recipe["horizon"]
    shapes = {}
    for number, name in enumerate(names, start=1):
        frames = source.video(PREDICTED, name)
        if frames is None:
            raise StpError(
                f"{source.at(PREDICTED)}/{name}.mp4: missing",
                expected="a video for each opinion score",
                remedy="fetch it, or remove the row from MOS.csv",
            )
        _check(frames, length, f"{PREDICTED}/{name}.mp4")
        shapes[name] = frames.shape
        job.report("videos measured", number, len(names))
    about = {"shape": [3], **recipe}
    group = create_group(job.out / prepared.VIDEOS, attributes(about, raw, units="1/255"))
    where: dict[str, dict[str, object]] = {}
    done = 0
    for shape in sorted(set(shapes.values())):
        of_size = [name for name in names if shapes[name] == shape]
        _, height, width, _ = shape
        size = f"{height}x{width}"
        writers = [
            SequentialWriter(
                create_array(
                    group,
                    f"{of}_{size}",
                    (len(of_size), *shape),
                    np.uint8,
                    (f"video_{size}", "frame", f"y_{size}", f"x_{size}", "channel"),
                    (1, *shape),
                    max_files=4,
                )
            )
            for of in ("predicted", "true")
        ]
        for row, name in enumerate(of_size):
            frames = source.video(PREDICTED, name)
            truth = source.video(TRUE, name)
            if truth is not None:
                _check(truth, length, f"{TRUE}/{name}.mp4", shape)
            assert frames is not None
            for writer, values in zip(writers, (frames, truth), strict=True):
                writer.append(np.zeros((1, *shape), np.uint8) if values is None else values[None])
            where[name] = {
                **{"height": height, "width": width, "row": row, "has_truth": truth is not None}
            }
            done += 1
            job.report("videos written", done, len(names))
        for writer in writers:
            writer.close()
    return where


def _check(
    frames: np.ndarray, length: int, name: str, shape: tuple[int, ...] | None = None
) -> None:
    if len(frames) != length or (shape is not None and frames.shape != shape):
        many, height, width, _ = frames.shape
        size = "" if shape is None else f" of {shape[1]} x {shape[2]} pixels"
        raise StpError(
            f"{name}: {many} frames of {height} x {width} pixels",
            expected=f"{length} frames{size}",
            remedy="remove the video, and its row of MOS.csv",
        )


def _write_ratings(out: Path, ratings: Ratings, computed: Opinions) -> None:
    rejected = set(computed.rejected.tolist())
    columns = (ratings.rater, ratings.session, ratings.video, ratings.score)
    rows: list[dict[str, object]] = [
        {
            **{"rater": str(who), "session": str(when), "video": str(video)},
            **{"rating": float(value), "is_rejected": str(who) in rejected},
        }
        for who, when, video, value in zip(*columns, strict=True)
    ]
    prepared.write(out / prepared.RATINGS, prepared.RATING_COLUMNS, rows)


def _write_splits(out: Path, names: list[str], families: dict[str, np.ndarray]) -> dict[str, int]:
    rows: list[dict[str, object]] = [
        {"family": family, "split": number, "video": name, "is_test": bool(test)}
        for family, splits in families.items()
        for number, split in enumerate(splits, start=1)
        for name, test in zip(names, split, strict=True)
    ]
    prepared.write(out / prepared.SPLITS, prepared.SPLIT_COLUMNS, rows)
    return {family: len(splits) for family, splits in families.items()}
