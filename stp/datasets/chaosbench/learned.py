"""Generate a synthetic archive of a trained forecast model in ChaosBench.

Same as in the official data: names and layout (one Zarr group for each start, on the 1st and 15th
of each month, in the parts of one tar stream; a variable for each level, `t-850`; steps of 1 to 44
days), heights as geopotential over 9.81 m s-2, missing levels and variables, and coordinates off
the grid, as for means over 6 x 6 points of a finer grid.

Different: fields are computed at the midpoint of these 6 x 6 points instead of averaged over them.
Runs are simulated like those of forecast centres (`stp.datasets.chaosbench.centre`): unlike
forecasts of trained models, they are not smoother than the truth.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import PositiveInt

from stp.core.job import Report
from stp.core.options import build, check_keys, require
from stp.datasets.chaosbench.centre import STEPS
from stp.datasets.chaosbench.chaotic_waves import FORCING, Atmosphere, days_from, truth
from stp.datasets.chaosbench.generator import (
    VARIABLES,
    Field,
    GeneratorOptions,
    coordinates,
    to_stored_units,
    write_stream,
)

_BESIDE = 5 / 12
"""Distance from the first of 6 points to their centre, in cells of the grid."""
OF_MONTH = (1, 15)
"""Days on which the official forecasts start."""
_ABSENT = (10,)
"""Levels in hPa that no trained model has."""


@dataclass(frozen=True)
class LearnedOptions(GeneratorOptions):
    """Options of the generator of a trained model's archive.

    Attributes:
        model: name of the model, such as ``panguweather``, which also seeds its errors.
        starts: first and last day on which a forecast may start.
        every: number of days between starts; null for starts on the 1st and 15th of each month.
        lacks: names of variables that the model does not forecast.
        error: standard deviation of the error of initial states, in units of the variables of
            Lorenz's equations of 1996, which have a standard deviation of 3.65.
        forcing: constant forcing F in Lorenz's equations of 1996, by which the model simulates
            weather. The true weather has F = 8; with another value, the model errs systematically.
    """

    model: str = "panguweather"
    starts: tuple[str, ...] = ("2022-01-01", "2022-12-31")
    every: PositiveInt | None = None
    lacks: tuple[str, ...] = ()
    error: float = 0.2
    forcing: float = FORCING

    def __post_init__(self) -> None:
        super().__post_init__()
        check_keys("lacks", self.lacks, VARIABLES)
        require(len(self.starts) == 2, "starts", self.starts, "[first day, last day]")

    @property
    def days(self) -> np.ndarray:
        """Days of the starts, datetime64[D], ascending."""
        first, last = (np.datetime64(day, "D") for day in self.starts)
        days = np.arange(first, last + 1, self.every or 1)
        if self.every is None:
            of_month = (days - days.astype("datetime64[M]").astype(days.dtype)).astype(np.int64) + 1
            days = days[np.isin(of_month, OF_MONTH)]
        return days


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the synthetic archive of a trained forecast model, as parts of one tar stream.

    The parts are ``chaosbench/<model>/<model>_chunks.tar.gz.aa``, ``.ab`` and so on.

    Args:
        out: folder below which the files are written.
        options: values of `LearnedOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(LearnedOptions, options, "generator options")
    starts = chosen.days
    states = truth(chosen.first_year, starts, chosen.seed)
    own = zlib.crc32(chosen.model.encode())
    beside = _BESIDE * chosen.degrees
    lat = np.linspace(90 - beside, -90 + chosen.degrees - beside, len(chosen.lat))
    names = tuple(name for name in chosen.variables if name not in chosen.lacks)
    atmosphere = Atmosphere(lat, chosen.lon + beside, np.array(chosen.levels), names)

    def groups() -> Iterator[tuple[str, dict[str, Field]]]:
        for number, start in enumerate(starts):
            known = np.random.default_rng([chosen.seed, own, 2, number])
            analysis = states[number] + chosen.error * known.normal(size=states.shape[1:])
            steps = np.stack(list(days_from(analysis, STEPS, chosen.forcing)))[1:]
            fields = atmosphere.fields(steps, start + np.arange(1, STEPS + 1))
            made = {"time": coordinates(chosen, start)["time"]}
            made["latitude"] = Field(("latitude",), lat, {"units": "degrees_north"})
            east = {"units": "degrees_east"}
            made["longitude"] = Field(("longitude",), chosen.lon + beside, east)
            made["step"] = Field(("step",), 24 * np.arange(1, STEPS + 1), {"units": "hours"})
            for variable, values in fields.items():
                stored = to_stored_units(variable, values)
                for at, level in enumerate(chosen.levels):
                    if level not in _ABSENT:
                        dims = ("step", "latitude", "longitude")
                        made[f"{variable}-{level}"] = Field(dims, stored[:, at], {}, 1)
            day = str(start).replace("-", "")
            yield f"{chosen.model}_full_{chosen.title}_{day}.zarr", made
            report("make forecasts", number + 1, len(starts))

    write_stream(out / f"chaosbench/{chosen.model}", groups(), chosen.part_mb)
