"""Lock files: sizes and checksums of the raw files of a release (one version of a dataset).

`grade_evidence` grades the evidence that the locked files are the official ones. `stp fetch` writes
the lock of a release as soon as all of its raw files are present. A lock contains no absolute path,
so a copy of it below ``config/locks`` holds for all users (``stp fetch --lock-out``).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from stp.core.disk import safe_join
from stp.core.errors import StpError

CHECKSUMS, COUNTS, STATED = KNOWN_BY = ("checksums", "counts", "stated")
"""Kinds of evidence that files are those of their release, the strongest first. ``checksums``:
registered or published checksums of all files match. ``counts``: all published numbers of clips and
all declared sizes match. ``stated``: there is only the statement of the user."""
WEIGHTS = "weights"
"""Name used in place of a dataset's where the raw files are weights of a network."""
_SHOWN = 10


class Checksum(NamedTuple):
    """Size of a file in bytes, and its SHA-256 as hexadecimal digits."""

    bytes: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.bytes} bytes, sha256 {self.sha256}"


@dataclass(frozen=True)
class Lock:
    """The raw files of a release (one version of a dataset's files), as recorded in a lock file.

    Attributes:
        files: size and SHA-256 of each file, by its path relative to a raw folder.
        md5: MD5 of the decompressed content, by path; only of files for which the configuration
            declared an MD5 when the lock was written.
        incomplete: paths of missing files whose absence a user accepted.
    """

    files: Mapping[str, Checksum]
    md5: Mapping[str, str]
    incomplete: Sequence[str] = ()


def header_of(dataset: str, release: str, source: str) -> dict[str, str]:
    """Entries of a lock file that identify its release: ``dataset``, ``release`` and ``source``."""
    return {"dataset": dataset, "release": release, "source": source}


def require_below(names: Iterable[str], where: object, dataset: str) -> None:
    """Refuse names of raw files that lead out of the raw folder.

    Args:
        names: paths of the files, relative to the raw folder.
        where: file or object that contains these names, for the error.
        dataset: name of the files' dataset; or "weights" for weights of networks, which may have
            absolute paths.

    Raises:
        StpError: a name leads out of the folder.
    """
    for name in names:
        if not (dataset == WEIGHTS and name.startswith("/")):
            safe_join(Path(), name, where)


def matches(name: str, pattern: str) -> bool:
    """Whether the path of a raw file matches a pattern of paths.

    Args:
        name: path relative to the raw folder.
        pattern: pattern in which ``*`` stands for characters of one part of the path, and ``**/*``
            at the end for files at any depth.
    """
    parts, patterns = name.split("/"), pattern.split("/")
    if patterns[-2:] == ["**", "*"]:
        parts, patterns = parts[: len(patterns) - 1], [*patterns[:-2], "*"]
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def lock_text(
    header: Mapping[str, str],
    checksums: Mapping[str, Checksum],
    declared: Iterable[Mapping[str, Any]] = (),
    incomplete: Sequence[str] = (),
) -> str:
    """The JSON text of a lock file, which records checksums of raw files.

    Args:
        header: dataset, release and source, as returned by `header_of`.
        checksums: sizes and checksums of the files, by path.
        declared: entries of the files in the configuration; they must agree with the checksums.
        incomplete: paths of missing files whose absence a user accepted.
    """
    md5 = {
        entry["path"]: entry["md5_uncompressed"]
        for entry in declared
        if entry.get("md5_uncompressed")
    }
    files = {
        name: {"bytes": checksum.bytes, "sha256": checksum.sha256}
        | ({"md5_uncompressed": md5[name]} if name in md5 else {})
        for name, checksum in checksums.items()
    }
    more = {"incomplete": list(incomplete)} if incomplete else {}
    return json.dumps({**header, "files": files, **more}, indent=1, sort_keys=True) + "\n"


def read_lock(path: Path, header: Mapping[str, str]) -> Lock | None:
    """Read a lock file: sizes and checksums of the raw files of one version (release) of a dataset.

    Args:
        path: path of the file.
        header: expected dataset, release and source, as returned by `header_of`.

    Returns:
        the lock; None if the file does not exist.

    Raises:
        StpError: the file cannot be read, or is for another release.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = dict(content["files"])
        files = {name: Checksum(entry["bytes"], entry["sha256"]) for name, entry in entries.items()}
        md5s = ((name, entry.get("md5_uncompressed")) for name, entry in entries.items())
        md5 = {name: value for name, value in md5s if value}
        incomplete = tuple(map(str, content.get("incomplete", ())))
        require_below(files, path, content["dataset"])
        own_header = {key: content[key] for key in header}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StpError(
            f"the lock file {path} cannot be read ({error})",
            expected="the JSON text written by `stp fetch`",
            remedy="restore it from a copy of the store",
        ) from error
    if own_header != dict(header):
        raise StpError(
            f"the lock file {path} is for {own_header}",
            expected=f"{dict(header)}",
            remedy="give the changed release a new name",
        )
    return Lock(files, md5, incomplete)


def require_agreement(
    lock: Lock,
    path: Path,
    declared: Iterable[Mapping[str, Any]],
    registered: Lock | None = None,
) -> None:
    """Refuse a lock file that disagrees with the configuration.

    The configuration declares the files of a release (one version of a dataset), and may register
    its lock, a copy of the lock file below ``config/locks``. Both may have changed since the lock
    file was written.

    Args:
        lock: lock of the release.
        path: path of the lock file, for messages.
        declared: entries of the release's files in the configuration. An entry has ``path`` and
            optionally ``bytes``, ``sha256`` and ``md5_uncompressed``. If it has ``many: true``, its
            path is a pattern for many files, such as ``kth/*.avi`` (`matches`), and ``min_files``
            the minimum number of files that match it, 1 by default.
        registered: the registered lock of the release; None without one.

    Raises:
        StpError: the lock disagrees with an entry, or with the registered lock.
    """
    wrong = []
    for entry in declared:
        if entry.get("many"):
            need = entry.get("min_files", 1)
            number = sum(matches(name, entry["path"]) for name in lock.files)
            if number < need and not lock.incomplete:
                wrong.append((entry["path"], f"{number} files", f"at least {need} files"))
            continue
        name = entry["path"]
        if (locked := lock.files.get(name)) is None:
            continue  # missing files are reported where names are compared
        values = {**locked._asdict(), "md5_uncompressed": lock.md5.get(name)}
        for key, value in values.items():
            if value is not None and entry.get(key) not in (None, value):
                wrong.append((name, f"{key} {value}", f"{key} {entry[key]}"))
    for name in sorted(set(lock.files) | set(registered.files)) if registered else ():
        assert registered is not None
        own, other = lock.files.get(name), registered.files.get(name)
        if own != other and not (own is None and lock.incomplete):
            wrong.append((name, str(own or "absent"), str(other or "absent")))
    if wrong:
        more = f"\n  ... and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise StpError(
            f"the lock file {path} disagrees with what is declared or registered of its release:\n"
            + "\n".join(f"  {name}: {locked}, as locked" for name, locked, _ in wrong[:_SHOWN])
            + more,
            expected="\n".join(f"{name}: {right}" for name, _, right in wrong[:_SHOWN]),
            remedy="if the declaration is right, fetch the right files under a new name of a "
            "release; else correct the declaration",
        )


def grade_evidence(
    lock: Lock | None,
    declared: Iterable[Mapping[str, Any]],
    registered: Lock | None,
    published: Mapping[str, int],
    prepared: Mapping[str, int],
) -> str:
    """The kind of evidence that the locked files are the official ones.

    Args:
        lock: lock of the release; None without one.
        declared: entries of the release's files in the configuration, which agree with the lock
            (`require_agreement`).
        registered: the lock of the release below ``config/locks``, which agrees with ``lock``; None
            without one.
        published: published number of clips of the complete official release, by split.
        prepared: number of clips that were prepared from the locked files, by split.

    Returns:
        "checksums", if all files have official checksums; "counts", if the numbers of clips or the
        sizes of files are the official ones; else "stated".
    """
    if lock is None or lock.incomplete or not lock.files:
        return STATED
    entries = {entry["path"]: entry for entry in declared if not entry.get("many")}

    def has_checksum(name: str) -> bool:
        entry = entries.get(name, {})
        if entry.get("md5_uncompressed"):
            return bool(entry.get("sha256")) or name in lock.md5
        return bool(entry.get("sha256"))

    if registered is not None or all(map(has_checksum, lock.files)):
        return CHECKSUMS
    has_sizes = all(entries.get(name, {}).get("bytes") is not None for name in lock.files)
    if not published and not has_sizes:
        return STATED
    is_equal = all(prepared.get(split, 0) == number for split, number in published.items())
    return COUNTS if is_equal else STATED
