"""Count the clips to expect from split lists and rules, before data are downloaded.

A reader of a dataset may have a function ``count(recipe, raw)``, which returns them as `Planned`,
and makes clips by the same functions as the preparation. `stp list datasets` compares the numbers
with the published ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from stp.core.errors import StpError
from stp.prepare.output import Clip


class Lists(NamedTuple):
    """Finds the small raw files from which a reader counts clips.

    Such files are split lists, annotations and catalogues. They are read before the checksums of
    the raw files are recorded in a lock file.

    Attributes:
        roots: folders of raw files, in order of preference.
    """

    roots: Sequence[Path]

    def find(self, name: str) -> Path:
        """Find a file in the first folder that has it.

        Args:
            name: path of the file below the folder of raw files, such as ``kth/00sequences.txt``.

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
    """Clips that the preparation will write, as far as they are known before the data are read.

    Attributes:
        clips: clips that follow from lists or rules. Their ``start`` counts frames as if all frames
            were stored one after the other, so that clips that share frames can be found.
        numbers: number of clips by split, for splits of which only the number is known.
        unknown: reason why the number of clips is not known yet, by split.
    """

    clips: Iterable[Clip] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
