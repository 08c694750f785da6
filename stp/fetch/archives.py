"""Find, download and unpack the archives (tar, zip) in which raw files are published."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stp.core.job import Report, report_nothing
from stp.core.lock import Lock, matches
from stp.data.known_checksums import KnownChecksums
from stp.fetch.archive import UNPACKED, is_unpacked, unpack
from stp.fetch.checksum import verify_checksum
from stp.fetch.download import DownloadSettings
from stp.fetch.instructions import Missing
from stp.fetch.meter import TransferMeter
from stp.fetch.parallel import FileToFetch, download_all


def find(name: str, roots: Iterable[Path]) -> Path | None:
    """Find a file in the first folder that has it; None if no folder has it.

    Args:
        name: path relative to the folders.
        roots: folders, in the order of the search.
    """
    return next((root / name for root in roots if (root / name).is_file()), None)


@dataclass(frozen=True)
class Archive:
    """An archive (zip or tar) of raw files of a dataset's release.

    Attributes:
        declared: its entry in the configuration of the dataset, with ``path``, ``url`` and so on.
        path: where it lies; None if it is missing.
        unpacked: whether all files that were unpacked from it exist, so that it is not needed.
    """

    declared: Mapping[str, Any]
    path: Path | None
    unpacked: bool

    @property
    def missing(self) -> Missing:
        """The archive as an entry of an error that lists what has to be fetched."""
        size = self.declared.get("bytes")
        return Missing(self.declared["path"], f"{size} bytes" if size else "", self.declared)

    @property
    def is_open(self) -> bool:
        """Whether the archive can be downloaded without an account or a manual step."""
        return self.declared.get("access", "open") == "open" and bool(self.declared.get("url"))

    @property
    def into(self) -> str:
        """The folder, relative to the raw folder, into which the archive is unpacked."""
        into = self.declared.get("into")
        name = self.declared["path"]
        return str(name.rpartition("/")[0] if into is None else into.strip("/"))

    def may_hold(self, missing: Iterable[Missing]) -> bool:
        """Whether some missing files belong below the folder into which the archive is unpacked."""
        return any(not self.into or file.path.startswith(self.into + "/") for file in missing)


class Archives:
    """The archives of a release (one version of raw files), and what was unpacked from them.

    Args:
        release: declaration of the release, with ``archives`` and ``files``.
        roots: raw folders in order of preference; only the first one is written to.
        locked: lock file (names and checksums of all files of the release); only its files are
            unpacked. None to unpack all declared files.
        checksums: record of the checksums of files when they were last read. An archive that has
            not changed since is verified by its recorded checksum, without being read. None to read
            each archive that is verified.
        report: callback for the progress.
    """

    def __init__(
        self,
        release: Mapping[str, Any],
        roots: Sequence[Path],
        locked: Lock | None,
        checksums: KnownChecksums | None = None,
        report: Report = report_nothing,
    ) -> None:
        self.declared: Sequence[Mapping[str, Any]] = release.get("archives", ())
        self.files: Sequence[Mapping[str, Any]] = release.get("files", ())
        self.roots, self.locked, self.checksums, self.report = roots, locked, checksums, report
        self.find = partial(find, roots=roots)

    def all(self) -> list[Archive]:
        """All declared archives of the release, with their current paths."""
        return [
            Archive(entry, self.find(entry["path"]), is_unpacked(self._listing(entry), self.find))
            for entry in self.declared
        ]

    def absent(self) -> list[Archive]:
        """Find the archives of the release that are neither present nor unpacked."""
        return [archive for archive in self.all() if archive.path is None and not archive.unpacked]

    def can_be_downloaded(self, missing: Iterable[Missing]) -> bool:
        """Whether downloads alone can give all missing files.

        A file may come from an absent archive if it belongs below the folder into which that
        archive would be unpacked (`Archive.into`). Each missing file needs at least one such
        archive, and all of them must be downloadable without an account or a manual step.

        Args:
            missing: the missing files.
        """
        absent = self.absent()
        return all(
            any(archive.may_hold([file]) for archive in absent)
            and all(archive.is_open for archive in absent if archive.may_hold([file]))
            for file in missing
        )

    def download(self, settings: DownloadSettings) -> None:
        """Download all absent archives that need neither an account nor a manual step.

        Args:
            settings: limits and settings of downloads, such as the number of attempts.

        Raises:
            StpError: some archives could not be downloaded.
        """
        files = [
            FileToFetch(entry["path"], self.roots[0] / entry["path"], entry)
            for entry in (archive.declared for archive in self.absent() if archive.is_open)
        ]
        download_all(files, settings, self.report, self.checksums)

    def unpack_found(self) -> None:
        """Unpack all present archives that are not unpacked.

        Raises:
            StpError: an archive differs from its declaration, is damaged or has no wanted file.
        """
        for archive in self.all():
            if archive.path is None or archive.unpacked:
                continue
            size, declared = archive.path.stat().st_size, archive.declared
            if declared.get("sha256") or declared.get("bytes") not in (None, size):
                reading = TransferMeter(f"verify {archive.path.name}", {"": size}, self.report)
                verify_checksum(archive.path, declared, self.checksums, reading.advance)
            unpacking = TransferMeter(f"unpack {archive.path.name}", {"": size}, self.report)
            unpack(
                archive.path,
                self.roots[0],
                archive.into,
                listing=self._listing(declared),
                wanted=self._wants,
                find=self.find,
                strip=declared.get("strip", 0),
                advance=unpacking.advance,
            )

    def _wants(self, name: str) -> bool:
        if self.locked is not None:
            return name in self.locked.files
        return any(
            matches(name, entry["path"]) if entry.get("many") else name == entry["path"]
            for entry in self.files
        )

    def _listing(self, declared: Mapping[str, Any]) -> Path:
        return self.roots[0] / (declared["path"] + UNPACKED)
