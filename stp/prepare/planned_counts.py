"""Count the clips to expect from split lists and rules, before data are downloaded.

A reader may have ``count(recipe, raw) -> Planned``, which cuts clips by the same functions as in
preparation. `stp list datasets` compares the numbers with the published ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from stp.core.errors import StpError
from stp.prepare.output import Clip


class Lists(NamedTuple):
    """Raw files that are read before checksums are recorded: split lists, annotations, catalogues.

    Attributes:
        roots: raw folders, in order of preference.
    """

    roots: Sequence[Path]

    def find(self, name: str) -> Path:
        """The path of a file.

        Raises:
            StpError: the file is in none of the folders.
        """
        for root in self.roots:
            if (Path(root) / name).is_file():
                return Path(root) / name
        raise StpError(
            f"{name} is missing",
            expected="the file below " + " or ".join(str(root) for root in self.roots),
            remedy="run `stp fetch`, or set STP_RAW_MIRROR to a folder that has it",
        )


@dataclass(frozen=True)
class Planned:
    """Clips that are expected after preparation.

    Attributes:
        clips: rows of the index that follow from lists or rules. ``start`` counts frames as if all
            of them were in one store, so that clips that share frames can be found.
        numbers: numbers of clips of those splits for which only the number is known.
        unknown: reason by split, for splits whose number of clips is unknown.
    """

    clips: Iterable[Clip] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
