"""A whole day of people, as large as one of ATC's: is it read, and cut into scenarios?

A day is made up: 25.9 detections of each person a second, everybody on a straight way through a
hall, at moments of their own, in the columns of ATC. It is read and brought to one clock, and
scenarios are cut from it, as the stages do it. The alternative, in the same run, looks at all
people in every moment; it is given the first hours only (--dense), since its memory grows with
people times moments. Every measurement is a process of its own.

    python benchmarks/motion_day.py
    python benchmarks/motion_day.py --hours 1 --dense 0.5
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from stp.prepare.track_readers import detections
from stp.tracks import scenarios
from stp.tracks.tracks import Tracks

HZ, DT, OBSERVE, PREDICT = 25.9, 0.386, 8, 12
LONG, WIDE = 60, 25
"""Metres of the hall; people walk from one end to the other."""
OPENS = 1.351e9
"""Seconds since 1970."""
PROTOCOLS: tuple[scenarios.Protocol, ...] = ("atlas-paper", "strict-relaxed")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=12, help="of the day (default: 12)")
    parser.add_argument("--dense", type=float, default=1, help="of the alternative (default: 1)")
    parser.add_argument("--people", type=float, default=20, help="at once (default: 20)")
    parser.add_argument("--only", type=json.loads, help="internal: measure it in this process")
    options = parser.parse_args()
    if options.only:
        way, *arguments = options.only
        begun = time.perf_counter()
        found = {"read": read, "cut": cut}[way](*arguments)
        seconds = time.perf_counter() - begun
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(json.dumps({"found": found, "seconds": seconds, "peak": peak}))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.hours, options.people)
        print(f"{options.hours:g} hours, {options.people:g} people at once on average")
        measured("read", "read", folder)
        for protocol in PROTOCOLS:
            measured(f"cut by {protocol}", "cut", folder, protocol, options.hours)
        print(f"the first of them: {options.dense:g} hours")
        for protocol in PROTOCOLS:
            here = folder, protocol, options.dense
            ours = measured(f"cut by {protocol}", "cut", *here)
            dense = measured("... all people in every moment", "cut", *here, True)
            print(
                f"    {dense['seconds'] / ours['seconds']:.1f}x as fast, "
                f"{dense['peak'] / ours['peak']:.1f}x less memory"
            )


def measured(title: str, *only: Any) -> dict[str, Any]:
    """Measure one thing in a process of its own, and print it."""
    command = [sys.executable, __file__, "--only", json.dumps(only)]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"  {title:30s} {said['seconds']:7.1f} s, peak {said['peak']:5.2f} GB: {said['found']}",
        flush=True,
    )
    return dict(said)


def write(folder: Path, hours: float, people: float) -> None:
    """A day in the columns of ATC: seconds, person, x and y in millimetres, and four more."""
    draw = np.random.default_rng(0)
    crossing = LONG / 1.2
    come = np.sort(draw.uniform(0, hours * 3600 - crossing, int(hours * 3600 / crossing * people)))
    schema = pa.schema([pa.field(f"column{number}", pa.float64()) for number in range(8)])
    options = pa_csv.WriteOptions(include_header=False)
    with pa_csv.CSVWriter(folder / "day.csv", schema, write_options=options) as file:
        for person, begin in enumerate(come):
            speed = draw.uniform(0.8, 1.6)
            times = np.arange(0, LONG / speed, 1 / HZ)
            x = speed * times if person % 2 else LONG - speed * times
            position = np.column_stack([x, np.full_like(x, draw.uniform(0, WIDE))])
            position += draw.normal(0, 0.02, position.shape)
            columns = [
                np.round(OPENS + begin + times, 3),
                np.full_like(times, person),
                *np.round(1000 * position.T),
                *np.ones((4, len(times))),
            ]
            file.write_table(pa.table(dict(zip(schema.names, columns, strict=True))))


def read(folder: str) -> str:
    """The text, on one clock; kept for `cut`."""
    text = Path(folder, "day.csv")
    tracks = detections.read(text, detections.ATC, metres=0.001, step=1, dt=DT).tracks
    kept = Path(folder, "tracks.npz")
    np.savez(kept, frame=tracks.frame, person=tracks.person, position=tracks.position)
    return f"{text.stat().st_size / 1e9:.2f} GB of text, {len(tracks):,} detections on the clock"


def cut(folder: str, protocol: scenarios.Protocol, hours: float, dense: bool = False) -> str:
    """Scenarios of the first hours; dense, all moments are one block."""
    with np.load(Path(folder, "tracks.npz")) as kept:
        tracks = Tracks(kept["frame"], kept["person"], kept["position"], 1, DT)
    tracks = tracks.rows(tracks.frame < hours * 3600 / DT)
    if dense:
        scenarios.BLOCK = len(tracks)
    found = scenarios.extract(tracks, observe=OBSERVE, predict=PREDICT, protocol=protocol)
    return f"{len(found):,} scenarios of {found.looked_at:,} moments"


if __name__ == "__main__":
    main()
