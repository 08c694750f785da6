"""Rain radar: a file of rain rates for each day, mm/h; days are dealt to the splits in order."""

from dataclasses import dataclass

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.data.windows import starts
from stp.prepare.frames import Piece, write_frames
from stp.prepare.output import Clip, attributes, write_index


@dataclass(frozen=True)
class RainOptions:
    """Options of the reader.

    Attributes:
        frames: of each day.
        val, test: days of the validation and of the test, the last ones.
    """

    frames: int = 20
    val: int = 1
    test: int = 1

    def __post_init__(self) -> None:
        for key in ("frames", "val", "test"):
            require(whole(getattr(self, key), 1), key, getattr(self, key), "a number from 1")


def run(job: Job) -> Extras:
    """Write ``frames.zarr`` and ``index.parquet``.

    Raises:
        StpError: an option or a raw file is wrong.
    """
    recipe = job.recipe
    options = build(RainOptions, recipe["options"], "prepare options")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    shape = (options.frames, *recipe["shape"][1:])
    pieces = [
        Piece(name, options.frames, (name, shape), int(np.prod(shape)) * 4) for name in raw.names
    ]
    attrs = attributes(
        recipe,
        raw,
        units="mm/h",
        stored_scale=1.0,
        stored_offset=0.0,
        normalisation={"offset": 0.0, "scale": 10.0, "method": "fixed", "from": "a guess"},
        phases=1,
        variables=None,
    )
    written = write_frames(job, raw, pieces, decode, attrs=attrs, dtype=np.float32, unit="days")
    length = recipe["context"] + recipe["horizon"]
    days, clips = len(raw.names), []
    for day in range(days):
        later = days - 1 - day
        late = later < options.test + options.val
        split = "test" if later < options.test else "val" if late else "train"
        clips += [
            Clip(split, f"day-{day:02d}/{start:03d}", day * options.frames + start, 1, length,
                 f"day-{day:02d}")
            for start in starts(0, options.frames, length, 4).tolist()
        ]  # fmt: skip
    return {**write_index(job.out, clips), **written.extras}


def decode(raw: RawFiles, task: tuple[str, tuple[int, ...]]) -> np.ndarray:
    """A day, float32 (T, 1, H, W), mm/h.

    Raises:
        StpError: the file has another shape, or values that are no rain.
    """
    name, shape = task
    rain = np.load(raw.find(name), allow_pickle=False)
    if rain.shape != shape or not (rain >= 0).all():
        raise StpError(f"{raw.find(name)}: shape {rain.shape}", expected=f"rain of shape {shape}")
    return rain[:, None].astype(np.float32)
