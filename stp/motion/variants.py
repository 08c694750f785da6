"""Which of the files that are all called "ETH" is this one?

Several incompatible versions of the same recordings circulate; one of them has another clock, and
people who seem to walk 1.67 times as fast. A dataset says what its file is like, and another file
is refused: nobody guesses.
"""

from dataclasses import dataclass

import numpy as np

from stp.errors import StpError
from stp.motion.tracks import Tracks


@dataclass(frozen=True)
class Variant:
    """What tells a file from others of its name.

    Attributes:
        rows: detections.
        people: who is in them.
        step: frames between two annotations.
    """

    rows: int
    people: int
    step: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.people} people, every {self.step} frames"


KNOWN = {
    "ETH: obsmat.txt of EWAP": Variant(8908, 360, 6),
    "ETH: biwi_eth.ndjson of TrajNet++, as Atlas uses it": Variant(8816, 360, 6),
    "ETH: biwi_eth.txt of SGAN and Trajectron++, with another clock": Variant(5492, 360, 10),
    "HOTEL: obsmat.txt of EWAP": Variant(6544, 390, 10),
    "HOTEL: biwi_hotel.ndjson of TrajNet++, as Atlas uses it": Variant(5111, 302, 10),
    "UCY: zara01, obsmat.txt of OpenTraj": Variant(5024, 148, 10),
    "UCY: zara02, obsmat.txt of OpenTraj": Variant(9537, 204, 10),
    "UCY: students03, obsmat.txt of OpenTraj": Variant(21846, 428, 10),
}
"""By what they are called here."""


def of(tracks: Tracks) -> Variant:
    """What a file is like; its step is the most frequent one."""
    steps = [np.diff(np.unique(tracks.frame[rows])) for rows in tracks.people().values()]
    every, counts = np.unique(np.concatenate(steps), return_counts=True)
    step = int(every[np.argmax(counts)]) if len(every) else tracks.step
    return Variant(len(tracks), len(np.unique(tracks.person)), step)


def check(tracks: Tracks, expected: Variant, name: str) -> None:
    """Refuse a file that is not what a dataset says.

    Args:
        tracks: read from it.
        expected: what the dataset says.
        name: of the file, for people.

    Raises:
        StpError: it is another one; says which, where it is known.
    """
    found = of(tracks)
    if found == expected:
        return
    known = [title for title, variant in KNOWN.items() if variant == found]
    raise StpError(
        f"{name}: {found}" + (f", which is {known[0]}" if known else ""),
        expected=str(expected),
        remedy="declare it as a dataset of its own, with its own step and dt",
    )
