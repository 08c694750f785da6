"""What a dataset will hold, worked out from split lists and rules, before any video is there.

A reader that knows offers ``count(recipe, raw) -> Planned``, with the same functions that cut the
clips of real data. `stp list datasets` compares its numbers with the published ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from stp.core.errors import StpError
from stp.prepare.output import Clip


class Lists(NamedTuple):
    """Raw files that need not be locked: split lists, annotations, catalogues.

    Attributes:
        roots: folders, in order of preference.
    """

    roots: Sequence[Path]

    def find(self, name: str) -> Path:
        """Where a file lies.

        Raises:
            StpError: it is in no folder.
        """
        for root in self.roots:
            if (Path(root) / name).is_file():
                return Path(root) / name
        raise StpError(
            f"{name} is not here",
            expected="it below " + " or ".join(str(root) for root in self.roots),
            remedy="run `stp fetch`, or set STP_RAW_MIRROR to a folder that has it",
        )


@dataclass(frozen=True)
class Planned:
    """Clips that are to be expected.

    Attributes:
        clips: as the index will hold them, where lists or rules say so. ``start`` counts through
            the frames of a store that holds everything, so that clips that share frames are found.
        numbers: clips of splits of which only the number is known.
        unknown: splits of which not even that is known, with the reason.
    """

    clips: Iterable[Clip] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
