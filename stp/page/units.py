"""Readable units of data and of the values of metrics."""

import re

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NAMES = {"degC": "°C", "1": "", "physical": ""}
LONGEST = 16
"""Maximum length of a unit, characters; longer texts are sentences, which do not fit into
headings."""


def format_unit(units: str) -> str:
    """A unit in readable form, such as ``m² s⁻²`` for ``m**2 s**-2``.

    The text is empty for pure numbers and for sentences in place of a unit.
    """
    text = _NAMES.get(units, units)
    text = re.sub(r"\*\*(-?\d+)", lambda power: power[1].translate(_RAISED), text)
    return text if len(text) <= LONGEST else ""


def of_convention(unit: str, convention: str, of_data: str) -> str:
    """The unit of a metric's values for given data, under one convention (exact definition).

    Args:
        unit: unit as the metric declares it: "m", "of the variable", "of the variable, squared",
            or "1 (rmse: of the variable)", where the part in parentheses applies to conventions
            whose names contain the word before the colon.
        convention: name of the convention.
        of_data: unit of the data, or of the scored variable.

    Returns:
        the unit; empty if the values have no unit or an unknown one.
    """
    if special := re.fullmatch(r"(.*) \((\w+): (.*)\)", unit):
        general, word, other = special.groups()
        unit = other if word.rstrip("s") in convention.partition(".")[2] else general
    data = format_unit(of_data)
    if unit == "of the variable":
        return data
    if unit == "of the variable, squared":
        return (f"({data})²" if " " in data or "/" in data else f"{data}²") if data else ""
    return format_unit(unit)


def with_unit(name: str, unit: str) -> str:
    """Make a heading from a name and a unit, which may be empty."""
    return f"{name} [{unit}]" if unit else name
