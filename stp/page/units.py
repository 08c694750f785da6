"""Units as people read them: of data, and of the values of a convention."""

import re

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NAMES = {"degC": "°C", "1": "", "physical": ""}
LONGEST = 16
"""Letters of a unit; what is longer is a sentence, which no heading has room for."""


def readable(units: str) -> str:
    """``m**2 s**-2`` as people write it; empty for pure numbers and for sentences."""
    text = _NAMES.get(units, units)
    text = re.sub(r"\*\*(-?\d+)", lambda power: power[1].translate(_RAISED), text)
    return text if len(text) <= LONGEST else ""


def of_convention(unit: str, convention: str, of_data: str) -> str:
    """The unit of the values of a convention on some data.

    Args:
        unit: as the metric declares it: "m", "of the variable", "of the variable, squared", or
            "1 (rmse: of the variable)", where the bracket is of the conventions whose names have
            this word.
        convention: its name.
        of_data: unit of the data, or of their variable.

    Returns:
        the unit, empty where it is none or not known.
    """
    if special := re.fullmatch(r"(.*) \((\w+): (.*)\)", unit):
        general, word, other = special.groups()
        unit = other if word.rstrip("s") in convention.partition(".")[2] else general
    data = readable(of_data)
    if unit == "of the variable":
        return data
    if unit == "of the variable, squared":
        return (f"({data})²" if " " in data or "/" in data else f"{data}²") if data else ""
    return readable(unit)


def with_unit(name: str, unit: str) -> str:
    """A heading: a name, and its unit where there is one."""
    return f"{name} [{unit}]" if unit else name
