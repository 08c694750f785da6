"""Units of the data that a value is about, where prepared data or the configuration say them."""

from functools import cache
from pathlib import Path

from stp.data.prepared import Prepared
from stp.page.units import of_convention
from stp.render.pictures.prepared import shows_pictures, units_of, variables_of


@cache
def units_by_variable(folder: Path) -> dict[str, str]:
    """Units of prepared data by variable (letters and digits alone: z500), "" of all together.

    Empty where the data are no longer in the store, and for video, whose values have none.

    Args:
        folder: of the prepared data.

    Raises:
        StpError: the data are damaged.
    """
    if not (folder / "frames.zarr").is_dir():
        return {}
    prepared = Prepared(folder)
    if shows_pictures(prepared):
        return {}
    names, units = variables_of(prepared), units_of(prepared)
    found = {_plain(name): unit for name, unit in zip(names, units, strict=True)}
    if len(set(units)) == 1:
        found[""] = units[0]
    return found


def unit_of_value(
    folder: Path,
    unit: str,
    convention: str,
    variable: str | None = None,
    level: float | str | None = None,
    stated: str = "",
) -> str:
    """The unit of a value of a convention, as people read it; empty where there is none.

    Args:
        folder: of the prepared data that were predicted.
        unit: of the convention, as its metric declares it.
        convention: its name.
        variable, level: that the value is of; None for all of the data.
        stated: unit that the configuration states, for data that are no longer in the store.

    Raises:
        StpError: the data are damaged.
    """
    known = units_by_variable(folder)
    names = [f"{variable or ''}{level or ''}", variable or ""]
    of_data = next((known[_plain(name)] for name in names if _plain(name) in known), None)
    return of_convention(unit, convention, stated if of_data is None else of_data)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
