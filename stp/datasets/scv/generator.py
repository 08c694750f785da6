"""Generate a synthetic version of StarCraft 2 Videos: simple scenarios in the official format.

Same as in the official data: folders and names of files, the TFRecord framing, the SequenceExample
with four numbers and a PNG for each frame, the choice of recorded frames, and lengths of videos.
Different: the look of units (stp/datasets/scv/appearance.py), outcomes of games, and the number of
videos, which is an option. Beside each TFRecord file, ``<name>.state.parquet`` has the true state
of the map: a row for each object in each frame, the same for every size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require
from stp.datasets.scv.appearance import Thing, draw
from stp.datasets.scv.scenarios import SCENARIOS, Scenario, play
from stp.fetch.film_write import encode_picture
from stp.fetch.tfrecord_write import sequence_example, write_records

LOOPS = 8
"""Number of game loops per frame; the game has 22.4 loops per second."""


@dataclass(frozen=True)
class ScvOptions:
    """Options of the generator of synthetic StarCraft 2 Videos.

    Attributes:
        scenario: move_unit_to_border, collect_mineral_shards, brawl or road_trip_with_medivac.
        size: height and width of a frame (officially 64 and 128); the game does not depend on the
            size.
        train: number of training videos (officially 10,000).
        valid: number of validation videos (2,000).
        test: number of test videos (2,000).
        files: number of files of the training videos (10); other splits have one file each.
        seed: seed of all random numbers; a video does not depend on the number of videos.
        play: parameters of the game that differ from the defaults, such as ``{army: 4}``; see
            `Scenario`.
    """

    scenario: str
    size: Annotated[int, Field(ge=16)] = 64
    train: PositiveInt = 32
    valid: PositiveInt = 8
    test: PositiveInt = 16
    files: PositiveInt = 10
    seed: NonNegativeInt = 0
    play: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        names = " or ".join(SCENARIOS)
        require(self.scenario in SCENARIOS, "scenario", self.scenario, names)


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write synthetic videos of one scenario, and the true positions of all objects in them.

    - ``scv/<map>_<size>x<size>_png/<split>-<i>-of-<n>.tfrecords``: the videos.
    - ``<split>-<i>-of-<n>.state.parquet``, beside these files: a row for each object (`Thing`) in
      each frame of a video.

    Args:
        out: folder below which the files are written.
        options: values of `ScvOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(ScvOptions, options, "generator options")
    scenario = build(Scenario, chosen.play or {}, "generator options.play")
    title = SCENARIOS[chosen.scenario][0]
    folder = out / f"scv/{title}_{chosen.size}x{chosen.size}_png"
    done, total = 0, chosen.train + chosen.valid + chosen.test
    for number, split in enumerate(("train", "valid", "test")):
        files = chosen.files if split == "train" else 1
        for i, videos in enumerate(np.array_split(np.arange(getattr(chosen, split)), files)):
            written, states = [], []
            for video in videos:
                rng = np.random.default_rng([chosen.seed, number, int(video)])
                frames, length = play(chosen.scenario, rng, scenario)
                written.append(record(frames, length, chosen.size))
                states += [
                    (len(written) - 1, t, *thing)
                    for t, things in enumerate(frames)
                    for thing in things
                ]
                done += 1
                report("play videos", done, total)
            name = f"{split}-{i:05d}-of-{files:05d}"
            write_records(folder / f"{name}.tfrecords", written)
            table = pd.DataFrame(states, columns=["video", "frame", *Thing._fields])
            table.to_parquet(
                folder / f"{name}.state.parquet", index=False, write_page_checksum=True
            )


def record(frames: Sequence[Sequence[Thing]], length: int, size: int) -> bytes:
    """Draw one video, and encode it as a SequenceExample.

    Args:
        frames: objects on the map in each recorded frame.
        length: number of frames of the whole game, most of which are not recorded.
        size: height and width of a picture, pixels.
    """
    loops = length * LOOPS
    context = {
        "game_duration_loops": np.array([loops]),
        "game_duration_seconds": np.array([loops / 22.4], np.float32),
        "n_steps": np.array([len(frames)]),
        "screen_size": np.array([size, size]),
    }
    pictures = [[encode_picture(draw(things, size), compress_level=1)] for things in frames]
    return sequence_example(context, {"rgb_screen": pictures})
