"""Find the user's own files of frames, their kind, and the folder that names are relative to."""

import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from stp.core.disk import files_below, is_hidden, require_regular
from stp.core.errors import FileError, StpError
from stp.inspect import guess_tracks
from stp.plan.scale import Paths, folders
from stp.prepare.own import arrays, grids, pictures
from stp.prepare.video import SUFFIXES as VIDEO_SUFFIXES

SUFFIXES = {
    "videos": VIDEO_SUFFIXES,
    "pictures": pictures.SUFFIXES,
    "arrays": arrays.SUFFIXES,
    "grids": grids.SUFFIXES,
}


def members_of(path: Path) -> tuple[str, list[Path]]:
    """Find the files of frames at a path, and their kind.

    Returns:
        the kind of input, such as ``videos``, ``pictures`` or ``arrays``; and all files, sorted.

    Raises:
        StpError: there are no files of a known kind, files of several kinds, or a named pipe or
            device.
    """
    if not path.exists():
        raise StpError(f"{path} does not exist", expected="a file, or a folder of files")
    inside = [require_regular(path)] if not path.is_dir() else sorted(files_below(path))
    inside = [p for p in inside if p.exists() and not p.is_dir()]
    inside = [
        p
        for p in inside
        if is_hidden(p.relative_to(path.parent).as_posix()) <= is_hidden(path.name)
    ]
    by_kind: dict[str, list[Path]] = {}
    for member in inside:
        in_store = any(parent.suffix == ".zarr" for parent in member.parents)
        for kind, suffixes in SUFFIXES.items():
            if kind == "grids":
                suffixes = (*suffixes, *grids.GRIB)  # the reader refuses these, with a remedy
            is_kind = kind == "grids" if in_store else member.name.lower().endswith(suffixes)
            if is_kind:
                by_kind.setdefault(kind, []).append(require_regular(member))
    if len(by_kind) != 1:
        counts = ", ".join(f"{len(members)} of {kind}" for kind, members in by_kind.items())
        kinds = {**SUFFIXES, "detections of people": guess_tracks.SUFFIXES}
        listed = "; ".join(f"{kind}: {' '.join(suffixes)}" for kind, suffixes in kinds.items())
        problem = counts or "no files that can be read"
        raise FileError(path, problem, expected=f"files of one kind ({listed})")
    return next(iter(by_kind.items()))


def root_of(path: Path) -> Path:
    """Find the folder below which the configuration names the user's raw files.

    It is the configured folder of raw files, or the configured mirror, if the path is inside one of
    these (`raw_folders`). Otherwise, it is the parent folder of the path.

    Args:
        path: path of a file or folder of the user.

    Returns:
        the folder; e.g. "/data" for the path "/data/mine", whose files are then called
        "mine/video1.mp4".
    """
    for folder in raw_folders():
        if path.is_relative_to(folder) and path != folder:
            return folder
    return path.parent


def raw_folders() -> list[Path]:
    """The configured folders of raw files of all datasets, with the mirror, if there is one."""
    paths = folders(Paths())
    return [folder for key in ("raw", "mirror") if (folder := paths[key]) is not None]


def release_entries(names: Sequence[str], top: str, is_file: bool) -> Iterator[dict[str, Any]]:
    """Yield the entries that list some raw files in a dataset's configuration.

    An entry is a pattern of names; there is one for each depth of folders and each suffix.

    Args:
        names: paths of the files below the folder of raw files (`root_of`).
        top: path, below the same folder, of the user's file or of the folder with the files.
        is_file: whether ``top`` is a file.
    """
    if is_file:
        yield {"path": top}
        return
    patterns: dict[str, None] = {}
    for name in names:
        store = next((p for p in PurePosixPath(name).parents if p.suffix == ".zarr"), None)
        if store is not None:
            patterns[f"{glob.escape(str(store))}/**/*"] = None
            continue
        inside = PurePosixPath(name).relative_to(top)
        stars = ["*"] * (len(inside.parts) - 1)
        patterns["/".join([glob.escape(top), *stars, f"*{inside.suffix}"])] = None
    for pattern in patterns:
        yield {"path": pattern, "many": True}


def dataset_name(path: Path, name: str | None) -> str:
    """Check the name of a dataset and return it; by default, the name is made from the path.

    Raises:
        StpError: the name has characters other than lower-case letters, digits and _.
    """
    name = name or re.sub(r"\W+", "_", path.stem.lower()).strip("_") or "own"
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise StpError(
            f"{name!r} cannot be the name of a dataset",
            expected="small letters, digits and _, beginning with a letter",
            remedy="set --name",
        )
    return name
