"""What a network sees of single videos, and of the true future beside them (stp.opinions.seen)."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.core.options import build, require
from stp.features.networks.squeezenet_frames import DEVIATION, MEAN
from stp.metrics.lpips import Lpips, compare
from stp.metrics.networks.state import read_verified
from stp.metrics.networks.trunks import TAPS, Trunk
from stp.models.compute import settle
from stp.opinions import seen
from stp.opinions.dependence import (
    correlation_of_distances,
    dissimilarity,
    distance_correlation,
)
from stp.opinions.frame_features import (
    motion_compensated_similarity,
    of_differences,
    rescaled_differences,
    spatial_means,
)
from stp.opinions.prepared import Video, open_database
from stp.options.videos import VideoOptions

Maps = Callable[[np.ndarray], np.ndarray]
"""Frames uint8 (T, H, W, 3) to maps float32 (T, h, w, K)."""


def run(job: Job) -> Extras:
    """Write ``seen.parquet``.

    Args:
        job: the recipe is a `VideoOptions`; the input is ``data``. Runtime: ``weights`` (network ->
            file), ``device``.

    Returns:
        Numbers of videos and of maps, seconds that a video took, how much features have in common
        (two coefficients for each pair; see `stp.opinions.dependence`), and how unlike the first
        observed and the last predicted frame are (median over videos).

    Raises:
        StpError: a bad recipe, damaged inputs, weights that are gone or have other bytes, or videos
            that are too small for the network.
    """
    options = build(VideoOptions, job.recipe, "recipe of features")
    require(options.network in TAPS, "features: network", options.network, " or ".join(TAPS))
    database = open_database(job.inputs["data"], options.context)
    path = job.runtime.get("weights", {}).get(options.network)
    if path is None:
        raise StpError(
            f"the weights of {options.network} are gone since this was planned",
            expected=f"the file with {options.weights}",
            remedy="put it back (`stp weights`), or run snakemake again without it",
        )
    state, _ = read_verified(Path(path), options.weights)
    sides = database.table["height"].to_pylist() + database.table["width"].to_pylist()
    check_size(options.network, min(sides), "take its measures out of the scale file")
    parts: dict[str, list[np.ndarray]] = {name: [] for name in seen.PARTS}
    device = job.runtime.get("device", "auto")
    began = time.monotonic()
    with settle(device, options.threads, "float32") as compute, torch.inference_mode():
        network = Lpips(options.network, state).to(compute.device)
        maps = maps_of(network.trunk, compute.device)
        for number, video in enumerate(database.videos(), start=1):
            for name, values in look(video, maps, network, options.context).items():
                parts[name].append(values.reshape(-1).astype(np.float32))
            job.report("videos seen", number, len(database))
    found = {name: np.stack(rows) for name, rows in parts.items()}
    seen.write(job.out, database.names, found)
    return {
        **_dependence(found, TAPS[options.network].channels[-1]),
        "videos": len(database),
        "maps": TAPS[options.network].channels[-1],
        "seconds_per_video": round((time.monotonic() - began) / max(len(database), 1), 4),
    }


def check_size(network: str, smallest: int, remedy: str) -> None:
    """Refuse videos that are too small for a network.

    Args:
        smallest: their smallest height or width, pixels.
        remedy: of the error.

    Raises:
        StpError: they are.
    """
    if smallest < TAPS[network].smallest:
        raise StpError(
            f"{network} looks at videos of {smallest} pixels",
            expected=f"at least {TAPS[network].smallest}; they are not enlarged",
            remedy=remedy,
        )


def _dependence(parts: dict[str, np.ndarray], maps: int) -> dict[str, object]:
    """What Somraj et al. (2022) say of features in sections 4.2 and 5.2.1.

    Args:
        parts: (V, D) each.
        maps: their number, K.
    """
    pairs = [("ssa", "rfd"), ("mcs", "rfd")]
    if len(parts["rfd"]) < 3:
        return {}
    return {
        "correlation_of_distances": {
            f"{one} {other}": round(correlation_of_distances(parts[one], parts[other]), 4)
            for one, other in pairs
        },
        "distance_correlation": {
            f"{one} {other}": round(distance_correlation(parts[one], parts[other]), 4)
            for one, other in pairs
        },
        "dissimilarity": {
            name: round(float(np.median([_unlike(row, maps) for row in parts[name]])), 4)
            for name in ("ssa", "rfd_written")
        },
    }


def _unlike(row: np.ndarray, maps: int) -> float:
    frames = row.reshape(-1, maps)
    return dissimilarity(frames[0], frames[-1])


def look(video: Video, maps: Maps, network: Lpips, context: int) -> dict[str, np.ndarray]:
    """What a network sees of one video: the parts of `stp.opinions.seen.PARTS`."""
    of_frames = maps(video.predicted)
    similar = motion_compensated_similarity(of_frames, context, "released")
    found = {
        "ssa": spatial_means(of_frames),
        "mcs": similar,
        "mcs_written": similar[context:],
        "rfd": of_differences(maps(rescaled_differences(video.predicted, "released")), "released"),
        "rfd_written": of_differences(
            maps(rescaled_differences(video.predicted, "written")), "written"
        ),
    }
    if video.truth is None:
        return found | {name: np.array([np.nan]) for name in ("mse", "cosine", "lpips")}
    x = of_frames[context:].astype(np.float64)
    y = maps(video.truth[context:]).astype(np.float64)
    lengths = np.sqrt((x * x).sum(axis=(1, 2, 3)) * (y * y).sum(axis=(1, 2, 3)))
    pair = (
        np.moveaxis(frames[context:], -1, 1)[None].astype(np.float32) / 255
        for frames in (video.predicted, video.truth)
    )
    return found | {
        "mse": np.array([((x - y) ** 2).mean()]),
        "cosine": np.array([((x * y).sum(axis=(1, 2, 3)) / np.maximum(lengths, 1e-15)).mean()]),
        "lpips": np.array([compare(network, *pair).mean()]),
    }


def maps_of(trunk: Trunk, device: torch.device) -> Maps:
    """The last maps that a network makes of frames, normalised as it was trained."""
    mean, deviation = (torch.tensor(v, device=device)[:, None, None] for v in (MEAN, DEVIATION))

    def maps(frames: np.ndarray) -> np.ndarray:
        shown = torch.from_numpy(np.ascontiguousarray(frames)).to(device)
        scaled = shown.permute(0, 3, 1, 2).float().div(255)
        found: Any = trunk((scaled - mean) / deviation)[-1]
        return np.asarray(found.permute(0, 2, 3, 1).cpu().numpy())

    return maps
