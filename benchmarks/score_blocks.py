"""Which work shall scoring do at the same time: blocks of samples, or conventions of one block?

A cell of video and one of weather, made up, with the conventions of config/suites, scored in
one pass from memory: by one thread; by threads that share the conventions of each block (and wait
for the slowest of them); by threads that take a block each; and by dask, a task for each block.
Ways take turns; of each the fastest turn counts, since other processes only slow down. Sums over
all samples are compared with those of one thread.

    python benchmarks/score_blocks.py
"""

import argparse
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import dask
import numpy as np
import pandas as pd
import zarr

from stp.data.prepared import Prepared
from stp.data.zarr_write import create_array, create_group
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.prepare.climatology import Means, write_climatology
from stp.prepare.output import write_coordinate
from stp.score import conventions
from stp.score.accumulate import BLOCK_BYTES

Statistics = Callable[[str, np.ndarray], np.ndarray]
SHAPES = {"video": (1, 10, 3, 128, 128), "weather": (2, 4, 16, 128, 256)}
"""Context, lead times, C, H, W."""
DAYS = 40


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--samples", type=int, default=48, help="of each cell (default: 48)")
    parser.add_argument("--turns", type=int, default=5, help="of each way (default: 5)")
    options = parser.parse_args()
    ways: dict[str, Callable[..., dict[str, np.ndarray]]] = {
        "one thread": one_thread,
        "conventions": by_conventions,
        "blocks": by_blocks,
        "dask, blocks": by_dask,
    }
    print(f"{'cell':<8} {'way':<13} {'frames/s':>9} {'CPU s':>6} {'ratio':>6} {'difference':>11}")
    for name in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            metrics, predicted, observed = cell(name, options.samples, Path(folder))
            size = max(1, BLOCK_BYTES // predicted[0].nbytes)
            blocks = [
                np.arange(start, min(start + size, len(predicted)))
                for start in range(0, len(predicted), size)
            ]

            def of(
                convention: str,
                numbers: np.ndarray,
                metrics: dict[str, Metric] = metrics,
                p: np.ndarray = predicted,
                o: np.ndarray = observed,
            ) -> np.ndarray:
                metric = metrics[convention]
                more = (numbers,) if metric.numbered else ()
                return metric.statistics(p[numbers], o[numbers], *more)

            seconds: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
            sums = {}
            for _ in range(options.turns):
                for way, run in ways.items():
                    wall, cpu = time.perf_counter(), time.process_time()
                    sums[way] = run(of, list(metrics), blocks, options.threads)
                    seconds[way].append((time.perf_counter() - wall, time.process_time() - cpu))
            frames = len(predicted) * predicted.shape[1]
            alone = min(seconds["one thread"])[0]
            for way, took in seconds.items():
                wall, cpu = min(took)
                print(
                    f"{name:<8} {way:<13} {frames / wall:>9,.0f} {cpu:>6.2f} {alone / wall:>6.2f} "
                    f"{difference(sums[way], sums['one thread']):>11.1e}"
                )


def one_thread(
    of: Statistics, names: list[str], blocks: list[np.ndarray], threads: int
) -> dict[str, np.ndarray]:
    """One convention and one block after the other."""
    return added({name: of(name, numbers) for name in names} for numbers in blocks)


def by_conventions(
    of: Statistics, names: list[str], blocks: list[np.ndarray], threads: int
) -> dict[str, np.ndarray]:
    """The conventions of a block at the same time, block after block."""
    with ThreadPoolExecutor(threads) as pool:
        return added(
            dict(zip(names, pool.map(of, names, [numbers] * len(names)), strict=True))
            for numbers in blocks
        )


def by_blocks(
    of: Statistics, names: list[str], blocks: list[np.ndarray], threads: int
) -> dict[str, np.ndarray]:
    """Blocks at the same time, added in order: as stp.score.accumulate does it."""

    def every(numbers: np.ndarray) -> dict[str, np.ndarray]:
        return {name: of(name, numbers) for name in names}

    def found() -> Iterator[dict[str, np.ndarray]]:
        waiting: deque[Any] = deque()
        with ThreadPoolExecutor(threads) as pool:
            for numbers in blocks:
                waiting.append(pool.submit(every, numbers))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    return added(found())


def by_dask(
    of: Statistics, names: list[str], blocks: list[np.ndarray], threads: int
) -> dict[str, np.ndarray]:
    """A task for each block; all of them are there before the first is added."""

    def every(numbers: np.ndarray) -> dict[str, np.ndarray]:
        return {name: of(name, numbers) for name in names}

    tasks = [dask.delayed(every, pure=False)(numbers) for numbers in blocks]
    return added(dask.compute(*tasks, scheduler="threads", num_workers=threads))


def added(parts: Iterable[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Sums over all samples, one after the other."""
    sums: dict[str, np.ndarray] = {}
    for part in parts:
        for name, statistics in part.items():
            for row in statistics:
                sums[name] = sums.get(name, 0.0) + row
    return sums


def difference(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """The largest relative difference."""
    return max(
        float(np.max(np.abs(one[name] - other[name]) / np.maximum(np.abs(other[name]), 1e-300)))
        for name in other
    )


def cell(name: str, samples: int, folder: Path) -> tuple[dict[str, Metric], np.ndarray, np.ndarray]:
    """The conventions that are scored on video or weather, and frames to score."""
    context, leads, *frame = SHAPES[name]
    rng = np.random.default_rng(0)
    fields = rng.normal(0.5, 0.1, (DAYS, *frame)).astype(np.float32)
    starts = np.arange(samples) % (DAYS - context - leads)
    observed = np.stack([fields[s + context : s + context + leads] for s in starts])
    predicted = observed + rng.normal(0, 0.05, observed.shape).astype(np.float32)
    data = prepared(folder, fields, starts, context, leads)
    evaluation = read_yaml(CONFIG_FOLDER / "evaluation" / "predbench.yaml")
    wanted = dict.fromkeys([*evaluation["columns"][name].values(), *evaluation["also"][name]])
    found = {w: conventions.find(w) for w in wanted}
    frames = starts[:, None] + context + np.arange(leads)
    compared = Comparison(data, frames)
    metrics = {
        convention: on_data(metric, compared)
        for convention, metric in found.items()
        if isinstance(metric, Metric)
    }
    return {k: m for k, m in metrics.items() if not m.reason}, predicted, observed


def prepared(
    folder: Path, fields: np.ndarray, starts: np.ndarray, context: int, leads: int
) -> Prepared:
    """Prepared data with what metrics on the globe need: latitudes, times, a climatology."""
    attributes = {"shape": list(fields.shape[1:]), "context": context, "horizon": leads}
    group = create_group(folder / "frames.zarr", attributes)
    dims = ("frame", "channel", "y", "x")
    array = create_array(group, "frames", fields.shape, np.float32, dims, (1, *fields.shape[1:]))
    array[:] = fields
    height = fields.shape[2]
    latitudes = (np.arange(height) + 0.5) * 180 / height - 90
    write_coordinate(group, "lat", "y", latitudes, units="degrees_north")
    first = np.datetime64("2000-01-01", "h").astype(np.int64)
    hours = first + 24 * np.arange(len(fields))
    write_coordinate(group, "time", "frame", hours, units="hours since 1970-01-01")
    means = [Means(name, (2000,), "one year") for name in ("with_validation", "without_validation")]
    write_climatology(
        folder / "climatology.zarr", zarr.open_array(str(folder / "frames.zarr" / "frames")),
        hours, means, {}, lambda *progress: None,
    )  # fmt: skip
    index = pd.DataFrame(
        {
            "split": "test",
            "clip": [f"clip{n}" for n in range(len(starts))],
            "start": starts,
            "stride": 1,
            "length": context + leads,
            "cluster": "one",
            "phase": 0,
        }
    )
    index.to_parquet(folder / "index.parquet")
    return Prepared(folder)


if __name__ == "__main__":
    main()
