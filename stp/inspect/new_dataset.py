"""Draft the configuration of a new dataset from the user's own files (`stp new-dataset`).

A draft is two files: a dataset file, and a scale file, which says which models are trained and
tested on the dataset.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from stp.core.disk import write_text, writing
from stp.core.errors import StpError
from stp.inspect import draft_text, guess_tracks, new_tracks
from stp.inspect.draft import draft_dataset
from stp.inspect.own_files import SUFFIXES, dataset_name, raw_folders, root_of
from stp.plan.suite import draft_for
from stp.prepare.output import SPLITS


def new_dataset(
    path: Path, name: str | None, folder: Path = Path("config"), fps: float | None = None
) -> Iterator[str]:
    """Write drafts of a dataset file and a scale file (what is evaluated); yield lines to print.

    Args:
        path: path of a file or a folder of files.
        name: name of the dataset; by default made from the path.
        folder: folder of the configuration.
        fps: frames per second of detections of people.

    Raises:
        StpError: the files cannot be read, a dataset with this name exists, or ``fps`` is given for
            data other than detections of people.
    """
    if name and (folder / "datasets" / f"{name}.yaml").exists():
        raise _exists_error(folder / "datasets" / f"{name}.yaml")
    if _is_tracks(path):
        yield from _new_tracks(path.resolve(), name, folder, fps)
        return
    if fps is not None:
        raise StpError(
            f"--fps {fps:g} for {path}",
            remedy="leave out --fps: it is for detections of people with frame numbers",
        )
    draft = draft_dataset(path, name)
    texts = draft_text.dataset_text(draft), draft_text.scale_text(draft)
    yield from _write(folder, draft.name, *texts)
    for split in SPLITS:
        yield f"  {split}: {draft_text.counts_text(draft, split)}"
    yield from (f"  {line}" for line in draft_text.interval_lines(draft))
    yield from _next_steps(folder, draft.name, draft.root, draft_for("frames")[1])


def _is_tracks(path: Path) -> bool:
    inside = [path] if path.is_file() else path.rglob("*")
    has_frames = any(
        file.name.lower().endswith(tuple(suffixes))
        for file in inside
        for suffixes in SUFFIXES.values()
        if file.name.lower() != "map.png"  # a map that may be beside detections
    )
    return path.exists() and not has_frames and bool(guess_tracks.members(path))


def _new_tracks(path: Path, name: str | None, folder: Path, fps: float | None) -> Iterator[str]:
    root = root_of(path)
    names = [file.relative_to(root).as_posix() for file in guess_tracks.members(path)]
    name = dataset_name(path, name)
    guess = guess_tracks.guess(root, names, fps)
    options, other_files = new_tracks.find_goals_and_map(
        root, path if path.is_dir() else path.parent
    )
    guess.prepare.update(options)
    mirror = None if root in raw_folders() else root
    text = new_tracks.dataset_text(name, root, [*names, *other_files], guess)
    yield from _write(folder, name, text, new_tracks.scale_text(name, mirror, guess))
    yield from new_tracks.count_lines(guess)
    yield from _next_steps(folder, name, root, draft_for("tracks")[1])


def _write(folder: Path, name: str, dataset: str, scale: str) -> Iterator[str]:
    targets = {folder / "datasets" / f"{name}.yaml": dataset, folder / f"{name}.yaml": scale}
    for target in targets:
        if target.exists():
            raise _exists_error(target)
    for target, text in targets.items():
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_text(target, text)
        yield f"wrote {target}"


def _next_steps(folder: Path, name: str, root: Path, table: str) -> Iterator[str]:
    mirror = os.environ.get("STP_RAW_MIRROR")
    if root not in raw_folders() and mirror:
        yield f"note: STP_RAW_MIRROR is {mirror} and wins over the scale file; unset it"
    scale = folder / f"{name}.yaml"
    yield "read the comments, change what is wrong, and then:"
    yield f"  stp fetch {name} --configfile {scale}"
    yield f"  stp prepare {name} --configfile {scale}"
    yield f"  stp draw clips {name} --configfile {scale}"
    yield f"  snakemake --profile local --configfile {scale} -- results/tables/{table}.csv"


def _exists_error(path: Path) -> StpError:
    return StpError(f"{path} exists", remedy="set --name, or remove the file")
