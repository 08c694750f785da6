"""Simulate weather of limited predictability: planetary waves driven by a small chaotic system.

Three rings of Lorenz's model of 1996 (40 variables each, forcing 8, "Predictability: a problem
partly solved", ECMWF seminar 1996) represent the waves of the northern and southern storm tracks
and of the tropics. Errors double in about two days, so runs from perturbed states behave like real
forecasts: good at first, and no better than climatology after some weeks. Seasons, a jet, and land
with warmer air in summer are added.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

RINGS, SITES = 3, 40
FORCING = 8.0
STEPS_PER_DAY = 4
_STEP = 0.05  # 6 hours, in Lorenz's unit of 5 days
_SPIN_UP = 400
_MEAN, _DEVIATION = 2.35, 3.65  # of a variable, with forcing 8
_CENTRE, _WIDTH = np.array([50.0, -50.0, 8.0]), np.array([15.0, 15.0, 12.0])
_GAS, _GRAVITY = 287.05, 9.80665


def tendency(state: np.ndarray, forcing: float) -> np.ndarray:
    """Time derivative of the variables of Lorenz's model, with neighbours on a ring.

    The derivative of variable i is (x[i+1] - x[i-2]) x[i-1] - x[i] + forcing.

    Args:
        state: variables x of each ring, (..., sites of a ring).
        forcing: the constant forcing.

    Returns:
        derivatives, of the shape of `state`.
    """
    ring = np.concatenate((state[..., -2:], state, state[..., :1]), axis=-1)
    return (ring[..., 3:] - ring[..., :-3]) * ring[..., 1:-2] - state + forcing


def days_from(state: np.ndarray, count: int, forcing: float = FORCING) -> Iterator[np.ndarray]:
    """Yield the states of Lorenz's model at days 0, 1, ..., count, for several runs at once.

    Args:
        state: states at day 0, (..., 3 rings, 40 sites of a ring); leading axes are runs.
        count: number of days after day 0.
        forcing: constant forcing of the model.
    """
    yield state
    for _ in range(count):
        for _ in range(STEPS_PER_DAY):
            k1 = tendency(state, forcing)
            k2 = tendency(state + 0.5 * _STEP * k1, forcing)
            k3 = tendency(state + 0.5 * _STEP * k2, forcing)
            k4 = tendency(state + _STEP * k3, forcing)
            state = state + _STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        yield state


def truth(first_year: int, days: np.ndarray, seed: int) -> np.ndarray:
    """Simulate the chaotic system, and return its true states on some days.

    The system is Lorenz's model of 1996 on 3 separate rings, which stand for the waves of the
    northern and southern storm tracks and of the tropics. A ring has 40 sites: variables, each of
    which is coupled to its neighbours by `tendency`.

    Args:
        first_year: year; the simulation begins on its 1 January, after a spin-up.
        days: days whose states are returned, datetime64[D], in any order, each once, not before the
            1 January of `first_year`.
        seed: seed of the first state.

    Returns:
        states in the order of `days`, float64 (days, 3 rings, 40 sites).
    """
    number = (days - np.datetime64(f"{first_year}-01-01", "D")).astype(np.int64)
    row_of_day = dict(zip(number.tolist(), range(len(days)), strict=True))
    rng = np.random.default_rng(seed)
    first = FORCING + rng.normal(size=(RINGS, SITES))
    states = np.empty((len(days), RINGS, SITES))
    for day, state in enumerate(days_from(first, _SPIN_UP + int(number.max())), -_SPIN_UP):
        if day in row_of_day:
            states[row_of_day[day]] = state
    return states


class Weather(NamedTuple):
    """Patterns of some days, from which the fields of all variables are made.

    Each has the shape (days, latitudes, longitudes), with length 1 for an axis along which it is
    constant.

    Attributes:
        season: 1 in the middle of the local summer, -1 in the middle of winter; smaller in the
            tropics.
        wave: height of the waves, of about unit variance on the storm tracks.
        ahead: height of the waves a quarter of a wavelength ahead.
        slope: derivative of the height to the north.
    """

    season: np.ndarray
    wave: np.ndarray
    ahead: np.ndarray
    slope: np.ndarray


class Atmosphere:
    """Converts states of the chaotic system (Lorenz's model of 1996) to weather fields on a grid.

    Args:
        lat: latitudes, degrees north, from north to south.
        lon: longitudes, degrees east.
        levels: pressure levels, hPa.
        variables: names of the fields to make, from z (geopotential height), q (humidity), t
            (temperature), u, v (wind to the east and north) and w (change of pressure with time).

    Attributes:
        latitude: latitudes, radians, (latitudes, 1).
        land: mask of land, bool (latitudes, longitudes).
    """

    def __init__(
        self,
        lat: np.ndarray,
        lon: np.ndarray,
        levels: np.ndarray,
        variables: tuple[str, ...] = tuple("zqtuvw"),
    ) -> None:
        self.levels, self._variables = levels, variables
        self.latitude = np.deg2rad(lat)[:, None]
        off = (lat[:, None] - _CENTRE) / _WIDTH
        self._envelope = np.exp(-0.5 * off**2)  # (H, RINGS)
        waves = np.arange(1, SITES // 2 + 1)
        # Troughs lean to the west away from the middle of their track.
        lean = np.exp(-0.35j * np.abs(off)[..., None] * waves)
        self._shape = self._envelope[..., None] * lean  # (H, RINGS, waves)
        self._tilted = -off[..., None] * self._shape
        self._around = np.exp(-1j * waves[:, None] * np.deg2rad(lon))  # eastward
        lands = np.cos(np.deg2rad(2 * lon - 60)) + 0.8 * np.sin(np.deg2rad(2 * lat[:, None] + 10))
        self.land = (lands > 0.3) | (lat[:, None] < -72)

    def fields(self, states: np.ndarray, days: np.ndarray) -> dict[str, np.ndarray]:
        """Compute the fields of all variables.

        Args:
            states: states of Lorenz's model, from `truth`, (days, 3 rings, 40 sites).
            days: days of the states, datetime64[D], (days,).

        Returns:
            fields by name, float32 (days, levels, H, W), in units of z (gpm), q (kg kg**-1), t (K),
            u and v (m s**-1), w (Pa s**-1).
        """
        weather = self.weather(states, days)
        made = [self._level(float(level), weather) for level in self.levels]
        return {name: np.stack([one[name] for one in made], axis=1) for name in self._variables}

    def weather(self, states: np.ndarray, days: np.ndarray) -> Weather:
        waves = np.fft.rfft((states - _MEAN) / _DEVIATION, axis=-1)[..., 1:] * (2 / SITES)
        waves[..., -1] /= 2
        crest = np.einsum("njm,hjm->nhm", waves, self._shape) @ self._around
        slope = np.einsum("njm,hjm->nhm", waves, self._tilted) @ self._around
        year = (days - days.astype("datetime64[Y]")).astype(float)[:, None, None] / 365.25
        season = -np.cos(2 * np.pi * (year - 0.06)) * np.sin(self.latitude)
        return Weather(season, crest.real, crest.imag, slope.real)

    def _level(self, level: float, weather: Weather) -> dict[str, np.ndarray]:
        height = np.log(1000 / level)  # scale heights above the ground
        jet = np.exp(-(((height - 1.5) / 0.9) ** 2))  # strongest near 220 hPa
        poleward = np.sin(self.latitude) ** 2
        near = (level / 1000) ** 2 * (1 + self.land)  # of the ground
        ground = 300 - 44 * poleward + (8 + 6 * near) * weather.season
        warm = 205 + (ground - 205) * (level / 1000) ** 0.55
        storm = 1 - 0.35 * weather.season
        turn = 0.4 * height  # waves lean with height
        wave = np.cos(turn) * weather.wave - np.sin(turn) * weather.ahead
        ahead = np.sin(turn) * weather.wave + np.cos(turn) * weather.ahead
        wind = 22 * np.sin(2 * self.latitude) ** 2 - 6 * np.cos(3 * self.latitude) ** 2 * np.cos(
            self.latitude
        )
        t = warm - (5 - 3 * jet) * storm * ahead
        moist = 0.014 * np.exp(-2.2 * height) * np.exp(0.055 * (warm - 290) * (level / 1000))
        made = {
            "z": _GAS / _GRAVITY * 0.5 * (ground + warm) * height
            + 90
            + (60 + 90 * jet) * storm * wave,
            "q": moist * np.exp(0.35 * storm * ahead),
            "t": t,
            "u": wind * (0.3 + jet) - (8 + 14 * jet) * storm * weather.slope,
            "v": (7 + 12 * jet) * storm * ahead,
            "w": -0.15 * (0.3 + jet) * storm * wave,
        }
        return {name: np.asarray(made[name], np.float32) for name in self._variables}
