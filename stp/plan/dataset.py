"""Schema of the configuration of datasets, config/datasets/<name>.yaml."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from stp.core.json_files import Json
from stp.plan.checked_config import Module, Strict
from stp.plan.column import Columns, ConventionName
from stp.plan.metric import Convention
from stp.plan.removed import check_generator, check_options
from stp.tasks import task as tasks
from stp.tasks.task import Task

ReaderOptions = Annotated[Json, AfterValidator(check_options)]


class Obtained(Strict):
    """A file below a raw folder, downloaded or put there by a person.

    Attributes:
        path: path of the file below a raw folder, such as ``kth/00sequences.txt``.
        url: address of the download; null if it cannot be downloaded.
        bytes: size of the file in bytes; null if it is not known.
        sha256: checksum of the file; null if it is not known.
        access: open files are downloaded; for others, a person follows the instructions.
        instructions: how a person gets the file, if it cannot be downloaded.
    """

    path: str
    url: str | None = None
    bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    access: Literal["open", "registration", "manual"] = "open"
    instructions: str = ""


class RawFile(Obtained):
    """One raw file of a release or, with `many`, all files that match a pattern.

    Attributes:
        md5_uncompressed: MD5 of the unpacked content of a packed file.
        licence: licence of the file, if it differs from that of the dataset.
        many: whether ``path`` is a pattern for many files, such as ``kth/*.avi``.
        min_files: minimum number of files that match the pattern.
    """

    md5_uncompressed: str | None = Field(default=None, pattern="^[0-9a-f]{32}$")
    licence: str = ""
    many: bool = False
    min_files: int = Field(default=1, ge=1)


class Archive(Obtained):
    """An archive from which files of a release are unpacked when they are fetched.

    Meant for archives without random access (.tar.gz, .tgz); .tar and .zip files are raw files,
    which readers read without unpacking them. Only the declared files of the release are unpacked.
    The archive is not needed if the raw folder has them already.

    Attributes:
        into: folder below a raw folder into which files are unpacked; the folder of the archive
            unless set.
        strip: number of leading folders that are removed from names in the archive; "any": as many
            as needed for a name to match a declared file.
    """

    path: str = Field(pattern=r"\.(tar|tar\.gz|tgz|zip)$")
    into: str | None = None
    strip: Annotated[int, Field(ge=0)] | Literal["any"] = 0


class Release(Strict):
    """A named, immutable set of raw files: declared files, or a generator with its options.

    A generated release may declare files with checksums: these are copied from a raw folder and
    replace generated files of the same names.

    Attributes:
        source: origin of the files, shown with all numbers made from them.
        files: files of the release.
        archives: archives from which some of the files are unpacked; they do not affect
            fingerprints.
        generator: folder of stp.datasets whose ``generator.py`` generates the files, or another
            module there, such as ``atlas.crowd``.
        options: options of the generator.
        prepare: options of the reader for this release, which override those of the dataset.
        reads: paths in the checkout of files and folders that the generator reads or imports,
            besides its static imports. Their content is part of the fingerprints.
        leaky: whether the training and test splits share a video, person or period.
        note: footnote of tables.
        behind_paper: whether the paper's numbers were made from these files although they are not
            the official ones; differences from the paper's numbers are then shown.
        raw_gb: total size of the files in 10^9 bytes, if their sizes are not declared; used for
            estimates only.
    """

    source: Literal["official", "sample", "synthetic", "own"]
    files: tuple[RawFile, ...] = ()
    archives: tuple[Archive, ...] = ()
    generator: Annotated[Module, AfterValidator(check_generator)] | None = None
    options: Json = {}
    prepare: ReaderOptions = {}
    reads: tuple[str, ...] = ()
    leaky: bool = False
    note: str = ""
    behind_paper: bool = False
    raw_gb: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _files_beside_generated_ones_are_known(self) -> Self:
        if self.generator and (self.archives or not all(file.sha256 for file in self.files)):
            raise PydanticCustomError(
                "given", "files of a generated release need a sha256, and no archives"
            )
        return self

    @property
    def is_papers(self) -> bool:
        """Whether the files are the official ones, or those behind the paper's numbers."""
        return (self.source == "official" or self.behind_paper) and bool(self.files)


class ClipsOfSplits(Strict):
    """Number of clips of each split, as counted or as printed.

    Attributes:
        train: number of training clips; null if it is not known.
        val: number of validation clips; null if it is not known.
        test: number of test clips; null if it is not known.
    """

    train: int | None = Field(default=None, ge=0)
    val: int | None = Field(default=None, ge=0)
    test: int | None = Field(default=None, ge=0)

    @property
    def by_split(self) -> dict[str, int | None]:
        """Number of clips by split; None where it is unknown."""
        return {"train": self.train, "val": self.val, "test": self.test}


class Counts(ClipsOfSplits):
    """Number of clips of each split, for estimates and `stp list datasets`; it changes no result.

    The options ``clips`` and ``clips_per_epoch`` of a reader override these numbers.

    Attributes:
        frames: number of stored frames, if clips share frames.
        source: origin of the counts.
        published: numbers of clips that the paper prints.
        explained: reason why the number of a split differs from the published one, by split.
        estimated: names of splits whose numbers are estimates, because not all official clips were
            counted.
    """

    frames: int | None = Field(default=None, ge=0)
    source: str = ""
    published: ClipsOfSplits = ClipsOfSplits()
    explained: dict[str, str] = {}
    estimated: tuple[Literal["train", "val", "test"], ...] = ()

    @property
    def official(self) -> dict[str, int]:
        """Number of clips of the complete official release, for each split that the paper counts.

        This is the published number or, if a difference from it is explained, the counted number.
        """
        printed = {split: number for split, number in self.published if number is not None}
        explained = {
            split: number
            for split, number in self.by_split.items()
            if split in printed and split in self.explained and number is not None
        }
        numbers = printed | explained
        return {split: number for split, number in numbers.items() if split not in self.estimated}


class Subset(Strict):
    """A part of a dataset's test clips, or clips of a special evaluation.

    Attributes:
        title: a description.
        clips: number of clips, used for estimates of time and storage only.
    """

    title: str
    clips: int | None = Field(default=None, ge=0)


RELEASE = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Pattern of the names of releases, which are parts of paths."""
SUBSET = re.compile("[a-z0-9][a-z0-9_-]*")
"""Pattern of the names of subsets, such as atlas-paper, which are parts of paths."""
POSITION = (2, 1, 1)
"""Shape of a position of one person: x and y."""


class Dataset(Strict):
    """A dataset (config/datasets/<name>.yaml).

    Attributes:
        title: name in tables.
        published_name: name in the paper; null if the paper does not have the dataset.
        kind: the task: frames, tracks of people, or opinions.
        domain: subject of the data, by which datasets are grouped.
        shape: channels, height and width of a prepared frame; of tracks, x and y of one person.
        context: number of context frames, or of observed positions; 0 if clips are distorted and
            not forecast.
        horizon: number of frames to predict in training and in the short-term table, or of future
            positions.
        units: units of the values: "1" for video in [0, 1]; for several variables, a text that
            people read.
        metrics: columns of its table, besides the columns of its suite: conventions such as
            mse.pixel_sum, or records with a heading, a variable, ...
        definitions: conventions for this dataset alone, such as those with thresholds in its units,
            by name, <metric>.<choice>; see the files of config/conventions.
        protocol_source: source of splits, context and horizon.
        homepage: address of the publisher's page.
        citation: key of references.yaml, or the work to cite.
        licence: licence of its files, in the words of its publisher.
        reader: folder of stp.datasets whose ``reader.py`` reads the raw layout, or a module of
            stp.prepare, such as ``own.reader``; the dataset's name unless set.
        virtual_clips: module of stp.data that draws training clips, if they are not stored.
        reads: paths in the checkout of files and folders that `reader` and `virtual_clips` read or
            import, besides their static imports. Their content is part of the fingerprints.
        prepare: options of the reader. The order of the keys of `variables` is that of the
            channels; other keys have no order.
        counts: number of clips of each split, for estimates.
        subsets: parts of the test clips, or clips of special evaluations, by name.
        train_subsets: alternative training and validation clips, by name, such as those of a split
            without a leak; their splits in the index are ``<name>-train`` and ``<name>-val``.
        conventions: notes for people on choices where the paper, its code and correctness disagree:
            the choice and its reason, by subject, such as ``validation``. They have no effect, and
            are no conventions of metrics (see `definitions`).
        problems: known problems of the data, or of their download.
        release: name of the release that is used.
        releases: possible raw files, by name of the release.
    """

    title: str
    published_name: str | None = None
    kind: str = "frames"
    domain: Literal["motion", "robot", "driving", "traffic", "weather", "people", "game", "own"] = (
        "own"
    )
    shape: tuple[int, int, int] = POSITION
    context: int = Field(ge=0)
    horizon: int = Field(ge=1)
    units: str = "1"
    metrics: Columns = ()
    definitions: dict[ConventionName, Convention] = {}
    protocol_source: str = "your own data"
    homepage: str = ""
    citation: str = ""
    licence: str = ""
    reader: Module | None = None
    virtual_clips: Module | None = None
    reads: tuple[str, ...] = ()
    prepare: ReaderOptions = {}
    counts: Counts = Counts()
    subsets: dict[str, Subset] = {}
    train_subsets: dict[str, Subset] = {}
    conventions: dict[str, str] = {}
    problems: tuple[str, ...] = ()
    release: str
    releases: dict[str, Release]

    @model_validator(mode="before")
    @classmethod
    def _protocols_are_subsets(cls, value: object) -> object:
        if isinstance(value, dict) and value.get("kind", "frames") in tasks.names():
            protocols = tasks.find(value.get("kind", "frames")).protocols
            subsets = {name: {"title": title} for name, title in protocols.items()}
            return ({"subsets": subsets, "train_subsets": subsets} if subsets else {}) | value
        return value

    @model_validator(mode="after")
    def _names_are_those_of_folders(self) -> Self:
        for names, form, signs in (
            (self.releases, RELEASE, "letters, digits and . _ -"),
            ((*self.subsets, *self.train_subsets), SUBSET, "small letters, digits and _ -"),
        ):
            for name in names:
                if not form.fullmatch(name):
                    raise PydanticCustomError(
                        "name",
                        "names of {signs}, a letter or digit first, not {name}",
                        {"signs": signs, "name": name},
                    )
        return self

    @model_validator(mode="after")
    def _is_of_a_kind(self) -> Self:
        if self.kind not in tasks.names():
            kinds = " or ".join(tasks.names())
            raise PydanticCustomError("kind", "a kind of sample: {known}", {"known": kinds})
        if tasks.find(self.kind).has_shape and "shape" not in self.model_fields_set:
            raise PydanticCustomError("missing", "a dataset of frames needs a shape")
        return self

    @property
    def samples(self) -> Task:
        """The task of the dataset: what a sample is, and how it is processed."""
        return tasks.find(self.kind)
