"""Options of a stage: frozen dataclasses that refuse unknown keys and wrong values.

The dataclass has the defaults; a recipe contains only the keys that were set. The type of a field
restricts its values::

    threads: PositiveInt = 1
    height: Annotated[int, Field(ge=16)] = 64
    layout: Literal["raw", "odometry"] = "raw"

Conditions on several fields are checked in ``__post_init__``.
"""

import dataclasses
import functools
import json
import math
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from stp.core.errors import ConfigurationError, suggest_name
from stp.core.json_files import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
LONGEST = 120
"""Maximum number of characters of a value in a message."""
_JSON_TYPES = frozenset({dict, list, str, int, float, bool, NoneType})


def check_keys(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an unknown key.

    Args:
        where: place of the keys in the configuration, for the error.
        given: keys that are set.
        known: keys that are allowed.

    Raises:
        ConfigurationError: a key is unknown; the message suggests the nearest known one.
    """
    known = list(known)
    for key in given:
        if key not in known:
            raise ConfigurationError(
                f"{where}: unknown key {key!r}",
                expected=f"one of {', '.join(sorted(known))}",
                remedy=suggest_name(str(key), known),
            )


def build(kind: type[T], values: Mapping[str, object], where: str) -> T:
    """Build an options dataclass from the keys that were set; other fields keep their defaults.

    Args:
        kind: the dataclass.
        values: JSON values by key.
        where: place of the keys in the configuration, for errors.

    Raises:
        ConfigurationError: a key is unknown, a required one is missing, or a value does not fit
            the type of its field.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    check_keys(where, values, fields)
    for name, field in fields.items():
        is_required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if is_required and name not in values:
            raise ConfigurationError(f"{where}: {name} is missing", remedy=f"set {name}")
    try:
        built: T = _adapter(kind).validate_json(  # type: ignore[arg-type]
            json.dumps(values), strict=True
        )
        return built
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        hints = get_type_hints(kind, include_extras=True)
        is_path = all(word.isidentifier() for word in where.split("."))
        label = f"{where}.{name}" if is_path else f"{where}: {name}"
        raise ConfigurationError(
            f"{label} is {format_value(values[name])}", expected=description(hints[name])
        ) from None


class Options:
    """Base class of options that a recipe (all settings of one artefact) sets.

    Subclasses are frozen dataclasses.

    Attributes:
        PART: name of these options in errors, such as ``predict``.
    """

    PART: ClassVar[str]
    """Name of the part of a recipe that sets the options, for errors."""

    @classmethod
    def from_recipe(cls, values: Mapping[str, object]) -> Self:
        """Build the options from the keys that were set.

        Raises:
            ConfigurationError: a key is unknown or missing, or a value is out of range.
        """
        return build(cls, values, cls.PART)


def as_json(record: "DataclassInstance") -> Json:
    """Convert options to the form of a recipe: a JSON object without the defaults.

    Args:
        record: the dataclass; `build` restores it from the recipe. A field whose key is a keyword
            of Python ends with an underscore: ``class_``.
    """
    values = vars(record)
    content = {
        key: values[name]
        for name, key, default in _fields_of(type(record))
        if values[name] != default
    }
    for key, value in content.items():
        if type(value) not in _JSON_TYPES:
            content[key] = list(value) if isinstance(value, tuple) else as_json(value)
    return content


@functools.cache
def _fields_of(kind: "type[DataclassInstance]") -> list[tuple[str, str, object]]:
    """Name, key and default of each field."""
    defaults = (
        (field, field.default)
        if field.default_factory is dataclasses.MISSING
        else (field, field.default_factory())
        for field in dataclasses.fields(kind)
    )
    return [(field.name, field.name.removesuffix("_"), default) for field, default in defaults]


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(ConfigDict(allow_inf_nan=False))(kind))


def description(annotation: Any) -> str:
    """Describe the values that a type allows, in words: ``a whole number from 1, or null``."""
    kind, bounds, most = annotation, {}, ""
    if get_origin(annotation) is Annotated:
        kind, *metadata = get_args(annotation)
        limits = [limit for item in metadata for limit in getattr(item, "metadata", [item])]
        bounds = {
            sign: getattr(limit, name)
            for limit in limits
            for name, sign in (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))
            if hasattr(limit, name)
        }
        lengths = (limit.max_length for limit in limits if hasattr(limit, "max_length"))
        most = next((f" of at most {length}" for length in lengths), "")
    parts = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        texts = [description(part) for part in parts if part is not NoneType]
        return ", or ".join([*dict.fromkeys(texts), *(["null"] if NoneType in parts else [])])
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
    conditions = " and ".join(f"{sign} {bound}" for sign, bound in bounds.items())
    return f"{words[kind]} {conditions}".rstrip()


def _items(parts: tuple[Any, ...]) -> str:
    return ", ".join("..." if part is ... else description(part) for part in parts)


def format_value(value: object) -> str:
    """Format a value for a message, cut to 120 characters."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def require(ok: bool, where: str, value: object, expected: str) -> None:
    """Refuse the value of an option unless a condition holds.

    Args:
        ok: whether the condition holds.
        where: key of the option, for the error.
        value: value of the option, for the error.
        expected: allowed values in words, for the error.

    Raises:
        ConfigurationError: the condition does not hold.
    """
    if not ok:
        raise ConfigurationError(f"{where} is {value!r}", expected=expected)


def levels_by_name(variables: object) -> dict[str, list[Any]]:
    """Map variables to their lists of levels; the list of a single-level variable is empty.

    Args:
        variables: entry ``variables`` of a recipe, in the order of the channels:
            ``[{name: t2m, levels: []}, {name: z, levels: [500]}]``.

    Raises:
        ConfigurationError: the value is not such a list, or names a variable twice.
    """
    records = variables if isinstance(variables, list) else []
    ok = bool(records) and all(
        isinstance(record, dict)
        and set(record) <= {"name", "levels"}
        and isinstance(record.get("name"), str)
        and isinstance(record.get("levels", []), list)
        for record in records
    )
    require(ok, "variables", variables, "{name: [levels], name without levels: }, at least one")
    names = [record["name"] for record in records]
    require(len(set(names)) == len(names), "variables", names, "every variable once")
    return {record["name"]: record.get("levels", []) for record in records}


def whole(value: object, least: int, most: int | None = None) -> bool:
    """Whether a value is a whole number from ``least`` to ``most``, both included."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value >= least
        and (most is None or value <= most)
    )


def number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
