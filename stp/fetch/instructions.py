"""Make errors with instructions for all files that cannot be downloaded."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stp.core.errors import StpError

FOLDED = 6
"""Maximum number of files of one folder and suffix that are listed completely."""
SHOWN = 3


class Missing(NamedTuple):
    """A missing file or archive, or missing files that match a pattern.

    Attributes:
        path: path, or pattern of paths, below the raw folder.
        note: text on its size; for a pattern, on the present and required numbers of files.
        declared: its entry in the configuration of the dataset, with ``url``, ``instructions`` and
            so on.
        files: minimum number of missing files.
    """

    path: str
    note: str
    declared: Mapping[str, Any]
    files: int = 1


def missing_error(
    title: str,
    files: Sequence[Missing],
    archives: Sequence[Missing],
    root: Path,
    accept: str = "",
) -> StpError:
    """Make the error that lists missing files, their expected paths and how to get them.

    Args:
        title: title of dataset and release.
        files: missing files.
        archives: missing archives that contain such files.
        root: the raw folder, into which the files belong.
        accept: name of the dataset. If it is set, the error also proposes to go on without the
            missing files: ``stp fetch <accept> --accept-incomplete``. Empty to propose nothing,
            where missing files cannot be accepted.
    """
    expected = "this layout:\n" + "\n".join(tree(root, files))
    if archives:
        expected += "\nor these archives, from which `stp fetch` unpacks it:\n" + "\n".join(
            tree(root, archives)
        )
    then = "put the files there (another folder: STP_RAW_DIR) and run the same command again"
    if accept:
        then += (
            f"; or go on with the present files, which every row will say: "
            f"stp fetch {accept} --accept-incomplete"
        )
    return StpError(
        f"{len(files)} raw file(s) or patterns of {title} are missing and cannot be downloaded "
        "automatically",
        expected=expected,
        remedy="\n".join([*list_steps([*archives, *files]), then]),
    )


def removed_error(title: str, names: Sequence[str], root: Path) -> StpError:
    """Make the error about a generated dataset whose files were removed since.

    Args:
        title: title of dataset and release.
        names: names of the missing files.
        root: folder of the generated files.
    """
    return StpError(
        f"files of {title} were removed after it was generated: {abbreviate_names(names)}",
        expected=f"all its files below {root}",
        remedy=f"remove the folder {root}; it will be generated again",
    )


def list_steps(missing: Iterable[Missing]) -> list[str]:
    """List the steps by which a user can obtain missing files.

    Returns:
        the declared instructions, or a sentence with the URL. If there are several steps, each
        begins with the names of its files.
    """
    steps: dict[str, list[str]] = {}
    silent: list[Missing] = []
    for file in missing:
        text = file.declared.get("instructions")
        if text:
            steps.setdefault(text.strip(), []).append(file.path)
        else:
            silent.append(file)
    if not steps:  # else the instructions of one pattern hold for all
        for file in silent:
            url = file.declared.get("url")
            text = f"register with the publisher ({url or 'no URL'})"
            if file.declared.get("access", "open") != "registration":
                text = (
                    f"get it from {url}" if url else "no URL is declared: get it from the publisher"
                )
            steps.setdefault(text, []).append(file.path)
    if len(steps) == 1:
        return list(steps)
    return [f"for {abbreviate_names(paths)}: {text}" for text, paths in steps.items()]


def abbreviate_names(names: Sequence[str], most: int = FOLDED) -> str:
    """Join the first `most` names, and count the others: "a.zip, b.zip and 3 more"."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def tree(root: Path, missing: Iterable[Missing]) -> list[str]:
    """Draw a tree of the folders and names that missing files should have.

    If a folder lacks more than 6 files with the same suffix, such as ``.zip``, only the first 3 are
    named, and the others are counted. The same holds for its folders.

    Args:
        root: the raw folder, into which the files belong.
        missing: missing files, with paths below ``root``.

    Returns:
        lines such as ``/data/raw/``, ``  kth/walking.zip  (1234 bytes)``.
    """
    folders: dict[str, Any] = {}
    for file in missing:
        folder = folders
        *parents, name = file.path.split("/")
        for parent in parents:
            folder = folder.setdefault(parent + "/", {})
        folder[name] = file.note
    return [f"  {root}/", *_branch(folders, "    ")]


def _branch(folder: Mapping[str, Any], indent: str) -> list[str]:
    items = []
    for name in sorted(folder):
        inside, label = folder[name], name
        while isinstance(inside, dict) and len(inside) == 1:
            ((name, inside),) = inside.items()
            label += name
        kind = "folders" if isinstance(inside, dict) else "." + label.rpartition(".")[2]
        items.append((kind, label, inside))
    alike, counts, lines = Counter(kind for kind, _, _ in items), Counter[str](), []
    for kind, label, inside in items:
        counts[kind] += 1
        if alike[kind] > FOLDED and counts[kind] > SHOWN:
            if counts[kind] == alike[kind]:
                lines.append(f"{indent}... and {alike[kind] - SHOWN} more {kind}")
        elif isinstance(inside, dict):
            lines += [indent + label, *_branch(inside, indent + "  ")]
        else:
            lines.append(indent + label + (f"  ({inside})" if inside else ""))
    return lines
