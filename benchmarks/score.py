"""How many frames per second does each metric score, against what, and what do more cores bring?

First every metric alone, on one thread, in CPU time, the fastest of several turns; where others
have the same metric, theirs in turns with ours, on the same frames (float32), and the largest
difference to it. Then the scores of a whole cell with all of these metrics, through the code that
`stp score` runs (reading, statistics, bootstrap, files): with more threads in one job, and with
several jobs of one thread side by side, as Snakemake runs them. There a busy machine shows: wall
time needs free cores, CPU time says what the work costs.

    python benchmarks/score.py
    python benchmarks/score.py --weights FOLDER   # LPIPS as well
"""

import argparse
import importlib
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter
from skimage import metrics as skimage

from stp.core.errors import StpError
from stp.core.job import Job
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric
from stp.metrics.perceptual import LearnedMetric, Weights
from stp.options.score import CELL_KEYS
from stp.score import conventions
from stp.score.accumulate import BLOCK_BYTES

SIZES = (64, 128, 256)
PIXELS = 1 << 21  # of a turn
LEADS, CONTEXT, CHANNELS, MEMBERS = 10, 2, 3, 10
PER_FRAME = (
    "mae.pixel_mean",
    "mse.pixel_mean",
    "rmse.per_frame",
    "rmse.pooled",
    "wmape.pooled",
    "psnr.per_frame",
    "ssim.range2",
    "ms_ssim.three_scales",
    "spectral_divergence.finest_tenth",
    "spectral_power.fine_detail",
)
LPIPS_PIXELS = 1 << 19

Frames = np.ndarray  # float32 (N, T, C, H, W)


class Other(NamedTuple):
    """What others have: (predicted, observed) to values (N, T)."""

    name: str
    values: Callable[[Frames, Frames], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="PIXELS")
    parser.add_argument("--turns", type=int, default=3, help="turns of each (default: 3)")
    parser.add_argument(
        "--cores", type=int, nargs="+", metavar="N", help="default: 1, 2, 4, ... of this machine"
    )
    parser.add_argument("--weights", type=Path, help="folder with the weights of LPIPS (AlexNet)")
    parser.add_argument("--only", choices=("metrics", "cores"), help="one of both parts")
    options = parser.parse_args()
    cores = options.cores or doubling(len(os.sched_getaffinity(0)))
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "cores":
            one_by_one(Path(folder), options.sizes, options.turns, options.weights)
        if options.only != "metrics":
            whole_cells(Path(folder), options.sizes, options.turns, cores)


def doubling(most: int) -> list[int]:
    """1, 2, 4, ... and the most."""
    return sorted({*(2**k for k in range(most.bit_length())), most})


# -- metric by metric


def one_by_one(folder: Path, sizes: list[int], turns: int, weights: Path | None) -> None:
    print(f"\n{CHANNELS} channels, one thread, CPU time")
    print(
        f"{'metric':>30} {'px':>4} {'frames/s':>9} {'other':>16} {'frames/s':>9} {'ratio':>6} ",
        end="",
    )
    print("difference")
    for size in sizes:
        clips, predicted = video(max(1, PIXELS // (size * size * LEADS * CHANNELS)), size)
        observed = clips[:, CONTEXT:].astype(np.float32) / np.float32(255)
        data = write(folder / f"metrics-{size}", clips, predicted)
        compared = Comparison(Prepared(data), np.zeros((len(clips), LEADS), np.int64))
        for name in PER_FRAME:
            found = conventions.find(name)
            assert isinstance(found, Metric)
            metric = on_data(found, compared)
            if metric.reason:
                print(f"{name:>30} {size:>4} {metric.reason}")
                continue
            compare(name, size, metric, predicted, observed, other_of(name), turns)
        ensemble(size, observed, turns)
        if weights is not None:
            few = max(1, LPIPS_PIXELS // (size * size * LEADS))
            perceptual(size, predicted[:few], observed[:few], weights, turns)


def compare(
    name: str,
    size: int,
    metric: Metric,
    predicted: Frames,
    observed: Frames,
    other: Other | None,
    turns: int,
) -> None:
    """Print the line of one metric."""

    def ours() -> np.ndarray:
        # In blocks, as `stp score` reads them.
        block = max(1, BLOCK_BYTES // predicted[0].nbytes)
        starts = range(0, len(observed), block)
        parts = [
            metric.statistics(predicted[i : i + block], observed[i : i + block]) for i in starts
        ]
        return np.concatenate(parts)

    difference = 0.0
    if other is not None:
        # Theirs in double precision, where they take it: the difference is ours. Also warms up.
        exact = other.values(predicted.astype(np.float64), observed.astype(np.float64))
        difference = np.abs(metric.finish(ours()) - exact).max()
        other.values(predicted[:1], observed[:1])
    ours()
    fast, slow = [], []
    for _ in range(turns):
        fast.append(seconds(ours))
        if other is not None:
            slow.append(seconds(lambda: other.values(predicted, observed)))
    frames = observed.shape[0] * observed.shape[1]
    line = f"{name:>30} {size:>4} {frames / min(fast):>9,.0f}"
    if other is not None:
        line += f" {other.name:>16} {frames / min(slow):>9,.0f} {min(slow) / min(fast):>6.2f} "
        line += f"{difference:.0e}"
    print(line, flush=True)


def other_of(name: str) -> Other | None:
    """What others have of a metric of single frames."""
    functions: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
        "ssim.range2": lambda p, o: skimage.structural_similarity(
            o, p, channel_axis=0, data_range=2.0
        ),
        "psnr.per_frame": lambda p, o: skimage.peak_signal_noise_ratio(o, p, data_range=1.0),
        "mse.pixel_mean": lambda p, o: skimage.mean_squared_error(o, p),
    }
    if name not in functions:
        return None
    return Other("scikit-image", looped(functions[name]))


def looped(function: Callable[[np.ndarray, np.ndarray], float]) -> Callable[..., np.ndarray]:
    """Frame by frame, as a function of one pair of frames is used."""

    def values(predicted: Frames, observed: Frames) -> np.ndarray:
        return np.array(
            [[function(p, o) for p, o in zip(*pair, strict=True)]
             for pair in zip(predicted, observed, strict=True)]
        )  # fmt: skip

    return values


def ensemble(size: int, observed: Frames, turns: int) -> None:
    """CRPS of several members, against properscoring."""
    try:
        import properscoring
    except ImportError:
        return
    few = observed[: max(1, len(observed) // MEMBERS)]
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.1, (len(few), MEMBERS, *few.shape[1:])).astype(np.float32)
    members = few[:, None] + noise

    def theirs(predicted: np.ndarray, seen: Frames) -> np.ndarray:
        each = [
            [properscoring.crps_ensemble(seen[n, t], predicted[n, :, t], axis=0).mean()
             for t in range(LEADS)]
            for n in range(len(seen))
        ]  # fmt: skip
        return np.array(each)

    metric = conventions.find("crps.pixel_mean")
    assert isinstance(metric, Metric)
    name = f"crps.pixel_mean, {MEMBERS} members"
    compare(name, size, metric, members, few, Other("properscoring", theirs), turns)


def perceptual(size: int, predicted: Frames, observed: Frames, folder: Path, turns: int) -> None:
    """LPIPS, against the authors' package with the same weights."""
    import torch

    torch.set_num_threads(1)
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "metrics"))
    reference = importlib.import_module("lpips_reference").reference
    path = folder / "alexnet_features.pth"
    from stp.core.file_identity import identify

    try:
        identity = {"sha256": identify(path)["sha256"]}
    except StpError as error:
        sys.exit(f"--weights: {error}")
    found = conventions.find("lpips.alex")
    assert isinstance(found, LearnedMetric)
    metric = found.build(Weights(path, identity, "cpu", 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = reference("alex", torch.load(path, weights_only=True))

    def theirs(predicted: Frames, seen: Frames) -> np.ndarray:
        pairs = []
        with torch.inference_mode():
            for p, o in zip(predicted, seen, strict=True):  # a clip at a time
                both = [torch.from_numpy(x.astype(np.float32)).clamp(0, 1) * 2 - 1 for x in (p, o)]
                pairs.append(network(*both).reshape(-1).numpy())
        return np.stack(pairs)

    compare("lpips.alex", size, metric, predicted, observed, Other("lpips", theirs), turns)


# -- whole cells


def whole_cells(folder: Path, sizes: list[int], turns: int, cores: list[int]) -> None:
    print(f"\n{len(PER_FRAME)} metrics of a cell by `stp score`'s code, frames/s of wall time")
    print(f"{'':>22} {'px':>4} {'cores':>5} {'frames/s':>9} {'to one':>7} {'CPU s, to one':>14}")
    for size in sizes:
        clips, predicted = video(max(2, 4 * PIXELS // (size * size * LEADS * CHANNELS)), size)
        cell = write(folder / f"cell-{size}", clips, predicted)
        frames = len(clips) * LEADS
        kinds: dict[str, Callable[[int], tuple[float, float]]] = {
            "threads in a job": lambda n, cell=cell: score(cell, n),
            "jobs side by side": lambda n, cell=cell: side_by_side(cell, n),
        }
        for kind, work in kinds.items():
            jobs = {n: n if kind == "jobs side by side" else 1 for n in cores}
            found = {n: [] for n in cores}
            for _ in range(turns):
                for n in cores:
                    found[n].append(work(n))
            wall = {n: min(turn[0] for turn in found[n]) for n in cores}
            used = {n: min(turn[1] for turn in found[n]) / jobs[n] for n in cores}
            for n in cores:
                rate = {k: jobs[k] * frames / wall[k] for k in (cores[0], n)}
                print(
                    f"{kind:>22} {size:>4} {n:>5} {rate[n]:>9,.0f} "
                    f"{rate[n] / rate[cores[0]]:>7.2f} {used[n] / used[cores[0]]:>14.2f}",
                    flush=True,
                )


def side_by_side(cell: Path, count: int) -> tuple[float, float]:
    """Score one cell in several processes: wall and CPU seconds of all, without their starts."""
    with ProcessPoolExecutor(count) as pool:
        list(pool.map(ready, range(4 * count)))
        start = time.perf_counter()
        used = sum(cpu for _, cpu in pool.map(score, [cell] * count, [1] * count))
        return time.perf_counter() - start, used


def ready(_: int) -> None:
    time.sleep(0.05)


def score(cell: Path, threads: int) -> tuple[float, float]:
    """Wall and CPU seconds of one job."""
    from stp.score.run import run

    recipe: dict[str, Any] = {
        "cell": {name: None if name == "seed" else "benchmark" for name in CELL_KEYS},
        "conventions": list(PER_FRAME),
        "split": "test",
        "bootstrap": {"resamples": 1000, "seed": 0},
        "threads": threads,
    }
    with tempfile.TemporaryDirectory(dir=cell) as out:
        job = Job(recipe, {"data": cell, "predictions": cell}, Path(out), Path(out))
        wall, cpu = time.perf_counter(), time.process_time()
        run(job)
        return time.perf_counter() - wall, time.process_time() - cpu


# -- data


def video(count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Clips of smooth frames, uint8 (N, CONTEXT + LEADS, C, H, W), and noisy predictions of them,
    float32 (N, LEADS, C, H, W)."""
    rng = np.random.default_rng(0)
    shape = (count, CONTEXT + LEADS, CHANNELS, size, size)
    smooth = gaussian_filter(rng.random(shape, dtype=np.float32), (0, 0, 0, 2, 2))
    clips = np.rint(255 * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.uint8)
    truth = clips[:, CONTEXT:].astype(np.float32) / 255
    noise = np.float32(0.05) * rng.standard_normal(truth.shape, np.float32)
    return clips, np.clip(truth + noise, 0, 1)


def write(folder: Path, clips: np.ndarray, predicted: np.ndarray) -> Path:
    """Write prepared data and predictions into one folder."""
    folder.mkdir()
    attrs = {
        "dataset": "benchmark",
        "units": "1",
        "stored_scale": 1 / 255,
        "stored_offset": 0.0,
        "shape": list(clips.shape[2:]),
        "context": CONTEXT,
        "horizon": LEADS,
        "phases": 1,
    }
    frames = clips.reshape(-1, *clips.shape[2:])
    rows: list[tuple[str, dict[str, Any], str, np.ndarray, tuple[str, ...]]] = [
        ("frames.zarr", attrs, "frames", frames, ("frame",)),
        ("predictions.zarr", {"units": "1"}, "predictions", predicted, ("sample", "lead")),
    ]
    for store, about, name, values, outer in rows:
        group = create_group(folder / store, about)
        dims, chunk = (*outer, "channel", "y", "x"), (1, *values.shape[1:])
        array = create_array(group, name, values.shape, values.dtype, dims, chunk)
        with SequentialWriter(array) as writer:
            writer.append(values)
    count, length = clips.shape[:2]
    index = {
        "split": "test",
        "clip": [f"clip{n}" for n in range(count)],
        "start": np.arange(count) * length,
        "stride": 1,
        "length": length,
        "cluster": [f"video{n}" for n in range(count)],
        "phase": 0,
    }
    pd.DataFrame(index).to_parquet(folder / "index.parquet")
    return folder


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
