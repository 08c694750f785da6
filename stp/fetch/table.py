"""The state of raw files as a table that stays readable for 100,000 files."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stp.upkeep.inventory import size_text

STATES = ("missing", "damaged", "present", "ignored")
FOLDED = 8
"""Files of one state, folder and suffix above which they share a line."""
SHOWN = 3


class FileState(NamedTuple):
    """What a check says about one file.

    Attributes:
        path: below a raw folder; a pattern, if too few files match it.
        state: "present", "missing" or "damaged"; or "ignored": it matches a pattern, but was not
            there when the release was locked.
        detail: where it is, what is wrong with it, or how to get it.
        bytes: its size; what is declared, if it is missing.
        entry: the pattern in the configuration that it matches, if it is one of many.
    """

    path: str
    state: str
    detail: str
    bytes: int = 0
    entry: str = ""


def is_complete(states: Iterable[FileState]) -> bool:
    """Are all files there and undamaged?"""
    return all(state.state in ("present", "ignored") for state in states)


def lines(title: str, states: Sequence[FileState]) -> Iterator[str]:
    """The table of one release.

    Args:
        title: the dataset and its release.
        states: of all its files.
    """
    counts = {name: [s for s in states if s.state == name] for name in STATES}
    parts = [
        f"{len(found):,} {name}" + (f" ({size_text(_bytes(found))})" if _bytes(found) else "")
        for name, found in counts.items()
        if found
    ]
    yield f"{title}: {', '.join(parts)}"
    rows = [row for name in STATES for row in _rows(counts[name])]
    width = max((len(row[1]) for row in rows), default=0)
    for state, what, number, size in rows:
        yield f"  {state:<8} {what:<{width}} {number:>9,} {size:>9}".rstrip()
    for name in ("missing", "damaged", "ignored"):
        yield from _details(name, counts[name])


def _bytes(states: Iterable[FileState]) -> int:
    return sum(state.bytes for state in states)


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
            yield members[0].state, family, len(members), size_text(size) if size else ""
        else:
            for one in members:
                yield one.state, one.path, 1, size_text(one.bytes) if one.bytes else ""


def _details(name: str, states: Sequence[FileState]) -> Iterator[str]:
    """What is to be said about files, each text once, with the first files it is said of."""
    said: dict[str, list[str]] = {}
    for state in states:
        said.setdefault(state.detail, []).append(state.path)
    for number, (detail, paths) in enumerate(said.items()):
        if number == 2 * SHOWN:
            yield f"  {name}: ... and {len(said) - number} more messages"
            return
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        yield f"  {name}: {', '.join(paths[:SHOWN])}{more}: {detail}"
