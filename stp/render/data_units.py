"""Look up the units of values in prepared data or in the configuration."""

from functools import cache
from pathlib import Path

from stp.data.prepared import Prepared
from stp.page.units import of_convention
from stp.render.pictures.prepared import shows_pictures, units_of, variables_of


@cache
def units_by_variable(folder: Path) -> dict[str, str]:
    """Read the units of prepared data, by variable name without separators, such as z500.

    The key "" stands for the unit of all variables together. The result is empty for video, which
    has no units, and if the data are no longer in the store.

    Raises:
        StpError: the data are damaged.
    """
    if not (folder / "frames.zarr").is_dir():
        return {}
    prepared = Prepared(folder)
    if shows_pictures(prepared):
        return {}
    names, units = variables_of(prepared), units_of(prepared)
    units_of_variable = {
        _normalise_name(name): unit for name, unit in zip(names, units, strict=True)
    }
    if len(set(units)) == 1:
        units_of_variable[""] = units[0]
    return units_of_variable


def unit_of_value(
    folder: Path,
    unit: str,
    convention: str,
    variable: str | None = None,
    level: float | str | None = None,
    stated: str = "",
) -> str:
    """Determine the unit of a score as printed in a table, e.g. "m² s⁻²"; empty if it has none.

    Args:
        folder: folder of the prepared test data, which state the units of their variables.
        unit: unit that the configuration declares for the convention (exact definition of a
            metric). It may refer to the data's units, as in ``of the variable, squared``.
        convention: name of the convention.
        variable: name of the variable, such as ``z``; None for all variables together.
        level: level of the variable, such as 500; None for all levels together, or without levels.
        stated: units of the data in the configuration, used if the data are no longer in the store.

    Raises:
        StpError: the data are damaged.
    """
    units = units_by_variable(folder)
    names = [f"{variable or ''}{level or ''}", variable or ""]
    of_data = next(
        (units[_normalise_name(name)] for name in names if _normalise_name(name) in units), None
    )
    return of_convention(unit, convention, stated if of_data is None else of_data)


def _normalise_name(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
