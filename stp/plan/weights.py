"""Weights of the networks of metrics: which are declared, and which are on this machine.

Weights are large and have licences of their own, so the project contains none: they are fetched
once (`stp list weights --fetch`), or users set the folder of their copies (STP_WEIGHTS_DIR). A
metric whose weights are missing has no value, and tables state the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from stp.core.errors import StpError
from stp.core.file_identity import KEYS, require
from stp.core.json_files import Json
from stp.plan.checked_config import CONFIG_FOLDER, Strict, check, read_yaml

DECLARED = CONFIG_FOLDER / "weights.yaml"
FOLDER = Path("results/weights")
"""Default folder of weights, used unless STP_WEIGHTS_DIR or paths.weights is set."""


class PackagedFile(Strict):
    """A file in an archive of a package index, extracted without installing the package.

    Attributes:
        package: name of the package in the index.
        archive: file name of the archive.
        member: path of the file in the archive, below its only folder.
        bytes: size of the archive.
        sha256: checksum of the archive.
    """

    package: str
    archive: str
    member: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class WeightFile(Strict):
    """A file with the weights of a network, identified by at least one checksum.

    Attributes:
        file: path below the folder of weights.
        url: address of the download.
        packaged: archive on a package index that contains the file.
        bytes: size of the file in bytes.
        sha256: checksum of the file.
        git_blob_sha1: checksum of ``git hash-object``.
        origin: name of the variant of I3D, since published values hold for one variant only.
        note: source of the weights.
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
        """Checksums that identify the file in recipes: kind of checksum to hexadecimal digits."""
        return {key: value for key in KEYS if (value := getattr(self, key)) is not None}

    @property
    def is_fetched(self) -> bool:
        """Whether `stp list weights --fetch` can download the file and verify its SHA-256.

        It says nothing about whether the file has been downloaded.
        """
        return bool(self.url or self.packaged) and self.sha256 is not None

    @property
    def source(self) -> str:
        """Source of the download in words; empty without one."""
        if self.packaged is not None:
            return f"{self.packaged.archive} on pip's package index"
        return self.url or ""


class Network(Strict):
    """A network, and the files that can provide its weights; the first file present is used.

    Attributes:
        title: name in messages.
        licence: licence of its weights.
        files: alternative files with the weights; empty if no checksum is known, so that users have
            to declare their own file.
        obtain: source and file name of the weights, if `files` is empty.
    """

    title: str
    licence: str
    files: tuple[WeightFile, ...] = ()
    obtain: str = ""

    @model_validator(mode="after")
    def _is_obtainable(self) -> "Network":
        if not self.files and not self.obtain:
            raise ValueError("files, or a source under obtain")
        return self


class State(NamedTuple):
    """Whether and where the weights of one network are on this machine.

    Attributes:
        network: name of the network.
        state: "present" (a file with a declared name exists), "verified" (its checksum is right
            too), "damaged" or "absent".
        file: declaration of the file in use; None if no file is present.
        detail: the problem, or how to get the file.
        sha256: SHA-256 of the file, if it was read.
    """

    network: str
    state: str
    file: WeightFile | None
    detail: str = ""
    sha256: str = ""


def read_declared_weights(path: Path = DECLARED) -> dict[str, Network]:
    """Read the declared weights, by the name of the network.

    Raises:
        ConfigurationError: the file is wrong.
    """
    content = read_yaml(path) or {}
    return {name: check(Network, value, f"{path}: {name}") for name, value in content.items()}


def present(folder: Path, networks: Mapping[str, Network]) -> dict[str, WeightFile]:
    """Find the first declared file of each network that exists in the folder, without reading it.

    Args:
        folder: folder of weights.
        networks: declared networks, by name.
    """
    files = {}
    for name, network in networks.items():
        existing = [file for file in network.files if (folder / file.file).is_file()]
        if existing:
            files[name] = existing[0]
    return files


def how_to_obtain(folder: Path, network: Network) -> str:
    """Explain how to get the weights of a network, as the remedy of an error."""
    if not network.files:
        return f"{network.obtain.strip()}; then declare it under `files` with its sha256"
    ways = [f"put {network.files[0].file} into {folder}"]
    if any(file.is_fetched for file in network.files):
        ways.insert(0, "`stp list weights --fetch`")
    ways += [f"or {file.file}" for file in network.files[1:]]
    return ", ".join([" or ".join(ways[:2]), *ways[2:]]) if len(ways) > 1 else ways[0]


def locate(folder: Path, name: str, networks: Mapping[str, Network]) -> tuple[Path, WeightFile]:
    """Find the path and the declaration of a network's weights.

    Args:
        folder: folder of weights.
        name: name of the network in config/weights.yaml, such as ``i3d``.
        networks: declared networks, by name (`read_declared_weights`).

    Raises:
        StpError: the weights are absent; the remedy says how to get them.
    """
    file = present(folder, networks).get(name)
    if file is None:
        network = networks[name]
        if not network.files:
            raise StpError(
                f"no file with weights of {network.title} is declared in {DECLARED}",
                remedy=how_to_obtain(folder, network),
            )
        names = " or ".join(candidate.file for candidate in network.files)
        sources = [candidate.source for candidate in network.files if candidate.is_fetched]
        raise StpError(
            f"the weights of {network.title} are not in {folder}",
            expected=f"one of the files {names}",
            remedy=f"`stp list weights --fetch {name}` downloads them"
            + (f" from {' or '.join(sources)}" if sources else "")
            + "; another folder: STP_WEIGHTS_DIR",
        )
    return folder / file.file, file


def states(folder: Path, networks: Mapping[str, Network], *, read: bool = False) -> list[State]:
    """Find out which networks have weights on this machine.

    Args:
        folder: folder of weights.
        networks: declared networks, by name.
        read: whether files are read and their checksums verified.
    """
    files, result = present(folder, networks), []
    for name, network in networks.items():
        file = files.get(name)
        if file is None:
            result.append(State(name, "absent", None, how_to_obtain(folder, network)))
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
    """Format the table of `stp list weights`: state, file and checksums of each network's weights.

    Args:
        states: state of the weights of each network.
        folder: folder of the weights.
        networks: declared networks, by name.
    """
    text = [f"weights in {folder}"]
    width = max([11, *(len(state.network) for state in states)])
    for state in states:
        text.append(f"  {state.network:<{width}} {state.state:<9} {networks[state.network].title}")
        if state.file is not None:
            sums = {"sha256": state.sha256} if state.sha256 else state.file.identity
            checksums = ", ".join(f"{key} {value}" for key, value in sums.items())
            text.append(f"  {'':<21} {state.file.file} ({checksums})")
        if state.detail:
            text += [f"  {'':<21} {line}" for line in state.detail.splitlines()]
    return text


def as_json(states: Iterable[State]) -> list[Json]:
    """Convert the states of networks' weights to the JSON output of `stp list weights`."""
    return [
        {**state._asdict(), "file": state.file.model_dump() if state.file else None}
        for state in states
    ]
