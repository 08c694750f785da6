"""Find, download or generate the raw files of a release, verify them and record them in a lock.

A release is one declared version of a dataset's raw bytes (``config/datasets/<name>.yaml``). Its
files have the same relative paths below every raw root: the user's raw folder, a mirror, or the
folder of a generated release. The lock file, written when a release is complete for the first
time, holds size and SHA-256 of each file; from then on, other bytes under the same release name
are refused.
"""

import importlib
import json
import os
import pkgutil
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import stp.fetch.generators
from stp.disk import write_text_once, writing
from stp.errors import StpError, nearest
from stp.fetch.checksum import Checksum, checksum, md5_uncompressed
from stp.fetch.download import discard_part, download, finish_part, open_part, part_path
from stp.job import Report, silent

Release = Mapping[str, Any]
"""``{"source", "files": [...]}`` or ``{"source", "generator", "options"}``; see ``fetch``."""


class FileState(NamedTuple):
    """What ``check`` says about one file; ``state`` is "present", "missing" or "damaged"."""

    path: str
    state: str
    detail: str


@dataclass(frozen=True)
class _File:
    """One file of a release: its declaration and where it was found (None: nowhere)."""

    name: str
    declared: Mapping[str, Any]
    path: Path | None

    @property
    def downloadable(self) -> bool:
        is_open = self.declared.get("access", "open") == "open"
        return is_open and bool(self.declared.get("url")) and not self.declared.get("many")


def fetch(
    release: Release,
    *,
    dataset: str,
    name: str,
    roots: Sequence[Path],
    lock: Path,
    report: Report = silent,
) -> None:
    """Make the raw files of a release available and verified, and write its lock file.

    Each file is taken from the first of ``roots`` that has it (in place, never copied), else
    downloaded into the first root. Files that need a registration or a manual step end in one
    error that lists all of them; nothing is downloaded before that is clear. A generated release
    is generated instead, into the first root, unless that exists.

    Args:
        release: ``source``, and either ``files`` or ``generator`` with ``options``. An entry of
            ``files`` has ``path``, and optionally ``url``, ``bytes``, ``sha256``,
            ``md5_uncompressed`` (of the content of a gzip file), ``licence``, ``access``
            ("open", "registration" or "manual") and ``instructions``. With ``many: true`` its
            ``path`` is a pattern (``*`` within one folder; ``**/*`` at its end for whatever lies
            below, as in a Zarr store) and stands for all files that match, at least ``min_files``;
            once there is a lock, for those that are in the lock.
        dataset: name of the dataset, for messages and the lock.
        name: name of the release.
        roots: folders of the same layout in order of preference: the user's raw folder, the only
            one that is written to, and perhaps a mirror. A generated release has one root, its
            own, so that generated files never stand in for official ones.
        lock: the lock file; written if it is not there, else every file has to agree with it.
        report: progress.

    Raises:
        StpError: no files are declared, files are missing, differ from their declaration or from
            the lock, or cannot be downloaded or written.
    """
    _require_content(release, dataset, name)
    header = {"dataset": dataset, "release": name, "source": release["source"]}
    title = f"{dataset} (release {name})"
    locked = _read_lock(lock, header)
    if release.get("generator") and not roots[0].exists():
        run_generator(release["generator"], release.get("options", {}), roots[0], report)

    files, shortfalls = _resolve(release, roots, locked)
    unobtainable = [file for file in files if file.path is None and not file.downloadable]
    if unobtainable or shortfalls:
        raise _missing(
            title, unobtainable, shortfalls, roots[0], generated=bool(release.get("generator"))
        )
    if locked is not None and {file.name for file in files} != set(locked):
        raise StpError(
            f"the files declared for {title} are not those of its lock file {lock}: "
            f"{', '.join(sorted({file.name for file in files} ^ set(locked)))}",
            expected="the same files as when the release was locked",
            remedy="declare the changed list of files as a new release",
        )

    found: dict[str, Checksum] = {}
    for file in files:
        if file.path is None:
            # hashed before it gets its name; not hashed again below
            expected = {**file.declared, **(locked[file.name]._asdict() if locked else {})}
            found[file.name] = _download(expected, roots[0] / file.name, report)
    paths = {file.name: file.path for file in files if file.path is not None}
    total, done = sum(path.stat().st_size for path in paths.values()), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report(f"verify {dataset}", done, total)

    for file in files:
        if file.path is not None:
            found[file.name] = checksum(file.path, advance)
            _require_declared(file.path, found[file.name], file.declared)
    if locked is not None:
        _require_locked(found, locked, files, roots[0], lock)
    else:
        text = _lock_text(header, found)
        if not write_text_once(lock, text):  # another process locked the release meanwhile
            _require_locked(found, _read_lock(lock, header) or {}, files, roots[0], lock)


def check(
    release: Release,
    *,
    dataset: str,
    name: str,
    roots: Sequence[Path],
    lock: Path,
    report: Report = silent,
) -> list[FileState]:
    """The state of every raw file of a release, without downloading, generating or writing.

    Arguments as for ``fetch``. All bytes are read.

    Raises:
        StpError: no files are declared; the lock file is damaged or belongs to another release.
    """
    _require_content(release, dataset, name)
    header = {"dataset": dataset, "release": name, "source": release["source"]}
    locked = _read_lock(lock, header)
    if release.get("generator") and not roots[0].exists():
        how = f"will be generated by {release['generator']}"
        return [FileState(roots[0].as_posix(), "missing", how)]
    files, shortfalls = _resolve(release, roots, locked)
    states = [FileState(pattern, "missing", detail) for pattern, detail in shortfalls]
    for file in files:
        if file.path is None:
            how = f"will be downloaded from {file.declared['url']}" if file.downloadable else ""
            how = how or file.declared.get("instructions") or f"put it at {roots[0] / file.name}"
            states.append(FileState(file.name, "missing", how))
            continue
        try:
            found = checksum(file.path, lambda count: None)
            report(f"check {dataset}", len(states) + 1, len(files))
            _require_declared(file.path, found, file.declared)
        except StpError as problem:
            states.append(FileState(file.name, "damaged", str(problem).replace("\n", "; ")))
            continue
        if locked is not None and locked.get(file.name, found) != found:
            detail = f"{file.path}: {found}; the lock file has {locked[file.name]}"
            states.append(FileState(file.name, "damaged", detail))
        else:
            states.append(FileState(file.name, "present", file.path.as_posix()))
    declared = {file.name for file in files}
    states += [
        FileState(name, "missing", "in the lock file, but no longer declared")
        for name in sorted(set(locked or ()) - declared)
    ]
    return states


def run_generator(
    generator: str, options: Mapping[str, Any], out: Path, report: Report = silent
) -> None:
    """Generate a stand-in for a dataset below ``out``, a new raw root.

    ``stp.fetch.generators.<generator>.generate(folder, options, report)`` writes into a folder
    beside ``out``, which gets its name when everything is there. If another process was faster,
    its equal files are kept.

    Raises:
        StpError: no such generator, wrong options, or the disk refuses.
    """
    known = sorted(module.name for module in pkgutil.iter_modules(stp.fetch.generators.__path__))
    if generator not in known:
        raise StpError(
            f"there is no generator {generator!r}",
            expected=f"one of {', '.join(known)}",
            remedy=nearest(generator, known),
        )
    module = importlib.import_module(f"stp.fetch.generators.{generator}")
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with writing(out):
            shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
            unfinished.mkdir(parents=True)
            module.generate(unfinished, dict(options), report)
            try:
                unfinished.rename(out)
            except OSError:
                if not out.is_dir():
                    raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _require_content(release: Release, dataset: str, name: str) -> None:
    if not release.get("generator") and not release.get("files"):
        raise StpError(
            f"no raw files are declared for {dataset} (release {name})",
            expected="files or a generator in the configuration of the dataset",
            remedy="add them to the release, or choose another release",
        )


def _resolve(
    release: Release, roots: Sequence[Path], locked: Mapping[str, Checksum] | None
) -> tuple[list[_File], list[tuple[str, str]]]:
    """All files of a release, found or not, and (pattern, detail) where a pattern has too few."""
    if release.get("generator"):
        made = (p.relative_to(roots[0]).as_posix() for p in roots[0].rglob("*") if p.is_file())
        names = sorted(made if locked is None else locked)
        return [_File(name, {}, _find(name, roots)) for name in names], []
    files: dict[str, _File] = {}
    shortfalls = []
    for entry in release["files"]:
        if not entry.get("many"):
            names = [entry["path"]]
        elif locked is not None:
            names = [name for name in locked if _matches(name, entry["path"])]
        else:
            names = sorted(_glob(entry["path"], roots))
        need = entry.get("min_files", 1)
        if entry.get("many") and len(names) < need:
            detail = f"{len(names)} files found, at least {need} needed"
            if entry.get("instructions"):
                detail += f": {entry['instructions']}"
            shortfalls.append((entry["path"], detail))
        for name in names:
            # a file that is declared by name keeps that declaration when a pattern matches it too
            if name not in files or not entry.get("many"):
                files[name] = _File(name, entry, _find(name, roots))
    return [files[name] for name in sorted(files)], shortfalls


def _find(name: str, roots: Iterable[Path]) -> Path | None:
    return next((root / name for root in roots if (root / name).is_file()), None)


def _glob(pattern: str, roots: Iterable[Path]) -> set[str]:
    return {
        path.relative_to(root).as_posix()
        for root in roots
        for path in root.glob(pattern)
        if path.is_file() and not path.name.endswith((".part", ".part.version"))
    }


def _matches(name: str, pattern: str) -> bool:
    parts, patterns = PurePosixPath(name).parts, PurePosixPath(pattern).parts
    if patterns[-2:] == ("**", "*"):
        parts, patterns = parts[: len(patterns) - 1], (*patterns[:-2], "*")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _missing(
    title: str,
    files: list[_File],
    shortfalls: list[tuple[str, str]],
    root: Path,
    *,
    generated: bool,
) -> StpError:
    """The one error that says which files are needed, where they go and how to get them."""
    if generated:
        names = ", ".join(file.name for file in files)
        return StpError(
            f"files of {title} were removed after it was generated: {names}",
            expected=f"all its files below {root}",
            remedy=f"remove the folder {root}; it will be generated again",
        )
    lines, how = [], []
    for file in files:
        size = file.declared.get("bytes")
        lines.append(f"  {root / file.name}" + (f" ({size} bytes)" if size else ""))
        access = file.declared.get("access", "open")
        text = file.declared.get("instructions") or {
            "registration": f"register with the publisher ({file.declared.get('url', 'no URL')})",
        }.get(access, "no URL is declared: get it from the publisher")
        if text not in how:
            how.append(text)
    lines += [f"  {root / pattern} ({detail})" for pattern, detail in shortfalls]
    return StpError(
        f"{len(lines)} raw file(s) of {title} are missing and cannot be downloaded automatically",
        expected="files at exactly these paths:\n" + "\n".join(lines),
        remedy="\n".join([*how, "put the files at the paths above and run the same command again"]),
    )


def _download(declared: Mapping[str, Any], target: Path, report: Report) -> Checksum:
    """Download a file to ``target``, verify it against its declaration, return its checksum."""
    with open_part(target) as part:
        if target.is_file():  # another process finished it while we waited for the lock
            part_path(target).unlink(missing_ok=True)
            found = checksum(target)
            _require_declared(target, found, declared)
            return found
        download(
            declared["url"],
            target,
            part,
            size=declared.get("bytes"),
            checked=bool(declared.get("sha256") or declared.get("md5_uncompressed")),
            report=report,
        )
        found = checksum(part_path(target))
        try:
            _require_declared(part_path(target), found, declared, url=declared["url"])
        except StpError:
            discard_part(target)  # resuming it could never help
            raise
        finish_part(target)
        return found


def _require_declared(
    path: Path, found: Checksum, declared: Mapping[str, Any], *, url: str = ""
) -> None:
    """Refuse bytes that are not the expected ones, and gzip files that cannot be decompressed."""
    said = f"the bytes of {path}" + (f" from {url}" if url else "")
    remedy = "remove the file so that it is fetched again, or restore it from its publisher"
    if url:
        remedy = "try again later, or look for another source of the declared version"
    for key, value in (("bytes", found.bytes), ("sha256", found.sha256)):
        if declared.get(key) not in (None, value):
            raise StpError(
                f"{said} are not the expected ones: {key} is {value}",
                expected=f"{key} {declared[key]}",
                remedy=remedy,
            )
    name = path.name.removesuffix(".part")
    if name.endswith(".gz") or declared.get("md5_uncompressed"):
        content = md5_uncompressed(path)
        if declared.get("md5_uncompressed") not in (None, content):
            raise StpError(
                f"{said} are not the expected ones: the MD5 of its decompressed content is "
                f"{content}",
                expected=f"MD5 {declared['md5_uncompressed']}",
                remedy=remedy,
            )


def _require_locked(
    found: Mapping[str, Checksum],
    locked: Mapping[str, Checksum],
    files: Iterable[_File],
    root: Path,
    lock: Path,
) -> None:
    where = {file.name: file.path or root / file.name for file in files}
    wrong = [name for name in sorted(found) if found[name] != locked.get(name)]
    if wrong:
        raise StpError(
            f"raw bytes that differ from the lock file {lock}:\n"
            + "\n".join(f"  {where[name]}: {found[name]}" for name in wrong),
            expected="\n".join(f"{name}: {locked.get(name, 'not in the lock')}" for name in wrong),
            remedy="restore the original files, or declare the new bytes as a new release",
        )


def _lock_text(header: Mapping[str, str], found: Mapping[str, Checksum]) -> str:
    files = {name: {"bytes": sum_.bytes, "sha256": sum_.sha256} for name, sum_ in found.items()}
    return json.dumps({**header, "files": files}, indent=1, sort_keys=True) + "\n"


def _read_lock(lock: Path, header: Mapping[str, str]) -> dict[str, Checksum] | None:
    """The checksums of a lock file; None if there is no lock file."""
    try:
        content = json.loads(lock.read_text(encoding="utf-8"))
        files = {k: Checksum(v["bytes"], v["sha256"]) for k, v in content["files"].items()}
        locked_header = {key: content[key] for key in header}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StpError(
            f"the lock file {lock} cannot be read ({error})",
            expected="the JSON text written by `stp fetch`",
            remedy="restore it from a copy of the store",
        ) from error
    if locked_header != dict(header):
        raise StpError(
            f"the lock file {lock} is for {locked_header}",
            expected=f"{dict(header)}",
            remedy="give the changed release a new name",
        )
    return files
