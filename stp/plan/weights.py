"""Weights of the networks that metrics need: which are declared, and which are present.

They are large and have licences of their own, so none comes with the project: a person fetches
them once (`stp list weights --fetch`) or names a folder that has them. Where they are absent, the
metrics that need them have no value, and tables say why.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from stp.core.errors import StpError
from stp.core.file_identity import KEYS, require
from stp.plan.checked_config import CONFIG_FOLDER, Strict, check, read_yaml

DECLARED = CONFIG_FOLDER / "weights.yaml"
FOLDER = Path("results/weights")
"""Where weights lie unless STP_WEIGHTS_DIR or paths.weights says otherwise."""


class PackagedFile(Strict):
    """A file in an archive of a package index, from which it can be taken without installing it.

    Attributes:
        package: what the index calls the package.
        archive: the archive's file name.
        member: path of the file in the archive, below its one folder.
        bytes: size of the archive.
        sha256: checksum of the archive.
    """

    package: str
    archive: str
    member: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class WeightFile(Strict):
    """One file that holds the weights of a network; one checksum at least identifies it.

    Attributes:
        file: its name below the folder of weights.
        url: where it can be downloaded.
        packaged: the archive on a package index that has it.
        bytes: its size.
        sha256: its checksum.
        git_blob_sha1: what ``git hash-object`` prints.
        origin: which I3D these weights are of; published values belong to one of them.
        note: whose weights these are.
    """

    file: str
    url: str | None = None
    packaged: PackagedFile | None = None
    bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    git_blob_sha1: str | None = Field(default=None, pattern="^[0-9a-f]{40}$")
    origin: Literal["tensorflow_hub", "kinetics_i3d"] | None = None
    note: str = ""

    @model_validator(mode="after")
    def _is_identified(self) -> "WeightFile":
        if not self.identity:
            raise ValueError("sha256 or git_blob_sha1 for every file")
        return self

    @property
    def identity(self) -> dict[str, str]:
        """Its checksums; what a recipe says of it."""
        return {key: value for key in KEYS if (value := getattr(self, key)) is not None}

    @property
    def is_fetched(self) -> bool:
        """Can it be downloaded, and its bytes compared?"""
        return bool(self.url or self.packaged) and self.sha256 is not None

    @property
    def source(self) -> str:
        """Where it is downloaded from."""
        if self.packaged is not None:
            return f"{self.packaged.archive} on pip's package index"
        return self.url or ""


class Network(Strict):
    """A network, and the files that may hold its weights: the first that is there is used.

    Attributes:
        title: what messages call it.
        licence: of its weights.
        files: any of which holds its weights; none where no checksum is known, and a person adds
            the file of their own.
        obtain: where these weights are to be had, and what the file is called; stated where there
            are no files.
    """

    title: str
    licence: str
    files: tuple[WeightFile, ...] = ()
    obtain: str = ""

    @model_validator(mode="after")
    def _is_to_be_had(self) -> "Network":
        if not self.files and not self.obtain:
            raise ValueError("at least one of files, or how to obtain some")
        return self


class State(NamedTuple):
    """The weights of one network on this machine.

    Attributes:
        state: "present" (its name is there), "verified" (its bytes were compared), "damaged" or
            "absent".
        file: the file that is used; None if there is none.
        detail: what is wrong, or how to get it.
        sha256: of its bytes, where these were read.
    """

    network: str
    state: str
    file: WeightFile | None
    detail: str = ""
    sha256: str = ""


def declared(path: Path = DECLARED) -> dict[str, Network]:
    """Read which weights are known, by the name of the network.

    Raises:
        StpError: the file is wrong.
    """
    content = read_yaml(path) or {}
    return {name: check(Network, value, f"{path}: {name}") for name, value in content.items()}


def present(folder: Path, networks: Mapping[str, Network]) -> dict[str, WeightFile]:
    """Find the files of the networks whose weights are present. Their bytes are not read."""
    found = {}
    for name, network in networks.items():
        there = [file for file in network.files if (folder / file.file).is_file()]
        if there:
            found[name] = there[0]
    return found


def how(folder: Path, network: Network) -> str:
    """Tell how to get the weights of a network."""
    if not network.files:
        return f"{network.obtain.strip()}; then declare it under `files` with its sha256"
    ways = [f"put {network.files[0].file} into {folder}"]
    if any(file.is_fetched for file in network.files):
        ways.insert(0, "`stp list weights --fetch`")
    ways += [f"or {file.file}" for file in network.files[1:]]
    return ", ".join([" or ".join(ways[:2]), *ways[2:]]) if len(ways) > 1 else ways[0]


def locate(folder: Path, name: str, networks: Mapping[str, Network]) -> tuple[Path, WeightFile]:
    """Find the weights of a network that is needed now.

    Raises:
        StpError: they are absent; says how to get them.
    """
    file = present(folder, networks).get(name)
    if file is None:
        network = networks[name]
        if not network.files:
            raise StpError(
                f"no file with weights of {network.title} is declared in {DECLARED}",
                remedy=how(folder, network),
            )
        names = " or ".join(one.file for one in network.files)
        sources = [one.source for one in network.files if one.is_fetched]
        raise StpError(
            f"the weights of {network.title} are not in {folder}",
            expected=f"one of the files {names}",
            remedy=f"`stp list weights --fetch {name}` downloads them"
            + (f" from {' or '.join(sources)}" if sources else "")
            + "; another folder: STP_WEIGHTS_DIR",
        )
    return folder / file.file, file


def states(folder: Path, networks: Mapping[str, Network], *, read: bool = False) -> list[State]:
    """Tell which weights are there.

    Args:
        read: compare their bytes with what is declared.
    """
    found, result = present(folder, networks), []
    for name, network in networks.items():
        file = found.get(name)
        if file is None:
            result.append(State(name, "absent", None, how(folder, network)))
        elif not read:
            result.append(State(name, "present", file, file.note))
        else:
            try:
                sha256 = require(folder / file.file, file.model_dump())["sha256"]
            except StpError as error:
                result.append(State(name, "damaged", file, str(error)))
            else:
                result.append(State(name, "verified", file, file.note, sha256))
    return result


def lines(states: Sequence[State], folder: Path, networks: Mapping[str, Network]) -> list[str]:
    """The table of `stp list weights`."""
    text = [f"weights in {folder}"]
    wide = max([11, *(len(one.network) for one in states)])
    for one in states:
        text.append(f"  {one.network:<{wide}} {one.state:<9} {networks[one.network].title}")
        if one.file is not None:
            sums = {"sha256": one.sha256} if one.sha256 else one.file.identity
            known = ", ".join(f"{key} {value}" for key, value in sums.items())
            text.append(f"  {'':<21} {one.file.file} ({known})")
        if one.detail:
            text += [f"  {'':<21} {line}" for line in one.detail.splitlines()]
    return text


def as_json(states: Iterable[State]) -> list[dict[str, Any]]:
    """The same for machines."""
    return [
        {**one._asdict(), "file": one.file.model_dump() if one.file else None} for one in states
    ]
