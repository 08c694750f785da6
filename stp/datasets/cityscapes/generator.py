"""Generate a synthetic version of the CityScapes video snippets: drives along streets.

Same as in the official data (Cordts et al. 2016): names, numbers and numbering of frames, and the
package (leftImg8bit_sequence_trainvaltest.zip). In most cities, each snippet has its own sequence
number; a few cities were recorded continuously, and their snippets are blocks of one sequence. Each
snippet shows one street. Pictures are smaller by default, and there are no annotations.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt

from stp.core.job import Report
from stp.core.options import build, check_keys
from stp.fetch.film_write import encode_picture
from stp.fetch.scenery import Street

PACKAGE = "cityscapes/leftImg8bit_sequence_trainvaltest.zip"
CITIES = {
    "train": ("aachen", "bochum", "hamburg", "ulm"),
    "val": ("frankfurt", "lindau", "munster"),
    "test": ("berlin", "bielefeld", "bonn", "mainz"),
}
IN_ONE_GO = ("bielefeld", "frankfurt", "hamburg")
FRAMES, FPS = 30, 17
_ANNOTATED = 19  # index of the annotated frame in a snippet
_DATE = (2016, 1, 1, 0, 0, 0)  # date of all files in the package, for reproducibility


@dataclass(frozen=True)
class CityscapesOptions:
    """Options of the generator of synthetic CityScapes.

    Attributes:
        snippets: number of snippets of each split, which are assigned to its cities in turn.
        height: height of the pictures, officially 1024.
        width: width of the pictures, officially 2048.
        seed: seed of all random numbers; a snippet does not depend on which others are generated.
    """

    snippets: dict[str, NonNegativeInt] = field(
        default_factory=lambda: {"train": 6, "val": 3, "test": 12}
    )
    height: Annotated[int, Field(ge=8)] = 64
    width: Annotated[int, Field(ge=8)] = 128
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_keys("snippets", self.snippets, CITIES)


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the snippets, ``cityscapes/leftImg8bit_sequence_trainvaltest.zip``.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(CityscapesOptions, options, "generator options")
    path = out / PACKAGE
    path.parent.mkdir(parents=True)
    total = sum(chosen.snippets.values())
    done = 0
    with zipfile.ZipFile(path, "w") as package:  # PNG does not get smaller
        for s, split in enumerate(CITIES):
            for number in range(chosen.snippets.get(split, 0)):
                rng = np.random.default_rng([chosen.seed, s, number])
                cities = CITIES[split]
                city, turn = cities[number % len(cities)], number // len(cities)
                if city in IN_ONE_GO:
                    sequence, annotated = 0, 42 + 600 * turn + int(rng.integers(0, 300))
                else:
                    sequence, annotated = turn, _ANNOTATED
                street, speed = Street(rng), float(rng.uniform(3, 14))
                for frame in range(FRAMES):
                    at = frame / FPS
                    picture = street.picture(speed * at, at, chosen.height, chosen.width)
                    label = f"{city}_{sequence:06d}_{annotated - _ANNOTATED + frame:06d}"
                    name = f"leftImg8bit_sequence/{split}/{city}/{label}_leftImg8bit.png"
                    package.writestr(zipfile.ZipInfo(name, _DATE), encode_picture(picture))
                done += 1
                report("snippets", done, total)
