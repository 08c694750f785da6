"""Options of a stage: a frozen dataclass that says no to what it does not know.

Defaults live in the dataclass of the stage; a recipe holds only the keys that were set.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from stp.core.errors import ConfigurationError, nearest

T = TypeVar("T")


def check_keys(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a key that is not known.

    Raises:
        ConfigurationError: it names the key and the nearest known one.
    """
    known = list(known)
    for key in given:
        if key not in known:
            raise ConfigurationError(
                f"{where}: unknown key {key!r}",
                expected=f"one of {', '.join(sorted(known))}",
                remedy=nearest(str(key), known),
            )


def build(kind: type[T], given: Mapping[str, object], where: str) -> T:
    """Build an options dataclass from the keys that were set.

    A list becomes a tuple where the default is one. Ranges are checked by the dataclass itself,
    in ``__post_init__``.

    Raises:
        ConfigurationError: a key is unknown, or one without a default is missing.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    check_keys(where, given, fields)
    for name, field in fields.items():
        needed = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if needed and name not in given:
            raise ConfigurationError(f"{where}: {name} is missing", remedy=f"set {name}")
    tuples = {name for name, field in fields.items() if isinstance(field.default, tuple)}
    return kind(
        **{
            key: tuple(value) if key in tuples and isinstance(value, list) else value
            for key, value in given.items()
        }
    )


def require(ok: bool, where: str, value: object, expected: str) -> None:
    """Refuse the value of an option unless it is good.

    Raises:
        ConfigurationError: it names the option, its value and what was expected.
    """
    if not ok:
        raise ConfigurationError(f"{where} is {value!r}", expected=expected)


def levels_by_name(variables: object) -> dict[str, list[Any]]:
    """The levels of each variable, in the order of the channels.

    Args:
        variables: as recipes have them: ``[{name: t2m, levels: []}, {name: z, levels: [500]}]``.

    Raises:
        ConfigurationError: they are something else, or a variable comes twice.
    """
    records = variables if isinstance(variables, list) else []
    ok = bool(records) and all(
        isinstance(record, dict)
        and set(record) <= {"name", "levels"}
        and isinstance(record.get("name"), str)
        and isinstance(record.get("levels", []), list)
        for record in records
    )
    require(ok, "variables", variables, "{name: [levels], name without levels: }, one at least")
    names = [record["name"] for record in records]
    require(len(set(names)) == len(names), "variables", names, "every variable once")
    return {record["name"]: record.get("levels", []) for record in records}


def whole(value: object, least: int, most: int | None = None) -> bool:
    """Whether a value is a whole number within bounds."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value >= least
        and (most is None or value <= most)
    )


def number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
