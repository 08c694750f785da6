"""Random training clips: our memory-mapped reader against zarr-python and a NumPy memmap.

    python benchmarks/read_clips.py

Four readers of the same frames: ours; a memmap of one .npy file, the fastest there can be;
zarr-python on our store; and zarr-python on a store with a chunk for each frame, compressed as the
library does by default. Each is measured with bare bytes copied, and as the training loop reads:
converted to float32 in the dataset's units. Clips per second on one thread, page cache warm.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import zarr

from stp.data.zarr_rows import MappedRows
from stp.data.zarr_write import SequentialWriter, create_array, create_group

FRAMES = 4000
Read = Callable[[int], np.ndarray]


def clips_per_second(read: Read, starts: np.ndarray, seconds: float) -> float:
    """Read clips for about so many seconds."""
    for start in starts[:20]:
        read(int(start))
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        read(int(starts[count % len(starts)]))
        count += 1
    return count / (time.perf_counter() - begun)


def in_units(frames: np.ndarray) -> np.ndarray:
    """Bytes -> brightness 0..1, as stp.data.prepared does it."""
    out = np.empty(frames.shape, np.float32)
    return np.divide(frames, np.float32(255), out=out, dtype=np.float32, casting="unsafe")


def drifting_shapes(shape: tuple[int, ...]) -> np.ndarray:
    """Frames that compress about as video does: smooth, with some noise."""
    random = np.random.default_rng(0)
    y, x = np.mgrid[: shape[2], : shape[3]]
    frames = np.empty(shape, np.uint8)
    for n, frame in enumerate(frames):
        wave = 100 + 60 * np.sin((x + n) / 9) + 60 * np.cos((y - n / 2) / 13)
        frame[:] = wave + random.integers(0, 12, shape[1:])
    return frames


def readers(folder: Path, frames: np.ndarray, length: int) -> dict[str, Read]:
    """Write the frames in every layout; the readers of a clip by name, ours first."""
    group = create_group(folder / "frames.zarr", {})
    dims, chunk = ("frame", "channel", "y", "x"), (10, *frames.shape[1:])
    with SequentialWriter(
        create_array(group, "frames", frames.shape, "uint8", dims, chunk)
    ) as writer:
        writer.append(frames)
    np.save(folder / "frames.npy", frames)
    single = zarr.create_array(
        folder / "single.zarr", shape=frames.shape, dtype="uint8", chunks=(1, *frames.shape[1:])
    )
    single[:] = frames
    ours = MappedRows(folder / "frames.zarr" / "frames")
    ours.seal()  # as the store does: each chunk is checked when it is read first
    memmap = np.load(folder / "frames.npy", mmap_mode="r")
    same = zarr.open_array(folder / "frames.zarr" / "frames", mode="r")
    return {
        "ours": lambda start: ours.read(start, start + length),
        "memmap": lambda start: memmap[start : start + length],
        "zarr-python, our store": lambda start: np.asarray(same[start : start + length]),
        "zarr-python, a chunk per frame": lambda start: np.asarray(single[start : start + length]),
    }


def main() -> None:
    """Write the stores, read them in all ways, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=20, help="frames of a clip")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    options = parser.parse_args()
    starts = np.random.default_rng(1).integers(0, FRAMES - options.length, 2000)
    print("| frame | reads | ours, clips/s | ", end="")
    print("times memmap | times zarr-python | times zarr-python, a chunk per frame |")
    print("|---|---|---:|---:|---:|---:|")
    for shape in ((1, 64, 64), (3, 128, 128)):
        with tempfile.TemporaryDirectory() as folder:
            ways = readers(Path(folder), drifting_shapes((FRAMES, *shape)), options.length)
            name = "x".join(map(str, shape))
            for what, convert in (("bytes", np.array), ("float32", in_units)):
                speed = [
                    clips_per_second(lambda i, r=r, c=convert: c(r(i)), starts, options.seconds)
                    for r in ways.values()
                ]
                ratios = " | ".join(f"{speed[0] / other:.2f}" for other in speed[1:])
                print(f"| {name} | {what} | {speed[0]:,.0f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
