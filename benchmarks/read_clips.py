"""Random clips of a prepared store: our memory-mapped reader against zarr-python, same bytes.

    python benchmarks/read_clips.py

Prints clips per second of both, on one thread with a warm page cache, and their ratio.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import zarr

from stp.data.zarr_rows import MappedRows
from stp.data.zarr_write import SequentialWriter, create_array, create_group

FRAMES = 4000


def clips_per_second(
    read: Callable[[int], np.ndarray], starts: np.ndarray, seconds: float
) -> float:
    """Read clips for about so many seconds."""
    for start in starts[:50]:
        read(int(start))
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        read(int(starts[count % len(starts)]))
        count += 1
    return count / (time.perf_counter() - begun)


def read_mapped(array: MappedRows, length: int, start: int) -> np.ndarray:
    """Ours; lazy until its bytes are touched, so copy, as a batch does."""
    return array.read(start, start + length).copy()


def read_zarr(array: zarr.Array, length: int, start: int) -> np.ndarray:
    """The alternative."""
    return np.asarray(array[start : start + length])


def main() -> None:
    """Write a store, read it in both ways, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=20, help="frames of a clip")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    options = parser.parse_args()
    random = np.random.default_rng(0)
    print("| frame | ours, clips/s | zarr-python, clips/s | ratio |\n|---|---:|---:|---:|")
    for size in (64, 128):
        with tempfile.TemporaryDirectory() as folder:
            group = create_group(Path(folder) / "frames.zarr", {})
            shape, dims = (FRAMES, 1, size, size), ("frame", "channel", "y", "x")
            array = create_array(group, "frames", shape, "uint8", dims, (10, 1, size, size))
            with SequentialWriter(array) as writer:
                writer.append(random.integers(0, 255, shape, dtype=np.uint8))
            ours = MappedRows(Path(folder) / "frames.zarr" / "frames")
            theirs = zarr.open_array(Path(folder) / "frames.zarr" / "frames", mode="r")
            starts = random.integers(0, FRAMES - options.length, 2000)
            a, b = (
                clips_per_second(partial(read, array, options.length), starts, options.seconds)
                for read, array in ((read_mapped, ours), (read_zarr, theirs))
            )
            print(f"| 1x{size}x{size} | {a:,.0f} | {b:,.0f} | {a / b:.1f} |")


if __name__ == "__main__":
    main()
