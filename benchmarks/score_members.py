"""Scores of ensembles at the size of ChaosBench, against the library `scores`.

    python benchmarks/score_members.py

The data are made up: 60 variables on 121 x 240 points, daily starts with 50 members. Both sides
compute the same scores of each start, lead time and variable, weighted by latitude: fair CRPS, that
of the climatology (CRPSS is made of both), spread, its ratio to the error, RMSE of the mean of the
members, and the rank histogram. First they race with the CRPS alone.

- ours: what `stp score` runs, from mapped stores to Parquet files, in one thread. There are too few
  starts for intervals;
- the library: the same stores, opened by xarray. It is given a start at a time, and functions are
  called for each lead time and variable. CRPS, rank histogram and squared errors are from `scores`,
  the variance from xarray, and the CRPS of a normal distribution from properscoring. It computes in
  the precision of the files, float32, where we mostly use float64.

We read and score one lead time after the other, so a few of them tell what 44 take; what is
extrapolated says so. Mapped files are in memory only as long as there is room, so the memory
without them is shown as well.

Compared are rates in CPU time, which a busy machine disturbs less than wall time. Imports and the
loading of compiled code are not in it. Each side runs in a process of its own, after the files have
left the page cache.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import xarray as xr
import zarr
from score_globe import HEIGHT, LATITUDES, WIDTH, Cost, costed, day, forget, rows, write

from stp.core.job import Job
from stp.data.zarr_rows import seal_arrays
from stp.data.zarr_write import create_group
from stp.options.score import CELL_KEYS

CRPS = "crps.weighted"
SCORED = (
    CRPS,
    "crpss.climatology",
    "spread.weighted",
    "spread.weighted_skill_ratio",
    "wrmse.pooled",
    "rank_histogram.weighted",
)
LEADS, STARTS = 44, 320
"""Lead times of ChaosBench, and its starts in a year."""

DIMS = ("start", "member", "lead", "variable", "lat", "lon")

Values = dict[str, np.ndarray]
"""By convention, what its value is made of, float64 (starts, numbers of all variables, leads)."""


class Taken(NamedTuple):
    """What scoring took.

    Attributes:
        cost: with the `Values`.
        unmapped: largest memory without mapped files, bytes.
    """

    cost: Cost
    unmapped: int


def main() -> None:
    """Print the machine, a row for each side and task, and the largest differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--leads", type=int, default=2)
    parser.add_argument("--library-leads", type=int, help="of them (default: all)")
    parser.add_argument("--levels", type=int, default=10, help="of six variables each")
    parser.add_argument("--folder", type=Path, help="for the data (default: a temporary one)")
    options = parser.parse_args()
    starts, leads, channels = options.starts, options.leads, 6 * options.levels
    library_leads = options.library_leads or leads
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_members(folder, starts, options.members, leads, options.levels)
        print(
            f"| | fields of {options.members} members | CPU s | wall s | fields per CPU s | "
            "to the library | memory, GB | without mapped files, GB | read, GB |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for task, wanted in (("CRPS", (CRPS,)), ("all", SCORED)):
            taken: dict[str, Taken] = {}
            rates: dict[str, float] = {}
            for side, run, of in (("library", library, library_leads), ("ours", ours, leads)):
                forget(folder)
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    taken[side] = pool.submit(run, folder, wanted, of).result()
                cost, fields = taken[side].cost, starts * of * channels
                rates[side] = fields / cost.cpu
                print(
                    f"| {side}, {task} | {fields:,} | {cost.cpu:.1f} | {cost.wall:.1f} | "
                    f"{rates[side]:.1f} | {rates[side] / rates['library']:.1f}x | "
                    f"{cost.memory / 1e9:.2f} | {taken[side].unmapped / 1e9:.2f} | "
                    f"{cost.read / 1e9:.2f} |",
                    flush=True,
                )
    print(f"load at the end {os.getloadavg()[0]:.1f}")
    for convention in SCORED:
        theirs = taken["library"].cost.values[convention]
        found = taken["ours"].cost.values[convention][..., :library_leads]
        difference = np.abs(found - theirs)
        print(
            f"{convention}: values up to {np.abs(theirs).max():.2g}, largest difference "
            f"{difference.max():.0e}, relative to the value {relative(difference, theirs):.0e}"
        )
    extrapolated(taken["ours"].cost, starts * leads)


def relative(difference: np.ndarray, values: np.ndarray) -> float:
    """The largest difference over the value it belongs to; shares of 0 have none."""
    return float((difference[values != 0] / np.abs(values[values != 0])).max())


def extrapolated(cost: Cost, scored: int) -> None:
    """Print what all lead times take, of one start and of a year.

    Args:
        cost: of all conventions.
        scored: lead times of all starts that it is of.
    """
    minutes, read = cost.cpu * LEADS / scored / 60, cost.read * LEADS / scored / 1e9
    print(f"{LEADS} lead times of one start, extrapolated: {minutes:.1f} minutes of CPU time, "
          f"{read:.0f} GB read")  # fmt: skip
    print(f"{STARTS} such starts, a year, extrapolated: {minutes * STARTS / 60:.0f} hours of CPU "
          f"time, {read * STARTS / 1000:.1f} TB read")  # fmt: skip


# Data


def ensemble(start: int, members: int, leads: int, channels: int) -> np.ndarray:
    """Made-up forecasts that lose the weather, each to another one, float32 (M, T, C, H, W)."""
    made = np.empty((members, leads, channels, HEIGHT, WIDTH), np.float32)
    for lead in range(1, leads + 1):
        lost = np.float32(1 - np.exp(-lead / 10))
        kept = (1 - lost) * day(start + lead, channels)
        other = lost * day(999 + start + lead, channels)
        for member in range(members):
            # 83 has no factor in common with 240, so that no two members are alike.
            made[member, lead - 1] = kept + np.roll(other, 83 * member, axis=-1)
    return made


def write_members(folder: Path, starts: int, members: int, leads: int, levels: int) -> None:
    """Write prepared data, a climatology with deviations, and forecasts with members."""
    channels = 6 * levels
    write(folder, starts, 0, leads, levels)  # also single forecasts, which are not read here
    shape = (channels, HEIGHT, WIDTH)
    days = starts + leads
    deviations = (
        np.full(shape, day(n, channels).std(axis=(1, 2), keepdims=True)) for n in range(days)
    )
    group = zarr.open_group(str(folder / "climatology.zarr"))
    rows(group, "climatology_deviation", deviations, (days, *shape), 1)
    out = folder / "members"
    out.mkdir()
    shutil.copy(folder / "index.parquet", out / "index.parquet")
    group = create_group(out / "predictions.zarr", {"units": "physical"})
    made = (ensemble(n, members, leads, channels) for n in range(starts))
    rows(group, "predictions", made, (starts, members, leads, *shape), 1)
    for artefact in (folder, out):
        seal_arrays(artefact)


# Measuring


def measured(work: Callable[[], Values]) -> Taken:
    """Do some work, and look at the memory twenty times a second."""
    done, seen = Event(), [unmapped()]

    def look() -> None:
        while not done.wait(0.05):
            seen.append(unmapped())

    with ThreadPoolExecutor(1) as pool:
        pool.submit(look)
        try:
            cost = costed(work)
        finally:
            done.set()
    return Taken(cost, max(seen))


def unmapped() -> int:
    """Memory of this process that is no mapped file, bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("RssAnon")))


# Ours


def ours(folder: Path, wanted: tuple[str, ...], _: int) -> Taken:
    """Score by the code of `stp score`, with the memory settings of its runner."""
    from stp.metrics.globe import moments
    from stp.run.runner import keep_freed_memory
    from stp.score import conventions
    from stp.score.run import run

    # Done once in a process, however much is scored: it must not be multiplied.
    point = np.zeros((1, 1, 1), np.float32)
    moments(point, point, point, np.ones(1))
    for name in wanted:
        conventions.find(name)

    recipe: dict[str, Any] = {
        "cell": {name: None if name == "seed" else "benchmark" for name in CELL_KEYS},
        "conventions": list(wanted),
        "split": "test",
        "bootstrap": {"resamples": 1000, "seed": 0},
        "threads": 1,
        "statistic": "ensemble_mean",
    }

    keep_freed_memory()
    with tempfile.TemporaryDirectory(dir=folder) as name:
        out = Path(name)
        inputs = {"data": folder, "predictions": folder / "members"}

        def work() -> Values:
            run(Job(recipe, inputs, out, out / "state"))
            return {}

        taken = measured(work)
        return taken._replace(cost=taken.cost._replace(values=sums(out)))


def sums(out: Path) -> Values:
    """What was written for each cluster; here each start is one."""
    table = pd.read_parquet(out / "cluster_sums.parquet")
    return {
        str(convention): np.stack(
            [np.reshape(row.sums, (row.components, -1)) for row in of_clusters.itertuples()]
        )
        for convention, of_clusters in table.groupby("convention")
    }


# The library


def library(folder: Path, wanted: tuple[str, ...], leads: int) -> Taken:
    """Open the stores by xarray, and score each lead time and variable by functions of `scores`."""
    import properscoring
    from scores import continuous, probability
    from scores.functions import create_latitude_weights
    from scores.processing import aggregate

    weights = create_latitude_weights(xr.DataArray(LATITUDES, dims="lat"))

    def opened(store: str, name: str, *dims: str) -> xr.DataArray:
        found = xr.open_zarr(folder / store, chunks=None, consolidated=False, drop_variables="day")
        return found[name].rename(dict(zip(found[name].dims, dims, strict=True)))

    def scored(members: xr.DataArray, *known: xr.DataArray) -> dict[str, list[float]]:
        """Of one variable at one lead time, in the order of our numbers."""
        observed, mean, deviation = known
        crps = probability.crps_for_ensemble(
            members, observed, "member", method="fair", weights=weights
        )
        if wanted == (CRPS,):
            return {CRPS: [float(crps)]}
        of_climate = observed.copy(data=properscoring.crps_gaussian(observed, mean, deviation))
        variance = aggregate(members.var("member", ddof=1), reduce_dims=DIMS[-2:], weights=weights)
        square = continuous.mse(members.mean("member"), observed, weights=weights)
        ranks = probability.rank_histogram(members, observed, "member", weights=weights)
        count = members.sizes["member"]
        return {
            CRPS: [float(crps)],
            "crpss.climatology": [
                float(crps),
                float(aggregate(of_climate, reduce_dims=DIMS[-2:], weights=weights)),
            ],
            "spread.weighted": [float(variance)],
            "spread.weighted_skill_ratio": [float(variance) * (count + 1) / count, float(square)],
            "wrmse.pooled": [float(square)],
            "rank_histogram.weighted": ranks.values.tolist(),
        }

    def work() -> Values:
        predicted = opened("members/predictions.zarr", "predictions", *DIMS)
        known = [
            opened(store, name, "day", *DIMS[3:])
            for store, name in (
                ("frames.zarr", "frames"),
                ("climatology.zarr", "without_validation"),
                ("climatology.zarr", "climatology_deviation"),
            )
        ]
        found: list[dict[str, list[float]]] = []
        for start in range(predicted.sizes["start"]):
            members = predicted[start, :, :leads].load()
            for lead in range(leads):
                of_day = [array[start + lead + 1].load() for array in known]
                found += [
                    scored(members[:, lead, variable], *(array[variable] for array in of_day))
                    for variable in range(members.sizes["variable"])
                ]
        starts, variables = predicted.sizes["start"], predicted.sizes["variable"]
        values = {}
        for name in wanted:
            each = np.array([one[name] for one in found]).reshape(starts, leads, variables, -1)
            values[name] = each.transpose(0, 2, 3, 1).reshape(starts, -1, leads)
        return values

    return measured(work)


if __name__ == "__main__":
    main()
