"""Derive SQL types, Arrow schemas and comments of tables from frozen dataclasses.

Each field is a column. Its type determines the SQL type, and `Annotated` contains the comment::

    seed: Annotated[int | None, "Seed of the training; NULL for deterministic models."]

Fields of base classes come first, starting with the last base class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from inspect import cleandoc
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class _SqlType(NamedTuple):
    name: str


Json = Annotated[str, _SqlType("JSON")]
"""Text with the SQL type JSON."""

_SQL_TYPES: dict[Any, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    datetime: "TIMESTAMP",
}
_ARROW_TYPES = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
}


class Column(NamedTuple):
    """A column of a table: name, SQL type and comment."""

    name: str
    sql_type: str
    comment: str


SETTING_KEYS = {
    "horizon": "Number of lead times: frames or steps that are predicted.",
    "interval": "Frame interval, in units of that of the training; NULL where it is not varied.",
    "observe": "Number of observed positions; NULL for those of the dataset's context.",
    "noise": "Standard deviation of noise on observed positions, in millimetres; NULL if none.",
    "people": "Smallest number of people in a scenario; NULL for all scenarios.",
    "intensity": "Number of the intensity of a distortion, from 1; NULL without a distortion.",
    "components": "Largest number of principal components of a regression; NULL for 240.",
    "training": "Percentage of all videos that a regression learns from; NULL for all of training.",
}
"""Keys of settings with a column in any case; other keys have one if they occur."""

Value = int | str
"""Value of a key of a setting: a number or a name."""
SettingColumns = Annotated[
    Mapping[str, Value],
    tuple(Column(key, "BIGINT", comment) for key, comment in SETTING_KEYS.items()),
]
"""A field that stands for a column per key of settings; see `stp.collect.settings.with_keys`."""


class Table(NamedTuple):
    """A table of the results store.

    Attributes:
        name: name of the table.
        comment: description of a row.
        columns: columns in their order.
    """

    name: str
    comment: str
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, name: str, row: "type[DataclassInstance]") -> "Table":
        """Make a table from a dataclass; the docstring of the class becomes the comment."""
        return cls(name, " ".join(cleandoc(row.__doc__ or "").split()), columns_of(row))

    @property
    def comments(self) -> dict[str, str]:
        """Comments of the columns, by name."""
        return {column.name: column.comment for column in self.columns}


def columns_of(row: "type[DataclassInstance]") -> tuple[Column, ...]:
    """Derive the columns of a dataclass from its fields.

    Raises:
        TypeError: a field has no comment, or its type has no SQL counterpart.
    """
    return tuple(column for field in fields(row) for column in _columns(field.name, field.type))


def comments_of(row: "type[DataclassInstance]") -> dict[str, str]:
    """Comments of the columns that a dataclass declares itself, by name of the field.

    A comment is the last text in the `Annotated` type of a field. Fields of base classes are left
    out.
    """
    return {
        name: _columns(name, annotation)[0].comment
        for name, annotation in row.__annotations__.items()
    }


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of columns with texts, numbers or flags."""
    return pa.schema([(column.name, _ARROW_TYPES[column.sql_type]) for column in columns])


def _columns(name: str, annotation: Any) -> Sequence[Column]:
    if get_origin(annotation) is not Annotated:
        raise TypeError(f"{name}: {annotation} has no comment")
    kind, *about = get_args(annotation)
    if isinstance(about[-1], tuple) and not isinstance(about[-1], _SqlType):
        return about[-1]
    sql_type = about[0].name if isinstance(about[0], _SqlType) else _sql_type(name, kind)
    return (Column(name, sql_type, about[-1]),)


def _sql_type(name: str, kind: Any) -> str:
    if get_origin(kind) is UnionType:
        kind = next(part for part in get_args(kind) if part is not type(None))
    items = get_args(kind)
    sql_type = _SQL_TYPES.get(items[0] if items else kind)
    if sql_type is None:
        raise TypeError(f"{name}: no SQL type for {kind}")
    return f"{sql_type}[]" if items else sql_type
