"""Distinguish the incompatible versions of ETH, HOTEL and UCY that are in circulation.

One version has another frame rate, so that people seem to walk 1.67 times as fast. A dataset
declares the version of its file, and other files are refused.
"""

from dataclasses import dataclass

import numpy as np

from stp.core.errors import StpError
from stp.tracks.tracks import Tracks


@dataclass(frozen=True)
class Variant:
    """Counts of a raw file of tracks, by which its incompatible versions are told apart.

    It is named after the option ``variant`` of datasets, which says what their file should have. It
    has nothing to do with variants of models.

    Attributes:
        rows: number of detections (rows of the file).
        people: number of people.
        step: number of frames from one annotation of a person to the next.
    """

    rows: int
    people: int
    step: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.people} people, every {self.step} frames"


@dataclass(frozen=True)
class CirculatingFile:
    """One of several versions of a raw file that circulate, with different contents.

    Attributes:
        variant: numbers of detections and people, and of frames between annotations, by which the
            version is recognised.
        sha256: checksums of known copies of the version, hexadecimal.
    """

    variant: Variant
    sha256: tuple[str, ...]


KNOWN = {
    "ETH: obsmat.txt of EWAP": CirculatingFile(
        Variant(8908, 360, 6),
        ("d452ae2185ecb1164c2fdf31e75f6236f4c2ffc02c751a6b2ae921740cbc60d1",),
    ),
    "ETH: biwi_eth.ndjson of TrajNet++, as Atlas uses it": CirculatingFile(
        Variant(8816, 360, 6),
        ("092b929c72d746e279a020a633200ef318ab35e779d14a7c14f7f8e7e56efb69",),
    ),
    (
        "ETH: biwi_eth.txt of SGAN and Trajectron++, with another clock: people seem to walk 1.67 "
        "times as fast"
    ): CirculatingFile(
        Variant(5492, 360, 10),
        ("4cc46d4bc7c1040e36e8c98eb5782978555ad20cc9114f9e3b18898b3e8357c9",),
    ),
    "HOTEL: obsmat.txt of EWAP": CirculatingFile(
        Variant(6544, 390, 10),
        ("2b8577595204a6b780b80258fd50da35adb7293e3e06ad6f8e1b60965e7dde6e",),
    ),
    "HOTEL: biwi_hotel.ndjson of TrajNet++, as Atlas uses it": CirculatingFile(
        Variant(5111, 302, 10),
        ("7b4045fe702ebca34d9fd1a863bcc1b7e634cde76f6931b2ae633821a977853b",),
    ),
    "HOTEL: biwi_hotel1.ndjson, scenes of TrajNet++'s test alone": CirculatingFile(
        Variant(1045, 56, 10),
        ("f45777f23c793c81049ab6f6746434d3bd79245301bb061f8a66515d8b09476c",),
    ),
    "UCY: zara01, obsmat.txt of OpenTraj": CirculatingFile(
        Variant(5024, 148, 10),
        ("bd999ebcfbc506821fa5032a10b9101e150defcff85f1ef037d09ce7c6a8c2aa",),
    ),
    "UCY: zara02, obsmat.txt of OpenTraj": CirculatingFile(
        Variant(9537, 204, 10),
        ("0b29bdacd54b971299b741f291d9b0eac0ce9aeec9901e75576c529a39523e9b",),
    ),
    "UCY: students03, obsmat.txt of OpenTraj": CirculatingFile(
        Variant(21846, 428, 10),
        ("d9fd7048eab7d3d9550d7ac4f59b19d97a87612310e8c8e48cf3aaf59764ff80",),
    ),
    "UCY: students003.txt of SGAN": CirculatingFile(
        Variant(17953, 434, 10),
        ("e25798b660634330aa89f8bb259425de720e84d0873902726c1d1f4ccff21d6c",),
    ),
}
"""Known versions by title: name and origin of the file, and what is special about it."""


def variant_of(tracks: Tracks) -> Variant:
    """Count detections and people of a raw file, and find the usual step between annotations.

    Args:
        tracks: detections of the file.
    """
    order = np.lexsort((tracks.frame, tracks.person))
    passed = np.diff(tracks.frame[order])[np.diff(tracks.person[order]) == 0]
    every, counts = np.unique(passed, return_counts=True)
    step = int(every[np.argmax(counts)]) if len(every) else tracks.step
    return Variant(len(tracks), len(np.unique(tracks.person)), step)


def version_title(variant: Variant, sha256: str = "") -> str:
    """Find the title of a known version of a raw file, by its checksum or else its counts.

    Args:
        variant: counts of the file, which are compared if no known version has the checksum.
        sha256: checksum of the file, hexadecimal; empty if it is unknown.

    Returns:
        the title, such as "HOTEL: obsmat.txt of EWAP"; if only the counts agree, it says so. Empty
        if no known version agrees.
    """
    for title, file in KNOWN.items():
        if sha256 in file.sha256:
            return title
    for title, file in KNOWN.items():
        if file.variant == variant:
            return f"{title} (by its numbers; its checksum differs)" if sha256 else title
    return ""


def check(tracks: Tracks, expected: Variant, name: str, sha256: str = "") -> None:
    """Refuse a file that is not the version that a dataset declares.

    Args:
        tracks: detections of the file.
        expected: numbers of detections and people, and of frames between annotations, that the
            dataset declares for its file.
        name: name of the file, for the error.
        sha256: checksum of the file; empty for several files.

    Raises:
        StpError: the file is another version; the error names the version if it is known.
    """
    variant = variant_of(tracks)
    if variant == expected:
        return
    title = version_title(expected)
    raise StpError(
        f"{name}: {variant}, which is {version_title(variant, sha256) or 'no known version'}",
        expected=f"{expected}" + (f", which is {title}" if title else ""),
        remedy="declare it as a dataset of its own, with its own step and dt",
    )
