"""Options of a reader: a frozen dataclass that says no to what it does not know."""

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from stp.errors import StpError

T = TypeVar("T")


def from_recipe(kind: type[T], given: Mapping[str, Any]) -> T:
    """Build the options dataclass `kind` from the keys that were set.

    Raises:
        StpError: a key is unknown, or one without a default is missing.
    """
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in given:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            raise StpError(
                f"unknown prepare option {key!r}",
                expected=", ".join(sorted(fields)),
                remedy=f"did you mean {near[0]!r}?" if near else "remove it",
            )
    for name, f in fields.items():
        unset = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if unset and name not in given:
            raise StpError(
                f"prepare option {name!r} is missing",
                expected="a value for it",
                remedy="set it under prepare: in the configuration of the dataset",
            )
    return kind(**given)


def require(ok: bool, key: str, value: object, expected: str) -> None:
    """Refuse the value of an option unless `ok`."""
    if not ok:
        raise StpError(
            f"prepare option {key} is {value!r}",
            expected=expected,
            remedy="change it in the configuration of the dataset",
        )


def whole(value: object, least: int) -> bool:
    """Whether `value` is a whole number >= `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
