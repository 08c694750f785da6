"""Format a table of the states of raw files, which is readable even for 100,000 files."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from stp.core.units import size_text

STATES = ("missing", "damaged", "present", "ignored")
FOLDED = 8
"""Maximum number of files of one state, folder and suffix that have a line each."""
SHOWN = 3
WIDTH = 120


class FileState(NamedTuple):
    """State of a raw file, such as present, missing or damaged.

    Attributes:
        path: path below a raw folder; a pattern, if too few files match it.
        state: "present", "missing" or "damaged"; or "ignored": the file matches a pattern, but did
            not exist when the release was locked (its checksums were recorded).
        detail: folder of the file, or the problem.
        bytes: size; for a missing file, its declared size, or 0 if unknown.
        entry: the pattern in the configuration that the file matches, if any.
        files: number of missing files of a pattern; 1 for a file.
        how: advice on how to obtain the file.
    """

    path: str
    state: str
    detail: str = ""
    bytes: int = 0
    entry: str = ""
    files: int = 1
    how: str = ""


def is_complete(states: Iterable[FileState]) -> bool:
    """Whether all files are present and undamaged."""
    return all(state.state in ("present", "ignored") for state in states)


def lines(title: str, states: Sequence[FileState]) -> Iterator[str]:
    """Lines of the table of files of one release (a version of the raw files of a dataset).

    Args:
        title: title of dataset and release.
        states: states of all files.
    """
    counts = {name: [s for s in states if s.state == name] for name in STATES}
    said = [f"{_files(part):,} {name}{_size(part)}" for name, part in counts.items() if part]
    yield f"{title}: {', '.join(said)}"
    rows = [row for name in STATES for row in _rows(counts[name])]
    width = max((len(row[1]) for row in rows), default=0)
    for state, name, number, size in rows:
        yield f"  {state:<8} {name:<{width}} {number:>9,} {size:>9}".rstrip()
    for name in ("damaged", "missing", "ignored"):
        yield from _details(name, [(s.path, s.detail) for s in counts[name] if s.detail])
    yield from _details("to do", [(s.path, s.how) for s in states if s.how])


def _files(states: Iterable[FileState]) -> int:
    return sum(state.files for state in states)


def _bytes(states: Iterable[FileState]) -> int:
    return sum(state.bytes for state in states)


def _size(states: Sequence[FileState]) -> str:
    if not _bytes(states):
        return ""
    least = "at least " if any(s.state == "missing" and not s.bytes for s in states) else ""
    return f" ({least}{size_text(_bytes(states))})"


def _family(state: FileState) -> str:
    folder, _, name = state.path.rpartition("/")
    suffix = name.rpartition(".")[2] if "." in name else ""
    return state.entry or (f"{folder}/" if folder else "") + (f"*.{suffix}" if suffix else "*")


def _rows(states: Iterable[FileState]) -> Iterator[tuple[str, str, int, str]]:
    families: dict[str, list[FileState]] = {}
    for state in states:
        families.setdefault(_family(state), []).append(state)
    for family, members in families.items():
        if len(members) > FOLDED or members[0].entry:
            size = _bytes(members)
            yield members[0].state, family, _files(members), size_text(size) if size else ""
        else:
            for file in members:
                yield file.state, file.path, file.files, size_text(file.bytes) if file.bytes else ""


def _details(name: str, texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Details of files, each text once with its first files."""
    said: dict[str, list[str]] = {}
    for path, text in texts:
        said.setdefault(text, []).append(path)
    for number, (text, paths) in enumerate(said.items()):
        if number == 2 * SHOWN:
            yield f"  {name}: ... and {len(said) - number:,} more messages"
            return
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        whole = f"{name}: {', '.join(paths[:SHOWN])}{more}: {text}"
        yield from wrap(
            whole, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False,
            break_long_words=False,
        )  # fmt: skip
