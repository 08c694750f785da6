"""How fast a training reads its data, beside the reader's own speed, in one run.

    python benchmarks/training_reads.py

Made-up days of ChaosBench (60 variables on 121 x 240 points, 7 MB each), on disk as prepared data.
Clips are a day and the one after it, in random order. Compared are, in one thread, page cache warm:

- the reader, frames of mapped chunks as float32, into two blocks of memory in turns, as large as a
  batch: 0.4 GB, which no cache holds;
- the reader clip by clip, as `benchmarks/read_clips.py` measures it: each clip is written where the
  one before it was, which stays in the cache;
- the batches of a training (`stp.train.batches`) on a GPU, which normalises them itself: torch's
  device `meta`, which computes nothing, stands in for it, so copying to it is not included;
- the batches of a training on the CPU: the same clips, normalised.

Rates are clips per second of CPU time, of all threads and with that of the kernel; the best of some
turns. In a training, a thread reads the next batch while another one computes.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import torch

from stp.data.prepared import Clips, Prepared
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.models.normalisation import Normalisation
from stp.run.runner import keep_freed_memory
from stp.train.batches import read_batches

CHANNELS = 60
CLIPS_AT_FULL_SIZE, EPOCHS = 13_469, 500
"""Of the training years of ChaosBench, and of its networks."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=200, help="of 7 MB (default: 200)")
    parser.add_argument("--batch", type=int, default=32, help="clips (default: 32)")
    parser.add_argument("--batches", type=int, default=100, help="in a turn (default: 100)")
    parser.add_argument("--turns", type=int, default=2, help="of each (default: 2)")
    parser.add_argument("--folder", type=Path, help="for the data (default: a temporary one)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()  # as every job does
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        write(Path(name), options.days)
        data = Prepared(Path(name))
        clips, normalisation = data.clips("train"), Normalisation.of(data.attrs)
        # Many batches, as an epoch has: the memory of the first two is new, which costs more.
        rows = np.random.default_rng(1).integers(len(clips), size=options.batches * options.batch)
        ways: dict[str, Callable[[], None]] = {
            "reader, into batches": partial(into_blocks, clips, rows, options.batch),
            "reader, clip by clip": lambda: spend(clips.read([row]) for row in rows),
        }
        for way, device in (("batches, for a GPU", "meta"), ("batches, for the CPU", "cpu")):
            ways[way] = partial(batches, clips, rows, options.batch, normalisation, device)
        seconds = dict.fromkeys(ways, float("inf"))
        for _ in range(options.turns + 1):  # the first turn warms the page cache as well
            for way, work in ways.items():
                begun = time.process_time()
                work()
                seconds[way] = min(seconds[way], time.process_time() - begun)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        print("| | clips per CPU s | MB per CPU s | to the reader | CPU hours of a training |")
        print("|---|---:|---:|---:|---:|")
        size = 2 * np.prod(data.shape) * 4 / 1e6
        for way, taken in seconds.items():
            rate = len(rows) / taken
            hours = CLIPS_AT_FULL_SIZE * EPOCHS / rate / 3600
            ratio = seconds["reader, into batches"] / taken
            print(f"| {way} | {rate:.1f} | {rate * size:,.0f} | {ratio:.2f}x | {hours:.0f} |")


def write(folder: Path, days: int) -> None:
    """Write days of noise, and an index of clips of two."""
    shape = (CHANNELS, 121, 240)
    attrs = {
        "dataset": "benchmark", "units": "physical", "shape": list(shape), "context": 1,
        "horizon": 1, "phases": 1,
        "normalisation": {"offset": [280.0] * CHANNELS, "scale": [10.0] * CHANNELS},
    }  # fmt: skip
    group = create_group(folder / "frames.zarr", attrs)
    dims = ("frame", "channel", "y", "x")
    # One file: of 37 years, too, few clips lie in two.
    array = create_array(
        group, "frames", (days, *shape), np.float32, dims, (1, *shape), max_files=1
    )
    day = np.random.default_rng(0).normal(280, 10, shape).astype(np.float32)
    with SequentialWriter(array) as writer:
        for number in range(days):
            writer.append(np.roll(day, number, axis=-1)[None])
    starts = np.arange(days - 1)
    pd.DataFrame({
        "split": "train", "clip": [f"day{n}" for n in starts], "start": starts,
        "stride": np.int32(1), "length": np.int32(2), "cluster": "all", "phase": np.int32(0),
    }).to_parquet(folder / "index.parquet")  # fmt: skip


def into_blocks(clips: Clips, rows: np.ndarray, size: int) -> None:
    """Read clips into two blocks in turns."""
    blocks = np.empty((2, size, 2, *clips.prepared.shape), np.float32)
    for turn, first in enumerate(range(0, len(rows), size)):
        part = rows[first : first + size]
        clips.read(part, out=blocks[turn % 2][: len(part)])


def batches(
    clips: Clips, rows: np.ndarray, size: int, normalisation: Normalisation, device: str
) -> None:
    """Read normalised clips (B, 2, C, H, W) as a training does, and use nothing."""
    spend(
        read_batches(
            clips,
            rows,
            size,
            length=2,
            normalisation=normalisation,
            device=torch.device(device),
        )
    )


def spend(items: Iterator[object]) -> None:
    """Read all, and use nothing."""
    for _ in items:
        pass


if __name__ == "__main__":
    main()
