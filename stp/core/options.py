"""Options of a stage: a frozen dataclass that says no to what it does not know.

Defaults live in the dataclass of the stage; a recipe holds only the keys that were set. Types of
fields say what values may be::

    threads: PositiveInt = 1
    height: Annotated[int, Field(ge=16)] = 64
    layout: Literal["raw", "odometry"] = "raw"

What depends on several fields is checked in ``__post_init__``.
"""

import dataclasses
import functools
import json
import math
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from stp.core.errors import ConfigurationError, nearest

T = TypeVar("T")
LONGEST = 120
"""Characters of a value in a message."""


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
    """Build an options dataclass from the keys that were set: values as JSON has them.

    Raises:
        ConfigurationError: a key is unknown, one without a default is missing, or a value is not
            of the type of its field.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    check_keys(where, given, fields)
    for name, field in fields.items():
        needed = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if needed and name not in given:
            raise ConfigurationError(f"{where}: {name} is missing", remedy=f"set {name}")
    try:
        built: T = _adapter(kind).validate_json(  # type: ignore[arg-type]
            json.dumps(given), strict=True
        )
        return built
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        hints = get_type_hints(kind, include_extras=True)
        is_path = all(word.isidentifier() for word in where.split("."))
        label = f"{where}.{name}" if is_path else f"{where}: {name}"
        raise ConfigurationError(
            f"{label} is {shown(given[name])}", expected=description(hints[name])
        ) from None


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(ConfigDict(allow_inf_nan=False))(kind))


def description(annotation: Any) -> str:
    """What values a type has, in words: ``a whole number from 1, or null``."""
    kind, bounds, most = annotation, {}, ""
    if get_origin(annotation) is Annotated:
        kind, *about = get_args(annotation)
        about = [one for info in about for one in getattr(info, "metadata", [info])]
        bounds = {
            sign: getattr(one, name)
            for one in about
            for name, sign in (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))
            if hasattr(one, name)
        }
        most = next(
            (f" of at most {one.max_length}" for one in about if hasattr(one, "max_length")), ""
        )
    parts = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        named = [description(part) for part in parts if part is not NoneType]
        return ", or ".join([*dict.fromkeys(named), *(["null"] if NoneType in parts else [])])
    if get_origin(kind) is Literal:
        return " or ".join(map(str, parts))
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if kind not in words:
        return {dict: "keys with values", Mapping: "keys with values"}.get(
            get_origin(kind) or kind, f"a list{most}: {_items(parts)}" if parts else str(kind)
        )
    if kind is int and (">" in bounds or ">=" in bounds):
        low = bounds[">="] if ">=" in bounds else bounds[">"] + 1
        return f"a whole number from {low}" + (f" to {bounds['<=']}" if "<=" in bounds else "")
    limits = " and ".join(f"{sign} {bound}" for sign, bound in bounds.items())
    return f"{words[kind]} {limits}".rstrip()


def _items(parts: tuple[Any, ...]) -> str:
    return ", ".join("..." if part is ... else description(part) for part in parts)


def shown(value: object) -> str:
    """A value that somebody has set, short enough for a message."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


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
