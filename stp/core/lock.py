"""Lock files: which bytes a release means, and how surely these are the official ones.

A lock is written when the raw files of a release are complete for the first time. It names no
folder of a machine, so that a copy of it, below ``config/locks``, registers the same bytes for
everybody (``stp fetch --lock-out``).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from stp.core.disk import below
from stp.core.errors import StpError

CHECKSUMS, COUNTS, STATED = KNOWN_BY = ("checksums", "counts", "stated")
"""How surely bytes are those of their release, most surely first. ``checksums``: registered or
published ones match, of every file. ``counts``: all published counts of clips and all declared
sizes match. ``stated``: a user put them there."""
WEIGHTS = "weights"
"""In place of a dataset: raw bytes are given weights, wherever the file lies."""
_SHOWN = 10


class Checksum(NamedTuple):
    """What identifies the bytes of a file: their number and their SHA-256 (hexadecimal)."""

    bytes: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.bytes} bytes, sha256 {self.sha256}"


@dataclass(frozen=True)
class Lock:
    """The raw bytes of a release.

    Attributes:
        files: size and SHA-256 of each file, by its path below a raw folder.
        md5: MD5 of the decompressed content, of files whose declaration had it when they were
            locked.
        incomplete: missing files of the release, if a user accepted that; else empty.
    """

    files: Mapping[str, Checksum]
    md5: Mapping[str, str]
    incomplete: Sequence[str] = ()


def header_of(dataset: str, release: str, source: str) -> dict[str, str]:
    """What a lock file says of the release that it is for."""
    return {"dataset": dataset, "release": release, "source": source}


def require_below(names: Iterable[str], where: object, dataset: str) -> None:
    """Refuse names of raw files that lead out of the raw folder.

    Args:
        names: of the files.
        where: what has them, for the error.
        dataset: whose they are; given weights lie where a person says.

    Raises:
        StpError: naming the first.
    """
    for name in names:
        if not (dataset == WEIGHTS and name.startswith("/")):
            below(Path(), name, where)


def matches(name: str, pattern: str) -> bool:
    """Does a path match a pattern of a release (``*`` within a folder, ``**/*`` at its end)?"""
    parts, patterns = name.split("/"), pattern.split("/")
    if patterns[-2:] == ["**", "*"]:
        parts, patterns = parts[: len(patterns) - 1], [*patterns[:-2], "*"]
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def lock_text(
    header: Mapping[str, str],
    found: Mapping[str, Checksum],
    declared: Iterable[Mapping[str, Any]] = (),
    incomplete: Sequence[str] = (),
) -> str:
    """The text of a lock file.

    Args:
        header: dataset, release and source.
        found: the files.
        declared: their entries, which they agree with.
        incomplete: what is missing.
    """
    md5 = {one["path"]: one["md5_uncompressed"] for one in declared if one.get("md5_uncompressed")}
    files = {
        name: {"bytes": sum_.bytes, "sha256": sum_.sha256}
        | ({"md5_uncompressed": md5[name]} if name in md5 else {})
        for name, sum_ in found.items()
    }
    more = {"incomplete": list(incomplete)} if incomplete else {}
    return json.dumps({**header, "files": files, **more}, indent=1, sort_keys=True) + "\n"


def read_lock(path: Path, header: Mapping[str, str]) -> Lock | None:
    """Read a lock file; None if there is none.

    Args:
        path: the file.
        header: dataset, release and source that it has to be for.

    Raises:
        StpError: it cannot be read, or is for another release.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = dict(content["files"])
        files = {name: Checksum(one["bytes"], one["sha256"]) for name, one in entries.items()}
        md5s = ((name, one.get("md5_uncompressed")) for name, one in entries.items())
        md5 = {name: value for name, value in md5s if value}
        incomplete = tuple(str(what) for what in content.get("incomplete", ()))
        require_below(files, path, content["dataset"])
        found_header = {key: content[key] for key in header}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StpError(
            f"the lock file {path} cannot be read ({error})",
            expected="the JSON text written by `stp fetch`",
            remedy="restore it from a copy of the store",
        ) from error
    if found_header != dict(header):
        raise StpError(
            f"the lock file {path} is for {found_header}",
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
    """Refuse a lock whose bytes are not those that were declared or registered since.

    Args:
        lock: of the release.
        path: its file, for messages.
        declared: entries of the release's files: ``path``, and perhaps ``bytes``, ``sha256``,
            ``md5_uncompressed``, ``many`` and ``min_files``.
        registered: a lock that was registered for this release.

    Raises:
        StpError: they disagree.
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
        if (found := lock.files.get(name)) is None:
            continue  # said where the names are compared
        md5 = lock.md5.get(name)
        for key, has in (
            ("bytes", found.bytes), ("sha256", found.sha256), ("md5_uncompressed", md5)
        ):  # fmt: skip
            if has is not None and entry.get(key) not in (None, has):
                wrong.append((name, f"{key} {has}", f"{key} {entry[key]}"))
    for name in sorted(set(lock.files) | set(registered.files)) if registered else ():
        assert registered is not None
        ours, theirs = lock.files.get(name), registered.files.get(name)
        if ours != theirs and not (ours is None and lock.incomplete):
            wrong.append((name, str(ours or "absent"), str(theirs or "absent")))
    if wrong:
        more = f"\n  ... and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise StpError(
            f"the lock file {path} and what is declared or registered of its release disagree:\n"
            + "\n".join(f"  {name}: {has}, as locked" for name, has, _ in wrong[:_SHOWN])
            + more,
            expected="\n".join(f"{name}: {wanted}" for name, _, wanted in wrong[:_SHOWN]),
            remedy="if the declaration is right, fetch the right bytes under a new name of a "
            "release: what was made from the others stays theirs; else correct the declaration",
        )


def known_by(
    lock: Lock | None,
    declared: Iterable[Mapping[str, Any]],
    registered: Lock | None,
    published: Mapping[str, int],
    prepared: Mapping[str, int],
) -> str:
    """How surely the bytes of a lock are the official ones; one of ``KNOWN_BY``.

    Args:
        lock: of the release; None where there is none.
        declared: entries of the release's files. They agree with the lock, see
            `require_agreement`.
        registered: a lock that was registered for this release; agrees as well.
        published: clips of each split that the complete official release has.
        prepared: clips of each split that were prepared from these files.
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
    same = all(prepared.get(split, 0) == number for split, number in published.items())
    return COUNTS if same else STATED
