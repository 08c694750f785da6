"""Generate a synthetic version of the KITTI raw drives: streets at 10 Hz.

Archives, folders, names, numbering and time stamps are those of the official ``<drive>_sync.zip``
(Geiger et al. 2013). PredBench's lists, reduced to the generated drives, are written too. Only the
colour camera image_02 is generated; other cameras, the laser scanner and the positions are missing.
Pictures are a quarter of the official size by default.
"""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, check_keys, require
from stp.fetch.film_write import encode_picture
from stp.fetch.scenery import Street

LIST = "predbench_annotations/KITTI/kitti_{}.json"
DRIVES = {
    "train": ("2011_09_26_drive_0002", "2011_09_26_drive_0005", "2011_09_28_drive_0002"),
    "val": ("2011_09_26_drive_0001", "2011_09_26_drive_0036", "2011_09_30_drive_0016"),
    "test": ("2011_09_26_drive_0018", "2011_09_28_drive_0001", "2011_09_29_drive_0004"),
}
"""Some of the drives of PredBench's lists."""
FPS = 10
_DATE = (2012, 1, 1, 0, 0, 0)  # date of all files in the archives, for reproducibility


@dataclass(frozen=True)
class KittiOptions:
    """Options of the generator of synthetic KITTI.

    Attributes:
        frames: by split, the numbers of frames of its drives, at most three drives.
        height: height of the pictures, officially 375.
        width: width of the pictures, officially 1242.
        seed: seed of all random numbers; a drive does not depend on which others are generated.
    """

    frames: dict[str, list[PositiveInt]] = field(
        default_factory=lambda: {"train": [45, 40, 50], "val": [25, 24, 26], "test": [25, 24, 26]}
    )
    height: Annotated[int, Field(ge=8)] = 94
    width: Annotated[int, Field(ge=8)] = 310
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_keys("frames", self.frames, DRIVES)
        for split, numbers in self.frames.items():
            most = len(DRIVES[split])
            require(len(numbers) <= most, f"frames.{split}", numbers, f"at most {most} drives")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write synthetic drives, ``kitti/<drive>_sync.zip``, and PredBench's lists of drives.

    A drive is a video from a car that drives along a street. The lists name the generated drives
    only.

    Args:
        out: folder of raw files, below which the files are written.
        options: values of `KittiOptions` by name; those that are missing get their defaults.
        report: callback for the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(KittiOptions, options, "generator options")
    (out / "kitti").mkdir(parents=True)
    (out / LIST).parent.mkdir(parents=True)
    total = sum(len(numbers) for numbers in chosen.frames.values())
    done = 0
    for s, split in enumerate(DRIVES):
        listed = {}
        for n, (drive, frames) in enumerate(
            zip(DRIVES[split], chosen.frames.get(split, ()), strict=False)
        ):
            rng = np.random.default_rng([chosen.seed, s, n])
            listed[f"{drive}_sync"] = frames
            _write_drive(out / "kitti" / f"{drive}_sync.zip", drive, frames, chosen, rng)
            done += 1
            report("drives", done, total)
        text = json.dumps(listed, indent=4)
        (out / LIST.format(split)).write_text(text, encoding="utf-8")


def _write_drive(
    path: Path, drive: str, frames: int, options: KittiOptions, rng: np.random.Generator
) -> None:
    street, speed = Street(rng), float(rng.uniform(4, 15))
    date = drive[:10]
    folder = f"{date}/{drive}_sync/image_02"
    first = np.datetime64(f"{date.replace('_', '-')}T13:00:00", "ns")
    first += np.timedelta64(int(rng.integers(0, 3600 * 10**9)), "ns")
    # the shutter opens when the laser scanner looks ahead, within some 0.2 ms of 0.1033 s
    steps = np.rint(rng.normal(0.1033, 0.0002, frames) * 1e9).astype("timedelta64[ns]")
    times = first + np.cumsum(steps)
    with zipfile.ZipFile(path, "w") as archive:  # PNG does not get smaller
        lines = [f"{str(time).replace('T', ' ')}\n" for time in times]
        archive.writestr(zipfile.ZipInfo(f"{folder}/timestamps.txt", _DATE), "".join(lines))
        for n in range(frames):
            at = n / FPS
            picture = street.picture(speed * at, at, options.height, options.width)
            name = f"{folder}/data/{n:010d}.png"
            archive.writestr(zipfile.ZipInfo(name, _DATE), encode_picture(picture))
