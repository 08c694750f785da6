"""Generate a synthetic archive of a forecast centre in ChaosBench: runs of an imperfect model.

Same as in the official data: names and layout (one Zarr group for each start, in the parts of one
tar stream; steps of 0 to 44 days, members numbered from 1). Variables that the archive lacks, and
starts without a forecast, are NaN.

Each run begins at the true state of its day plus an error, and continues with a forcing that
differs from the truth (`chaotic_waves`). Initial states of members are perturbed once more by the
same amount so that, except for the forcing, the truth could be one of the members. Missing starts
are drawn at random.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import PositiveInt

from stp.core.job import Report
from stp.core.options import build, require
from stp.datasets.chaosbench.chaotic_waves import FORCING, days_from, truth
from stp.datasets.chaosbench.generator import (
    Field,
    GeneratorOptions,
    coordinates,
    level_field,
    write_stream,
)

STEPS = 44
ABSENT = {"q": (10, 50, 100), "w": (10, 50, 100, 200, 300, 700, 850, 925, 1000)}
"""Pressure levels (hPa), by variable, that archives of the S2S project lack."""


@dataclass(frozen=True)
class CentreOptions(GeneratorOptions):
    """Options of the generator of a centre's archive.

    Attributes:
        centre: name of the centre, such as ``ecmwf``, which also seeds its errors.
        members: number of members of an ensemble; null for one control forecast, without a
            dimension of members.
        starts: first and last day on which a forecast may start.
        hindcasts: first and last day of additional starts in earlier years.
        every: number of days between starts in the archive.
        missing: share of the starts that have no forecast.
        error: standard deviation of the error of initial states, in units of the chaotic system,
            whose variables have a standard deviation of 3.65.
        forcing: forcing of the centre's model; the true forcing is 8.
    """

    centre: str = "centre"
    members: PositiveInt | None = None
    starts: tuple[str, ...] = ("2022-01-01", "2022-12-31")
    hindcasts: tuple[str, ...] = ()
    every: PositiveInt = 1
    missing: float = 0.1
    error: float = 0.2
    forcing: float = FORCING

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.missing < 1, "missing", self.missing, "0 to 1")
        require(len(self.starts) == 2, "starts", self.starts, "[first day, last day]")
        ok = len(self.hindcasts) in (0, 2)
        require(ok, "hindcasts", self.hindcasts, "[first day, last day], or none")

    @property
    def name(self) -> str:
        """Name of the archive: the centre, followed by ``_ensemble`` if it has several members."""
        return self.centre if self.members is None else f"{self.centre}_ensemble"


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the synthetic archive of one forecast centre, as parts of one tar stream.

    The parts are ``chaosbench/<name>/<name>_chunks.tar.gz.aa``, ``.ab`` and so on, with the `name`
    of `CentreOptions`.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(CentreOptions, options, "generator options")
    days, missing = np.empty(0, "datetime64[D]"), set()
    own = zlib.crc32(chosen.centre.encode())
    rng = np.random.default_rng([chosen.seed, own, 0 if chosen.members is None else 1])
    for first, last in filter(None, (chosen.starts, chosen.hindcasts)):
        new = np.arange(np.datetime64(first, "D"), np.datetime64(last, "D") + 1, chosen.every)
        lacking = rng.choice(len(new), round(chosen.missing * len(new)), replace=False)
        missing |= set((len(days) + lacking).tolist())
        days = np.concatenate([days, new])
    states = truth(chosen.first_year, days, chosen.seed)
    order = rng.permutation(len(days))
    atmosphere = chosen.atmosphere

    def groups() -> Iterable[tuple[str, dict[str, Field]]]:
        for done, start in enumerate(order.tolist(), 1):
            # Initial state of the control forecast, which members perturb.
            known = np.random.default_rng([chosen.seed, own, 2, start])
            analysis = states[start] + chosen.error * known.normal(size=states.shape[1:])
            runs = analysis[None]
            if chosen.members is not None:
                shape = (chosen.members, *analysis.shape)
                runs = analysis + chosen.error * known.normal(size=shape)
            steps = np.stack(list(days_from(runs, STEPS, chosen.forcing)), axis=1)
            valid = days[start] + np.arange(STEPS + 1)
            every = np.tile(valid, len(steps))
            fields = atmosphere.fields(steps.reshape(-1, *analysis.shape), every)
            name = f"{chosen.name}_full_{chosen.title}_{str(days[start]).replace('-', '')}.zarr"
            yield name, _group(chosen, days[start], fields, missing=start in missing)
            report("make forecasts", done, len(order))

    write_stream(out / f"chaosbench/{chosen.name}", groups(), chosen.part_mb)


def _group(
    options: CentreOptions, day: np.datetime64, fields: dict[str, np.ndarray], *, missing: bool
) -> dict[str, Field]:
    outer: tuple[str, ...] = ("step",)
    group: dict[str, Field] = coordinates(options, day)
    group["step"] = Field(("step",), np.arange(STEPS + 1), {"units": "days"})
    since = group["time"]
    valid = since.values + np.arange(STEPS + 1)
    group["valid_time"] = Field(("step",), valid, since.attrs)
    if options.members is not None:
        outer = ("number", "step")
        group["number"] = Field(("number",), np.arange(1, options.members + 1))
    for variable, values in fields.items():
        shaped = values.reshape(-1, STEPS + 1, *values.shape[1:])
        for at, level in enumerate(options.levels):
            if missing or level in ABSENT.get(variable, ()):
                shaped[:, :, at] = np.nan
        shaped = shaped if options.members is not None else shaped[0]
        group[variable] = level_field(outer, shaped, 1)
    return group
