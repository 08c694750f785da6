"""Generate a synthetic version of the ICAR-ENSO training data: anomalies of climate models.

The layout (variables, types, dimensions, fill values, row order, missing data) is that of
``enso_round1_train_20210201``. A row contains 36 months, and the next row of the same climate model
starts 12 months later. Rows of a model are contiguous; CMIP6 models come before CMIP5 models. As in
the official file, t300 is missing for the 13th CMIP6 model, and ua and va are missing for the 6th
to the 13th.

The content is a stochastic recharge oscillator (Jin 1997, doi:10.1175/1520-0469(1997)054
<0811:AEORPF>2.0.CO;2): with T the sea surface temperature anomaly of the eastern Pacific, h the
heat content of the warm water and w white noise, per month

    T(n+1) = T(n) - 2 g s(n) T(n) + c h(n) + w(n),   h(n+1) = h(n) - c T(n+1),
    c^2 = g^2 + (2 pi / period)^2,

where the seasonal factor s makes events peak in winter. T acts on a pattern along the equator
that spreads westward with a delay, and on weaker remote ones; smooth red noise is added.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import netCDF4
import numpy as np
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt
from scipy import ndimage, signal

from stp.core.job import Report
from stp.core.options import build, require

LAT = np.arange(-55.0, 61.0, 5.0)
LON = np.arange(0.0, 360.0, 5.0)
_MONTHS, _STRIDE, _MEAN = 36, 12, 3
_SPIN_UP, _RED_SPIN_UP = 240, 12  # months before the first row
_NO_T300, _NO_WIND = (12,), tuple(range(5, 13))  # CMIP6 models, from 0
_FIELDS = {"sst": "f4", "t300": "f4", "ua": "f8", "va": "f8"}


@dataclass(frozen=True)
class EnsoOptions:
    """Options of the generator; the defaults are the official numbers (4645 rows, 7 GB).

    Attributes:
        cmip6_models: number of climate models of the first part.
        cmip6_years: number of rows of each of these models.
        cmip5_models: number of climate models of the second part.
        cmip5_years: number of rows of each of these models.
        damping: lowest and highest damping of the oscillation of a climate model, per month. The
            noise that drives the oscillation is proportional to the square root of the damping, so
            that events keep their size; weakly damped models are more predictable.
        weather: standard deviation of the red noise that is added, degC.
        seed: seed of all random numbers.
    """

    cmip6_models: NonNegativeInt = 15
    cmip6_years: PositiveInt = 151
    cmip5_models: NonNegativeInt = 17
    cmip5_years: PositiveInt = 140
    damping: tuple[float, float] = (0.03, 0.05)
    weather: NonNegativeFloat = 0.35
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        ok = 0 < self.damping[0] <= self.damping[1] < 0.25
        require(ok, "damping", self.damping, "lowest and highest, between 0 and 0.25")
        models = self.cmip6_models + self.cmip5_models
        require(models > 0, "cmip6_models + cmip5_models", models, "at least one climate model")


class Simulation(NamedTuple):
    """Monthly fields of one climate model, (months, lat 24, lon 72), and its Nino3.4 index.

    Attributes:
        sst: anomaly of the sea surface temperature, degC.
        t300: anomaly of the mean temperature of the upper 300 m of the ocean, degC.
        ua, va: anomalies of the wind to the east and to the north, m/s.
        nino: Nino3.4 index, degC, (months,): mean of a month and the next two.
    """

    sst: np.ndarray  # float32, degC
    t300: np.ndarray  # float32, degC
    ua: np.ndarray  # float64, m/s
    va: np.ndarray  # float64, m/s
    nino: np.ndarray  # (months,) float64, degC: mean of this month and the next two


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the fields, ``enso/CMIP_train.nc``, and the Nino3.4 index, ``enso/CMIP_label.nc``.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(EnsoOptions, options, "generator options")
    years = [chosen.cmip6_years] * chosen.cmip6_models + [chosen.cmip5_years] * chosen.cmip5_models
    folder = out / "enso"
    folder.mkdir(parents=True)
    with (
        netCDF4.Dataset(folder / "CMIP_train.nc", "w", format="NETCDF4") as train,
        netCDF4.Dataset(folder / "CMIP_label.nc", "w", format="NETCDF4") as label,
    ):
        for file in (train, label):
            _axis(file, "year", np.arange(1, sum(years) + 1, dtype="i4"))
            _axis(file, "month", np.arange(1, _MONTHS + 1, dtype="i4"))
        _axis(train, "lat", LAT)
        _axis(train, "lon", LON)
        for name, kind in _FIELDS.items():
            _variable(train, name, kind, ("year", "month", "lat", "lon"))
        _variable(label, "nino", "f8", ("year", "month"))
        row = 0
        for model, count in enumerate(years):
            rng = np.random.default_rng([chosen.seed, model])
            months = _STRIDE * (count - 1) + _MONTHS
            world = simulate(months, rng, chosen.damping, chosen.weather)
            is_cmip6 = model < chosen.cmip6_models
            if is_cmip6 and model in _NO_T300:
                world.t300[:] = np.nan
            if is_cmip6 and model in _NO_WIND:
                world.ua[:] = world.va[:] = np.nan
            for year in range(count):
                row_of = slice(_STRIDE * year, _STRIDE * year + _MONTHS)
                for name in _FIELDS:
                    train[name][row] = getattr(world, name)[row_of]
                label["nino"][row] = world.nino[row_of]
                row += 1
            report("simulate climate models", model + 1, len(years))


def simulate(
    months: int,
    rng: np.random.Generator,
    dampings: tuple[float, float] = EnsoOptions.damping,
    weather: float = EnsoOptions.weather,
) -> Simulation:
    """Simulate a climate model with random period, damping, amplitude and delay.

    Args:
        months: number of months; the first one is a January.
        rng: generator of all random numbers.
        dampings: lowest and highest damping, per month.
        weather: standard deviation of the red noise, degC.
    """
    period, damping = rng.uniform(36, 60), rng.uniform(*dampings)
    amplitude, delay = rng.uniform(0.9, 1.5), rng.uniform(3.0, 6.0)
    ahead = months + _MEAN - 1  # the index of the last month needs two more
    total = _SPIN_UP + ahead
    # the variance of T is sigma^2 / (4 damping)
    noise = rng.normal(0, amplitude * np.sqrt(4 * damping), total)
    coupling = np.hypot(damping, 2 * np.pi / period)
    season = 1 + 0.8 * np.cos(2 * np.pi * (np.arange(total) - 4 - _SPIN_UP) / 12)  # weak in autumn
    warm, heat = np.zeros(total), np.zeros(total)
    for n in range(1, total):
        warm[n] = (1 - 2 * damping * season[n]) * warm[n - 1] + coupling * heat[n - 1] + noise[n]
        heat[n] = heat[n - 1] - coupling * warm[n]
    time = np.arange(_SPIN_UP, total, dtype=float)

    lat, lon = LAT[:, None], LON[None, :]
    # events begin off Peru and reach the date line, 100 degrees west of it, after the delay
    lag = delay * (280 - LON).clip(0, 150) / 100
    local = np.stack([np.interp(time - late, np.arange(total), warm) for late in lag], axis=-1)
    east = _bump(lat, 0, 9) * _bump(lon, 240, 38) * (LON <= 285)
    horseshoe = -0.35 * (_bump(lat, 22, 9) + _bump(lat, -22, 9)) * _bump(lon, 160, 25)
    remote = horseshoe + 0.3 * _bump(lat, -5, 15) * _bump(lon, 70, 20)
    later = warm[_SPIN_UP - 4 : total - 4, None, None]
    field = local[:, None, :] * east + later * remote + weather * _red_noise(ahead, rng)
    sst = field.astype(np.float32)

    now, store = warm[_SPIN_UP:, None, None], heat[_SPIN_UP:, None, None]
    west = _bump(lat, 0, 8) * _bump(lon, 165, 30)
    t300 = 0.6 * sst * _bump(lat, 0, 25) + (0.5 * store * (west + east) - 0.3 * now * west)
    ua = 1.3 * now * _bump(lat, 0, 10) * _bump(lon, 190, 30) - 0.5 * now * _bump(lon, 90, 25)
    va = -0.5 * now * np.sin(np.deg2rad(3 * lat)) * _bump(lat, 0, 20) * _bump(lon, 210, 40)
    box = sst[:, np.abs(LAT) <= 5][:, :, (LON >= 190) & (LON <= 240)].mean((1, 2), dtype=np.float64)
    return Simulation(
        sst[:months],
        t300[:months].astype(np.float32),
        # rounded: these fields only have to be there, and compress well this way
        np.round(ua[:months] * 64) / 64,
        np.round(va[:months] * 64) / 64,
        np.convolve(box, np.full(_MEAN, 1 / _MEAN), mode="valid"),
    )


def _red_noise(months: int, rng: np.random.Generator) -> np.ndarray:
    """Noise (months, lat, lon) of unit variance: smooth over 15 degrees, memory 0.8 a month."""
    white = rng.standard_normal((months + _RED_SPIN_UP, LAT.size, LON.size), dtype=np.float32)
    mode = ("nearest", "nearest", "wrap")
    smooth = ndimage.gaussian_filter(white, (0, 1.5, 2.5), mode=mode)
    red = signal.lfilter([np.sqrt(1 - 0.8**2)], [1, -0.8], smooth, axis=0)[_RED_SPIN_UP:]
    return red / smooth.std()


def _bump(degrees: np.ndarray, centre: float, width: float) -> np.ndarray:
    """A Gaussian with value 1 at ``centre``, without wrapping at the edges of the map."""
    return np.exp(-0.5 * ((degrees - centre) / width) ** 2)


def _axis(file: netCDF4.Dataset, name: str, values: np.ndarray) -> None:
    file.createDimension(name, values.size)
    _variable(file, name, values.dtype.str[1:], (name,))[:] = values


def _variable(
    file: netCDF4.Dataset, name: str, kind: str, dims: tuple[str, ...]
) -> netCDF4.Variable:
    """Create a compressed variable with one chunk per row; missing values are NaN."""
    sizes = [file.dimensions[dim].size for dim in dims]
    return file.createVariable(
        name,
        kind,
        dims,
        fill_value=np.nan if kind.startswith("f") else None,
        zlib=len(dims) > 1,
        complevel=1,
        chunksizes=[1, *sizes[1:]] if len(dims) > 1 else None,
    )
