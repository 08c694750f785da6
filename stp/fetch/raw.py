"""Find, download or generate the raw files of a release, verify them and record them in a lock.

A release is one declared version of a dataset's raw files (``config/datasets/<name>.yaml``). Its
files have the same relative paths below every raw root: the user's raw folder, a mirror, or the
folder of a generated release. The lock file, written when a release is complete for the first time,
contains size and SHA-256 of each file; later, files that differ from the lock file are refused.
"""

import importlib
import os
import shutil
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from stp.core import named_modules
from stp.core.disk import is_hidden, require_regular, write_text_once, writing
from stp.core.errors import StpError, suggest_name
from stp.core.job import Report, report_nothing
from stp.core.lock import (
    Lock,
    header_of,
    lock_text,
    matches,
    read_lock,
    require_agreement,
    require_below,
)
from stp.data.known_checksums import KnownChecksums
from stp.fetch.archive import UNPACKED
from stp.fetch.archives import Archives, find
from stp.fetch.checksum import Checksum, in_threads, verify_checksum
from stp.fetch.download import DownloadSettings
from stp.fetch.instructions import Missing, abbreviate_names, missing_error, removed_error
from stp.fetch.meter import TransferMeter
from stp.fetch.parallel import FileToFetch, download_all
from stp.fetch.table import FileState

Release = Mapping[str, Any]
"""One version of a dataset's raw files as its configuration declares it: ``{"source": "official",
"files": [...]}``; `stp.plan.dataset.Release` describes all keys."""
OWN = (".part", ".part.version", UNPACKED)
"""Suffixes of files that stp writes beside raw files."""
_SHOWN = 10
Watch = Callable[[Callable[[], Any]], Any]
"""Function that calls its argument, a function without arguments, and returns the result.

It may fail if the called function reads a file that the configuration does not declare."""


def run_unwatched(work: Callable[[], Any]) -> Any:
    """Call a function without watching which files it reads, and return its result.

    This is the default of the argument ``watch`` of `fetch`. A run passes another function
    (`stp.run.read_audit.ReadAudit.watch`), which fails if a generator reads a file that the
    configuration of the release does not declare.

    Args:
        work: function without arguments.
    """
    return work()


@dataclass(frozen=True)
class _File:
    """A file of a release: its declaration and its path (None if it is missing)."""

    name: str
    declared: Mapping[str, Any]
    path: Path | None

    @property
    def downloadable(self) -> bool:
        is_open = self.declared.get("access", "open") == "open"
        return is_open and bool(self.declared.get("url")) and not self.declared.get("many")

    @property
    def missing(self) -> Missing:
        size = self.declared.get("bytes")
        return Missing(self.name, f"{size} bytes" if size else "", self.declared)


@dataclass(frozen=True)
class _ReleaseFiles:
    """The files of a release.

    Attributes:
        files: present and missing files, sorted by name.
        shortfalls: patterns that too few files match.
    """

    files: list[_File]
    shortfalls: list[Missing]

    @property
    def unobtainable(self) -> list[Missing]:
        """Missing files and patterns that cannot be downloaded as files."""
        gone = [file for file in self.files if file.path is None and not file.downloadable]
        return [*(file.missing for file in gone), *self.shortfalls]

    def obtainable(self, title: str) -> "_ReleaseFiles":
        """All files except the unobtainable ones.

        Raises:
            StpError: no file is left.
        """
        files = [file for file in self.files if file.path is not None or file.downloadable]
        if not files:
            raise StpError(
                f"there is no raw file of {title}",
                expected="some of its files, where an incomplete release is accepted",
                remedy="leave out --accept-incomplete: the error says how to get them",
            )
        return _ReleaseFiles(files, [])


def fetch(
    release: Release,
    *,
    dataset: str,
    name: str,
    roots: Sequence[Path],
    lock: Path,
    beside: Sequence[Path] = (),
    registered: Path | None = None,
    accept_incomplete: bool = False,
    report: Report = report_nothing,
    settings: DownloadSettings = DownloadSettings(),  # noqa: B008 (it is frozen)
    watch: Watch = run_unwatched,
) -> None:
    """Make the raw files of a release available and verified, and write its lock file (checksums).

    Each file is used where it is, in the first of ``roots`` that has it; otherwise it is unpacked
    or downloaded into the first root. If files need a registration or a manual step, one error
    lists all of them, and nothing is downloaded.

    The files of a generated release are made if the first root does not exist. The generator then
    writes them, and files that the release declares are copied from ``beside``, in place of
    generated files of the same names. If the first root exists, neither is done.

    Checksums come from three places. Entries of ``release`` may declare them; ``registered`` has
    those of the official release; ``lock`` has those of the files that were seen here first. Each
    file must agree with all that exist.

    Files that have not changed since they were last read are not read again. To read all files in
    any case, use the function `check`.

    Args:
        release: source and files of the release, or its generator, with the keys that
            `stp.plan.dataset.Release` describes. In a pattern for many files, ``*`` matches names
            in one folder, and ``**/*`` at its end all files below, as in a Zarr store. Once there
            is a lock file, a pattern stands for the matching files in the lock file.
        dataset: name of the dataset, for messages and the lock.
        name: name of the release.
        roots: folders of the same layout in order of preference: the user's raw folder, which is
            the only one that is written to, and perhaps a mirror. A generated release has a root of
            its own, so that generated files are never used in place of official ones.
        lock: path of the lock file, which is written if it is missing. Otherwise, every file has to
            agree with the lock file, and the lock file with the declarations.
        beside: for a generated release, folders with the files that it declares.
        registered: lock file of the official release (a file of ``config/locks``). It lists the
            files of the release, each of which must have the checksum listed there. Nothing is
            required if None, or if there is no such file.
        accept_incomplete: whether to lock the present files although others are missing; the lock
            lists missing files.
        report: callback for the progress.
        settings: limits and other settings of downloads.
        watch: function that calls the generator. It may fail if the generator reads a file that the
            release does not declare, on which the generated files would then depend unnoticed. By
            default, any file may be read.

    Raises:
        StpError: no files are declared, files are missing, differ from their declaration or from
            the lock, or cannot be downloaded, unpacked or written.
    """
    _require_content(release, dataset, name)
    header = header_of(dataset, name, release["source"])
    title = f"{dataset} (release {name})"
    remembered = KnownChecksums.of(lock)
    release = _with_registered(release, registered, header)
    locked = read_lock(lock, header)
    if locked is not None:
        require_agreement(locked, lock, release.get("files", ()))
    if release.get("generator") and not roots[0].exists():
        options = release.get("options", {})
        declared = _verify_declared_files(release, title, beside)
        run_generator(release["generator"], options, roots[0], report, watch, declared)

    incomplete: list[str] = []
    resolved = _resolve(release, roots, locked)
    archives = Archives(release, roots, locked, remembered, report)
    if archives.declared and (locked is None or resolved.unobtainable):
        # Without a lock, archives are unpacked completely: the lock must not miss files.
        archives.unpack_found()
        resolved = _resolve(release, roots, locked)
        if resolved.unobtainable and archives.can_be_downloaded(resolved.unobtainable):
            archives.download(settings)
            archives.unpack_found()
            resolved = _resolve(release, roots, locked)
    if resolved.unobtainable:
        if release.get("generator"):
            raise removed_error(title, [file.path for file in resolved.unobtainable], roots[0])
        if locked is not None or not accept_incomplete:
            absent = archives.absent()
            helpful = [a.missing for a in absent if a.may_hold(resolved.unobtainable)]
            accept = dataset if locked is None else ""
            raise missing_error(title, resolved.unobtainable, helpful, roots[0], accept)
        incomplete = [f"{file.path} ({file.note or 'missing'})" for file in resolved.unobtainable]
        resolved = resolved.obtainable(title)
    names = {file.name for file in resolved.files}
    if locked is not None and names != set(locked.files):
        raise StpError(
            f"the files declared for {title} are not those of its lock file {lock}: "
            f"{abbreviate_names(sorted(names ^ set(locked.files)))}",
            remedy="declare the changed list of files as a new release",
        )

    downloads = []
    for file in resolved.files:
        if file.path is None:
            expected = dict(file.declared)
            expected |= locked.files[file.name]._asdict() if locked else {}
            downloads.append(FileToFetch(file.name, roots[0] / file.name, expected))
    # hashed before they get their names; not hashed again below
    checksums = download_all(downloads, settings, report, remembered)
    with closing(_read(resolved.files, remembered, report, f"verify {dataset}")) as results:
        for file, result in results:
            if isinstance(result, StpError):
                raise result
            checksums[file.name] = result
    if locked is None:
        text = lock_text(header, checksums, (file.declared for file in resolved.files), incomplete)
        if write_text_once(lock, text):
            return
        locked = read_lock(lock, header)  # another process locked the release meanwhile
    _require_locked(checksums, locked.files if locked else {}, resolved.files, roots[0], lock)


def check(
    release: Release,
    *,
    dataset: str,
    name: str,
    roots: Sequence[Path],
    lock: Path,
    registered: Path | None = None,
    report: Report = report_nothing,
) -> list[FileState]:
    """Check every raw file of a release, without downloading, unpacking or generating files.

    All files are read completely. If a file is damaged, the checksums remembered from earlier reads
    are forgotten, so that jobs read all files again; the lock file stays as it is.

    Args:
        release: declaration of the release, as in `fetch`.
        dataset: name of the dataset.
        name: name of the release.
        roots: folders of the same layout in order of preference: the user's raw folder, and perhaps
            a mirror; for a generated release, the folder of the generated files.
        lock: path of the lock file, with which files have to agree if it exists.
        registered: lock file of the official release, with which files have to agree too; None, or
            a missing file, if there is none.
        report: callback for the progress.

    Returns:
        the state of each file: present, missing, damaged or ignored. A file is ignored if it
        matches a pattern, but did not exist when the lock file was written.

    Raises:
        StpError: no files are declared; the lock file is damaged or belongs to another release.
    """
    _require_content(release, dataset, name)
    header = header_of(dataset, name, release["source"])
    unregistered, release = release, _with_registered(release, registered, header)
    locked = read_lock(lock, header)
    if release.get("generator") and not roots[0].exists():
        how = f"`stp fetch` generates it with {release['generator']}"
        return [FileState(roots[0].as_posix(), "missing", how=how)]
    resolved = _resolve(release, roots, locked)
    packed = [a.path.name for a in Archives(release, roots, locked).all() if a.path]
    unpacks = f"`stp fetch` unpacks {abbreviate_names(packed)}" if packed else ""
    states = [
        FileState(
            gap.path, "missing", gap.note, files=gap.files, how=unpacks or _instructions_for(gap)
        )
        for gap in resolved.shortfalls
    ]
    for file in resolved.files:
        if file.path is None:
            how = _instructions_for(file.missing) or f"put it at {roots[0] / file.name}"
            if file.downloadable:
                how = f"`stp fetch` downloads it from {urlsplit(file.declared['url']).netloc}"
            size = file.declared.get("bytes") or 0
            states.append(_state(file, "missing", "", size)._replace(how=unpacks or how))
    with closing(_read(resolved.files, None, report, f"check {dataset}")) as results:
        for file, result in results:
            if isinstance(result, StpError):
                detail = str(result).replace("\n", "; ")
                states.append(_state(file, "damaged", detail, _size(file)))
            elif locked is not None and locked.files.get(file.name, result) != result:
                detail = f"{file.path}: {result}; the lock file has {locked.files[file.name]}"
                states.append(_state(file, "damaged", detail, result.bytes))
            else:
                states.append(_state(file, "present", str(file.path), result.bytes))
    if any(state.state == "damaged" for state in states):
        KnownChecksums.of(lock).forget()
    declared = {file.name for file in resolved.files}
    states += [
        FileState(name, "missing", "in the lock file, but no longer declared")
        for name in sorted(set(locked.files if locked else ()) - declared)
    ]
    return states + _ignored_files(unregistered, roots, declared, locked)


def _state(file: _File, state: str, detail: str, size: int) -> FileState:
    entry = file.declared.get("path", "") if file.declared.get("many") else ""
    return FileState(file.name, state, detail, size, entry)


def _size(file: _File) -> int:
    try:
        return file.path.stat().st_size if file.path else 0
    except OSError:
        return 0


def _instructions_for(missing: Missing) -> str:
    return str(missing.declared.get("instructions", "")).strip()


def _ignored_files(
    release: Release,
    roots: Sequence[Path],
    declared: Collection[str],
    locked: Lock | None,
) -> list[FileState]:
    """Files that match a pattern now, but did not exist when the release was locked."""
    if locked is None:
        return []
    detail = "not there when the release was locked, and so not used"
    return [
        FileState(name, "ignored", detail, entry=entry["path"])
        for entry in release.get("files", ())
        if entry.get("many")
        for name in sorted(_glob(entry["path"], roots) - set(declared))
    ]


def _read(
    files: Iterable[_File], remembered: KnownChecksums | None, report: Report, title: str
) -> Generator[tuple[_File, Checksum | StpError], None, None]:
    """Read all present files, several at a time, and compare them with their declarations."""
    present = [file for file in files if file.path is not None]
    meter = TransferMeter(title, {file.name: _size(file) for file in present}, report)

    def read(file: _File, advance: Callable[[int], None]) -> Checksum:
        assert file.path is not None
        return verify_checksum(file.path, file.declared, remembered, advance)

    for file, result in in_threads(read, present, meter.advance):
        meter.finish(failed=isinstance(result, StpError))
        yield file, result


def _verify_declared_files(release: Release, title: str, roots: Sequence[Path]) -> dict[str, Path]:
    """Find and verify the files that a generated release declares, by name.

    Raises:
        StpError: a file is missing, or differs from its declaration.
    """
    entries = release.get("files", ())
    files = [_File(entry["path"], entry, find(entry["path"], roots)) for entry in entries]
    if missing := [file.missing for file in files if file.path is None]:
        raise missing_error(title, missing, [], roots[0])
    paths = {file.name: file.path for file in files if file.path is not None}
    for file in files:
        verify_checksum(paths[file.name], file.declared)
    return paths


def run_generator(
    generator: str,
    options: Mapping[str, Any],
    out: Path,
    report: Report = report_nothing,
    watch: Watch = run_unwatched,
    declared: Mapping[str, Path] = MappingProxyType({}),
) -> None:
    """Generate the raw files of a synthetic dataset in a new folder.

    ``generate(folder, options, report)`` of the generator's module writes into another folder,
    which is renamed to ``out`` when it is complete. If another process was faster, its files, which
    are equal, are kept.

    Args:
        generator: name of the generator, such as ``kth`` or ``atlas.crowd``.
        options: options of the generator.
        out: the new folder of raw files.
        report: callback for the progress.
        watch: function that imports and calls the generator. It may fail if the generator reads a
            file that the release does not declare, as in `fetch`.
        declared: paths of files that replace generated files, by name of the generated file.

    Raises:
        StpError: the generator does not exist, options are wrong, or a file cannot be written.
    """
    name, generators = named_modules.generator(generator), named_modules.generators()
    if name not in generators:
        raise StpError(
            f"there is no generator {generator!r}: no module {name}",
            expected=f"one of {', '.join(generators)}",
            remedy=suggest_name(name, generators),
        )
    module = watch(lambda: importlib.import_module(name))
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with writing(out):
            shutil.rmtree(unfinished, ignore_errors=True)  # left by a killed process
            unfinished.mkdir(parents=True)
            watch(lambda: module.generate(unfinished, dict(options), report))
            for name, path in declared.items():
                (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, unfinished / name)
            try:
                unfinished.rename(out)
            except OSError:
                if not out.is_dir():
                    raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _require_content(release: Release, dataset: str, name: str) -> None:
    """Refuse a release without files, or with files outside of the raw folder."""
    entries = (*release.get("files", ()), *release.get("archives", ()))
    paths = (entry.get(key) for entry in entries for key in ("path", "into"))
    require_below((path for path in paths if path), f"{dataset} (release {name})", dataset)
    if not release.get("generator") and not release.get("files"):
        raise StpError(
            f"no raw files are declared for {dataset} (release {name})",
            expected="files or a generator in the configuration of the dataset",
            remedy="add them to the release, or choose another release",
        )


def _with_registered(
    release: Release, registered: Path | None, header: Mapping[str, str]
) -> Release:
    """Return the release with each file declared separately, with its registered checksum.

    Raises:
        StpError: the registered checksums cannot be read, or differ from declared ones.
    """
    official = read_lock(registered, header) if registered else None
    if official is None or registered is None:
        return release
    entries = release.get("files", ())
    require_agreement(official, registered, entries)
    named = {entry["path"]: entry for entry in entries if not entry.get("many")}
    files = []
    for name, sum_ in official.files.items():
        patterns = (e for e in entries if e.get("many") and matches(name, e["path"]))
        entry = named.pop(name, None) or next(patterns, None)
        if entry is not None:
            files.append({**entry, "path": name, "many": False, **sum_._asdict()})
    if named or len(files) < len(official.files):
        declared = {entry["path"] for entry in files}
        raise StpError(
            f"{registered} and the files that are declared of {header['dataset']} (release "
            f"{header['release']}) are not the same: "
            + abbreviate_names(sorted(set(named) | (set(official.files) - declared))),
            remedy="correct either of them, or register the changed files as a new release",
        )
    return {**release, "files": files}


def _resolve(release: Release, roots: Sequence[Path], locked: Lock | None) -> _ReleaseFiles:
    """All files of a release, present or missing, and patterns with too few files."""
    if release.get("generator"):
        generated = (p.relative_to(roots[0]).as_posix() for p in roots[0].rglob("*") if p.is_file())
        names = sorted(generated if locked is None else locked.files)
        return _ReleaseFiles([_File(name, {}, find(name, roots)) for name in names], [])
    entries: dict[str, Mapping[str, Any]] = {}
    shortfalls = []
    for entry in release["files"]:
        if not entry.get("many"):
            names = [entry["path"]]
        elif locked is not None:
            names = [name for name in locked.files if matches(name, entry["path"])]
        else:
            names = sorted(_glob(entry["path"], roots))
        need = entry.get("min_files", 1)
        if entry.get("many") and len(names) < need and not (locked and locked.incomplete):
            note = f"{len(names)} files found, at least {need} needed"
            shortfalls.append(Missing(entry["path"], note, entry, need - len(names)))
        for name in names:
            # A declaration by name has precedence over a pattern.
            if name not in entries or not entry.get("many"):
                entries[name] = entry
    if locked is not None and locked.incomplete:
        entries = {name: entry for name, entry in entries.items() if name in locked.files}
    files = [_File(name, entries[name], find(name, roots)) for name in sorted(entries)]
    return _ReleaseFiles(files, shortfalls)


def _glob(pattern: str, roots: Iterable[Path]) -> set[str]:
    paths = [(p.relative_to(root).as_posix(), p) for root in roots for p in root.glob(pattern)]
    names = {n for n, p in paths if not n.endswith(OWN) and require_regular(p).is_file()}
    return {name for name in names if is_hidden(name) <= is_hidden(pattern)}


def _require_locked(
    checksums: Mapping[str, Checksum],
    locked: Mapping[str, Checksum],
    files: Iterable[_File],
    root: Path,
    lock: Path,
) -> None:
    where = {file.name: file.path or root / file.name for file in files}
    wrong = [name for name in sorted(checksums) if checksums[name] != locked.get(name)]
    if wrong:
        listed, rest = wrong[:_SHOWN], len(wrong) - _SHOWN
        lines = "".join(f"\n  {where[name]}: {checksums[name]}" for name in listed)
        more = f"\n  ... and {rest} more; see `stp fetch --check`" if rest > 0 else ""
        raise StpError(
            f"raw files that differ from the lock file {lock}:{lines}{more}",
            expected="\n".join(f"{name}: {locked.get(name, 'not in the lock')}" for name in listed),
            remedy="restore the originals, or declare a new release: docs/data_access.md, Locks",
        )
