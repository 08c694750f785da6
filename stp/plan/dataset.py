"""What is known about a dataset: config/datasets/<name>.yaml."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from stp.core.json_files import Json
from stp.plan.checked_config import Module, Strict
from stp.plan.column import Columns, ConventionName
from stp.plan.metric import Convention
from stp.plan.removed import current_generator, current_options
from stp.tasks import task as tasks
from stp.tasks.task import Task

ReaderOptions = Annotated[Json, AfterValidator(current_options)]


class RawFile(Strict):
    """One raw file of a release, or with `many` all files that match a pattern.

    Attributes:
        path: below a raw folder, such as ``kth/00sequences.txt``.
        url: where it can be downloaded; null where it cannot.
        bytes: its size.
        sha256: its checksum.
        md5_uncompressed: of a packed file: the MD5 of what is in it.
        licence: of the file, where it has one of its own.
        access: open files are downloaded; for the others a person follows the instructions.
        instructions: what this person does.
        many: whether ``path`` is a pattern such as ``kth/*.avi`` that stands for many files.
        min_files: that match the pattern, at least.
    """

    path: str
    url: str | None = None
    bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    md5_uncompressed: str | None = Field(default=None, pattern="^[0-9a-f]{32}$")
    licence: str = ""
    access: Literal["open", "registration", "manual"] = "open"
    instructions: str = ""
    many: bool = False
    min_files: int = Field(default=1, ge=1)


class Archive(Strict):
    """An archive from which files of a release are unpacked when they are fetched.

    For those that cannot be entered in the middle (.tar.gz, .tgz); readers use .tar and .zip
    packed, as raw files. What is unpacked are the files that the release declares. Where those lie
    in the raw folder already, their archive is not needed.

    Attributes:
        path: of the archive, below a raw folder.
        url: where it can be downloaded; null where it cannot.
        bytes: its size.
        sha256: its checksum.
        access: open archives are downloaded; for the others a person follows the instructions.
        instructions: what this person does.
        into: the folder below a raw folder that names in the archive are relative to; the one of
            the archive unless given.
        strip: leading folders of names in the archive that are dropped; "any": as many as it takes
            until a name is that of a declared file.
    """

    path: str = Field(pattern=r"\.(tar|tar\.gz|tgz|zip)$")
    url: str | None = None
    bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    access: Literal["open", "registration", "manual"] = "open"
    instructions: str = ""
    into: str | None = None
    strip: Annotated[int, Field(ge=0)] | Literal["any"] = 0


class Release(Strict):
    """Immutable raw bytes under a name: declared files, or a generator with its options.

    A generated release may declare files, each by its checksum. They are copied from a raw folder,
    in the place of what is generated under the same names.

    Attributes:
        archives: from which some of the files are unpacked; where the bytes of a file come from
            does not change them, so archives do not belong to the identity of a release.
        source: whose bytes these are; every number made from them says so.
        files: that it consists of.
        generator: folder of stp.datasets whose ``generator.py`` makes the files up, or another
            module there, such as ``atlas.crowd``.
        options: of the generator.
        note: what else is to be known about it.
        prepare: options of the reader that this release needs.
        reads: files and folders that the generator reads or imports, besides what its imports
            name: paths in the checkout. Their content is part of what the release is.
        leaky: the training and test splits share a video, person or period.
        behind_paper: these very files are what the paper's numbers were made from, although they
            came from elsewhere: differences to these are given.
        raw_gb: size of all its files in 10^9 bytes, where they do not declare it; for estimates
            only, in no recipe.
    """

    source: Literal["official", "sample", "synthetic", "own"]
    files: tuple[RawFile, ...] = ()
    archives: tuple[Archive, ...] = ()
    generator: Annotated[Module, AfterValidator(current_generator)] | None = None
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
        """Is the release official, or the very files that the paper's numbers come from?"""
        return (self.source == "official" or self.behind_paper) and bool(self.files)


class PublishedCounts(Strict):
    """Clips of each split in the paper's Table 1.

    Attributes:
        train, val, test: their number.
    """

    train: int | None = Field(default=None, ge=0)
    val: int | None = Field(default=None, ge=0)
    test: int | None = Field(default=None, ge=0)


class Counts(Strict):
    """Clips of each split, for estimates of costs and for `stp list datasets`: in no recipe.

    What the options of a reader say (``clips``, ``clips_per_epoch``) wins.

    Attributes:
        train, val, test: number of clips of the split.
        frames: that are stored for all of them, where clips share frames.
        source: who counted them.
        published: what the paper's table says.
        explained: for a split where ours differ from the published ones, why.
        estimated: splits whose official clips have not all been counted.
    """

    train: int | None = Field(default=None, ge=0)
    val: int | None = Field(default=None, ge=0)
    test: int | None = Field(default=None, ge=0)
    frames: int | None = Field(default=None, ge=0)
    source: str = ""
    published: PublishedCounts = PublishedCounts()
    explained: dict[str, str] = {}
    estimated: tuple[Literal["train", "val", "test"], ...] = ()

    @property
    def official(self) -> dict[str, int]:
        """Clips that the complete official release gives, of the splits that the paper counts.

        What the paper prints; where a difference from that is explained, what was counted here.
        """
        printed = {split: number for split, number in self.published if number is not None}
        ours = {split: getattr(self, split) for split in printed}
        return {
            split: ours[split] if split in self.explained and ours[split] is not None else number
            for split, number in printed.items()
            if split not in self.estimated
        }


class Subset(Strict):
    """A part of a dataset's test clips, or clips that only an evaluation uses.

    Attributes:
        title: what it is.
        clips: their number, for estimates of time and storage only: in no recipe.
    """

    title: str
    clips: int | None = Field(default=None, ge=0)


RELEASE = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Names of releases, which may be those of others: they are parts of paths."""
SUBSET = re.compile("[a-z0-9][a-z0-9_-]*")
"""Names of subsets, such as atlas-paper: they are parts of paths."""
A_PERSON = (2, 1, 1)
"""Shape of a position: x and y."""


class Dataset(Strict):
    """What is known about a dataset (config/datasets/<name>.yaml).

    Attributes:
        title: what tables call it.
        kind: of what is predicted: frames, or tracks of people.
        domain: what it shows, to group datasets.
        units: of its values: "1" of video in [0, 1]; of several variables, what `stp show` says.
        protocol_source: where splits, context and horizon are from.
        homepage: the address of those who made it.
        citation: key of references.yaml, or the work to cite.
        licence: of its files, in the words of who gives it.
        prepare: options of the reader. Only the keys of `variables` have an order: that of the
            channels.
        counts: clips of each split, for estimates.
        release: which of the releases is used.
        releases: raw bytes that it can be made from, by name.
        shape: channels, height and width of a prepared frame; of tracks, x and y of one person.
        published_name: what the paper calls it; None for your own data.
        context: number of context frames, or of observed positions; 0 of clips that are distorted,
            not forecast.
        horizon: number of frames to predict in training and in the short-term table, or of future
            positions.
        metrics: columns of its table, besides those that its suite has for it: conventions such as
            mse.pixel_sum, or records with a heading, a variable, ...
        definitions: conventions of its own, such as those with thresholds in its units, by their
            names, <metric>.<choice>; see the files of config/conventions.
        reader: folder of stp.datasets whose ``reader.py`` reads the raw layout, or a module of
            stp.prepare, such as ``own.reader``; the dataset's name unless set.
        virtual_clips: module of stp.data that draws training clips, if they are not stored.
        reads: files and folders that these two read or import, besides what their imports name:
            paths in the checkout. Their content is part of the fingerprints.
        subsets: parts of the test clips, or clips that only an evaluation uses.
        train_subsets: other training and validation clips, such as those of a split without
            leakage; the index calls their splits ``<name>-train`` and ``<name>-val``.
        conventions: choices where the paper, its code and correctness disagree, each with its
            reason.
        problems: what is known to be wrong with the data, or with getting them.
    """

    title: str
    published_name: str | None = None
    kind: str = "frames"
    domain: Literal["motion", "robot", "driving", "traffic", "weather", "people", "game", "own"] = (
        "own"
    )
    shape: tuple[int, int, int] = A_PERSON
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
    def _protocols_are_subsets(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("kind", "frames") in tasks.names():
            protocols = tasks.find(given.get("kind", "frames")).protocols
            subsets = {name: {"title": title} for name, title in protocols.items()}
            return ({"subsets": subsets, "train_subsets": subsets} if subsets else {}) | given
        return given

    @model_validator(mode="after")
    def _names_are_those_of_folders(self) -> Self:
        for names, form, signs in (
            (self.releases, RELEASE, "letters, digits and . _ -"),
            ((*self.subsets, *self.train_subsets), SUBSET, "small letters, digits and _ -"),
        ):
            for name in names:
                if not form.fullmatch(name):
                    told = {"signs": signs, "name": name}
                    raise PydanticCustomError(
                        "name", "names of {signs}, a letter or digit first, not {name}", told
                    )
        return self

    @model_validator(mode="after")
    def _is_of_a_kind(self) -> Self:
        if self.kind not in tasks.names():
            known = " or ".join(tasks.names())
            raise PydanticCustomError("kind", "a kind of sample: {known}", {"known": known})
        if tasks.find(self.kind).has_shape and "shape" not in self.model_fields_set:
            raise PydanticCustomError("missing", "a dataset of frames needs a shape")
        return self

    @property
    def samples(self) -> Task:
        """What its kind of sample needs of each stage."""
        return tasks.find(self.kind)
