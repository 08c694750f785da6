"""Generate a synthetic version of the front camera of nuScenes: streets, in scenes of some seconds.

File names, the alternation of steps of 0.1 and 0.05 s, key frames every half second, jumps between
the scenes of a log and the tables log, scene, sample, sample_data, sensor, calibrated_sensor and
ego_pose of v1.0-trainval are as in the official data (Caesar et al. 2020); PredBench's lists are
written too. Other cameras, other sensors, maps, and annotations with their tables are missing; the
car is always at the origin of ego_pose. Pictures are a tenth of the official size by default.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, check_keys
from stp.fetch.film_write import encode_picture
from stp.fetch.scenery import Street

LIST = "predbench_annotations/nuscenes/nuscenes_{}.json"
TABLES = "nuscenes/v1.0-trainval"
LOGS = {
    "train": ("n008-2018-05-21-11-06-59-0400", 1526915243012465),
    "val": ("n015-2018-07-27-11-24-31+0800", 1532661911362460),
    "test": ("n015-2018-07-24-11-03-52+0800", 1532401591362460),
}
"""For each split, the name of its first log, and the time of the first frame of this log,
microseconds since 1970. In the names of further logs, the minute is the number of the log."""
STEPS = (50_000, 100_000, 100_000, 100_000, 50_000, 100_000)  # microseconds; a key frame every 6
_BETWEEN_SCENES = 30_000_000


@dataclass(frozen=True)
class NuscenesOptions:
    """Options of the generator.

    Attributes:
        logs: number of logs of each split.
        scenes: number of scenes of each log.
        frames: number of frames of each scene (officially about 230).
        height: height of the pictures, officially 900.
        width: width of the pictures, officially 1600.
        seed: seed of all random numbers; a log does not depend on which others are generated.
    """

    logs: dict[str, Annotated[int, Field(ge=0, le=50)]] = field(
        default_factory=lambda: {"train": 3, "val": 3, "test": 3}
    )
    scenes: PositiveInt = 2
    frames: PositiveInt = 25
    height: Annotated[int, Field(ge=8)] = 90
    width: Annotated[int, Field(ge=8)] = 160
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_keys("logs", self.logs, LOGS)


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write pictures, ``nuscenes/{samples,sweeps}/CAM_FRONT/*.jpg``, tables and PredBench's lists.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(NuscenesOptions, options, "generator options")
    for folder in ("nuscenes/samples/CAM_FRONT", "nuscenes/sweeps/CAM_FRONT", TABLES):
        (out / folder).mkdir(parents=True)
    (out / LIST).parent.mkdir(parents=True)
    tables: dict[str, list[dict[str, Any]]] = {
        "sensor": [{"token": _token("sensor"), "channel": "CAM_FRONT", "modality": "camera"}],
        "calibrated_sensor": [_calibration(chosen.height, chosen.width)],
        **{name: [] for name in ("log", "scene", "sample", "sample_data", "ego_pose")},
    }
    total = sum(chosen.logs.values())
    done = 0
    for s, split in enumerate(LOGS):
        listed: dict[str, list[str]] = {}
        for number in range(chosen.logs.get(split, 0)):
            rng = np.random.default_rng([chosen.seed, s, number])
            name, first = LOGS[split]
            name = f"{name[:19]}{number:02d}{name[21:]}"
            first += number * 3600 * 10**6
            listed[name] = _write_log(out / "nuscenes", name, first, chosen, rng, tables)
            done += 1
            report("logs", done, total)
        if split != "train":  # PredBench never released its list for training
            text = json.dumps(listed, indent=4)
            (out / LIST.format(split)).write_text(text, encoding="utf-8")
    for table, entries in tables.items():
        (out / TABLES / f"{table}.json").write_text(json.dumps(entries, indent=0), encoding="utf-8")


def _write_log(
    folder: Path,
    log: str,
    first: int,
    options: NuscenesOptions,
    rng: np.random.Generator,
    tables: dict[str, list[dict[str, Any]]],
) -> list[str]:
    """Write the pictures of a log, and add rows to the tables; return the names of the pictures."""
    tables["log"].append(
        {
            "token": _token(log),
            "logfile": log,
            "vehicle": log[:4],
            "date_captured": log[5:15],
            "location": "boston-seaport" if log[:4] == "n008" else "singapore-onenorth",
        }
    )
    names: list[str] = []
    time = first
    for scene in range(options.scenes):
        street, speed = Street(rng), float(rng.uniform(2, 12))
        begin = time
        entries: list[dict[str, Any]] = []
        samples: list[dict[str, Any]] = []
        for n in range(options.frames):
            is_key = n % len(STEPS) == 0
            kind = "samples" if is_key else "sweeps"
            name = f"{kind}/CAM_FRONT/{log}__CAM_FRONT__{time}.jpg"
            at = (time - begin) / 1e6
            picture = street.picture(speed * at, at, options.height, options.width)
            (folder / name).write_bytes(encode_picture(picture, "JPEG", quality=90))
            names.append(name)
            if is_key:
                samples.append(
                    {
                        "token": _token(f"sample {log} {time}"),
                        "timestamp": time,
                        "scene_token": _token(f"scene {log} {scene}"),
                    }
                )
            tables["ego_pose"].append(
                {
                    "token": _token(name),
                    "timestamp": time,
                    "rotation": [1.0, 0.0, 0.0, 0.0],
                    "translation": [0.0, 0.0, 0.0],
                }
            )
            entries.append(
                {
                    "token": _token(name),
                    "sample_token": samples[-1]["token"],
                    "ego_pose_token": _token(name),
                    "calibrated_sensor_token": _token("calibrated CAM_FRONT"),
                    "timestamp": time,
                    "fileformat": "jpg",
                    "is_key_frame": is_key,
                    "height": options.height,
                    "width": options.width,
                    "filename": name,
                }
            )
            time += STEPS[n % len(STEPS)]
        for chain in (entries, samples):
            tokens = ["", *(entry["token"] for entry in chain), ""]
            for n, entry in enumerate(chain):
                entry.update(prev=tokens[n], next=tokens[n + 2])
        tables["sample_data"] += entries
        tables["sample"] += samples
        tables["scene"].append(
            {
                "token": _token(f"scene {log} {scene}"),
                "log_token": _token(log),
                "nbr_samples": len(samples),
                "first_sample_token": samples[0]["token"],
                "last_sample_token": samples[-1]["token"],
                "name": f"scene-{len(tables['scene']) + 1:04d}",
                "description": "a made-up street",
            }
        )
        time += _BETWEEN_SCENES
    return names


def _calibration(height: int, width: int) -> dict[str, Any]:
    focal = 0.6 * width  # as in stp.fetch.scenery
    return {
        "token": _token("calibrated CAM_FRONT"),
        "sensor_token": _token("sensor"),
        "translation": [1.7, 0.0, 1.6],
        "rotation": [0.5, -0.5, 0.5, -0.5],
        "camera_intrinsic": [
            [focal, 0.0, width / 2],
            [0.0, focal, 0.45 * height],
            [0.0, 0.0, 1.0],
        ],
    }


def _token(text: str) -> str:
    """32 hexadecimal digits, as the official tokens have."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
