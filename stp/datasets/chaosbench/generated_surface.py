"""Generate variables of land and ocean for synthetic days of ChaosBench, 0 where undefined.

Same as in the official data: names, dimensions (latitude, longitude), zeros over sea or land, zeros
on land for snow and rain, and monthly means on each day for the ocean. Different: values except
temperatures, pressure and salinity are waves of the right sign and order of magnitude, with a
different phase for each variable.
"""

from typing import NamedTuple

import numpy as np

from stp.datasets.chaosbench.chaotic_waves import Atmosphere

LAND = (
    *("asn", "d2m", "e", "es", "evabs", "evaow", "evatc", "evavt", "fal", "lai_hv", "lai_lv"),
    *("pev", "ro", "rsn", "sd", "sde", "sf", "skt", "slhf", "smlt", "snowc", "sp", "src", "sro"),
    *("sshf", "ssr", "ssrd", "ssro", "stl1", "stl2", "stl3", "stl4", "str", "strd", "swvl1"),
    *("swvl2", "swvl3", "swvl4", "t2m", "tp", "tsn", "u10", "v10"),
)
OCEAN = (
    *("iicethic", "iicevelu", "iicevelv", "ileadfra", "so14chgt", "so17chgt", "so20chgt"),
    *("so26chgt", "so28chgt", "sohefldo", "sohtc300", "sohtc700", "sohtcbtm", "sometauy"),
    *("somxl010", "somxl030", "sosaline", "sossheig", "sosstsst", "sowaflup", "sozotaux"),
)


class _Kind(NamedTuple):
    """Mean and amplitude of a variable, and its lower bound `least`."""

    mean: float
    amplitude: float
    least: float = -np.inf


_ICE = _Kind(-0.5, 1, 0)
_KINDS = {
    **dict.fromkeys(("asn", "fal", "ileadfra"), _Kind(0.4, 0.1, 0)),
    **dict.fromkeys(("sd", "sde", "snowc", "iicethic"), _ICE),
    **dict.fromkeys(("sf", "smlt", "src", "tp"), _Kind(-5e-3, 1e-2, 0)),
    **dict.fromkeys(("lai_hv", "lai_lv"), _Kind(2, 0.5, 0)),
    **dict.fromkeys(("e", "es", "evabs", "evaow", "evatc", "evavt", "pev"), _Kind(-2e-3, 1e-3)),
    **dict.fromkeys(("ro", "sro", "ssro"), _Kind(1e-3, 1e-3, 0)),
    **dict.fromkeys(("swvl1", "swvl2", "swvl3", "swvl4"), _Kind(0.25, 0.05, 0.01)),
    **dict.fromkeys(("slhf", "sshf", "str"), _Kind(-5e6, 2e6)),
    **dict.fromkeys(("ssr", "ssrd", "strd"), _Kind(1.5e7, 3e6, 0)),
    **{"rsn": _Kind(150, 40, 100), "sp": _Kind(95_000, 800), "sosaline": _Kind(35, 0.4)},
    **dict.fromkeys(("u10", "v10"), _Kind(0, 5)),
    **dict.fromkeys(("so14chgt", "so17chgt", "so20chgt"), _Kind(150, 30, 0)),
    **dict.fromkeys(("so26chgt", "so28chgt"), _Kind(10, 30, 0)),
    **dict.fromkeys(("sohtc300", "sohtc700", "sohtcbtm"), _Kind(2e10, 1e9)),
    **{"sohefldo": _Kind(0, 80), "sossheig": _Kind(0, 0.3), "sowaflup": _Kind(0, 3e-5)},
    **dict.fromkeys(("sometauy", "sozotaux"), _Kind(0, 0.05)),
    **dict.fromkeys(("iicevelu", "iicevelv"), _Kind(0, 0.1)),
    **dict.fromkeys(("somxl010", "somxl030"), _Kind(60, 20, 0)),
}
_DAMPED = {"stl2": 0.8, "stl3": 0.6, "stl4": 0.4}
"""Share of seasons and waves in soils below the first 7 cm."""


def surface(
    atmosphere: Atmosphere, names: tuple[str, ...], states: np.ndarray, days: np.ndarray
) -> dict[str, np.ndarray]:
    """Compute fields of variables of land or ocean.

    Args:
        atmosphere: converter from states to fields.
        names: names of variables, from `LAND` or from `OCEAN`.
        states: states of Lorenz's chaotic model of 1996 on these days, (days, 3 rings, 40 sites of
            a ring), from `stp.datasets.chaosbench.chaotic_waves.truth`; for the ocean, means of
            states over months.
        days: days of the states, datetime64[D], (days,).

    Returns:
        fields by name, float32 (days, H, W), 0 where the variable is undefined.
    """
    weather = atmosphere.weather(states, days)
    fields = {}
    for name in names:
        number = (LAND + OCEAN).index(name)
        turn = 2 * np.pi * number / 43
        wave = np.cos(turn) * weather.wave + np.sin(turn) * weather.ahead
        if name in _KINDS:
            kind = _KINDS[name]
            signal = 0.5 * weather.season * np.cos(3 * turn) + 0.5 * wave
            values = np.maximum(kind.mean + kind.amplitude * signal, kind.least)
        elif name == "sosstsst":
            warm = 28 - 30 * np.sin(atmosphere.latitude) ** 2
            values = np.maximum(warm + 2 * weather.season + 0.5 * weather.wave, -1.8)
        else:  # a temperature on land, in K
            warm = 299 - 44 * np.sin(atmosphere.latitude) ** 2 - (6 if name == "d2m" else 0)
            felt = _DAMPED.get(name, 1.0)
            values = warm + felt * (18 * weather.season - 4 * weather.ahead)
        mask = atmosphere.land if name in LAND else ~atmosphere.land
        fields[name] = np.where(mask, values, 0).astype(np.float32)
    return fields
