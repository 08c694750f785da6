"""The options of a generator: built from a mapping, with errors that name the key."""

import difflib
from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol, TypeVar

from stp.errors import StpError


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Options = TypeVar("Options", bound=_Dataclass)


def build(kind: type[Options], options: Mapping[str, Any]) -> Options:
    """An instance of the dataclass ``kind`` with the defaults replaced by ``options``.

    Lists become tuples, so that what comes from YAML can be frozen. Ranges are checked by the
    dataclass itself, in ``__post_init__``.

    Raises:
        StpError: a key that ``kind`` does not have.
    """
    known = [field.name for field in fields(kind)]
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            raise StpError(
                f"{kind.__name__}: unknown option {key!r}",
                expected=f"one of {', '.join(known)}",
                remedy=f"did you mean {near[0]!r}?" if near else "remove the key",
            )
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in options.items()})


def require_whole(owner: object, key: str, low: int, high: int | None = None) -> None:
    """Refuse ``owner.key`` unless it is a whole number in ``[low, high]``.

    Raises:
        StpError: naming the key, its value and the range.
    """
    value = getattr(owner, key)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        raise StpError(
            f"{type(owner).__name__}: {key} is {value!r}",
            expected=f"a whole number from {low}" + ("" if high is None else f" to {high}"),
            remedy=f"correct {key} in the options of the release",
        )


def require_members(owner: object, key: str, allowed: tuple[Any, ...]) -> None:
    """Refuse ``owner.key`` unless it is a non-empty tuple of different members of ``allowed``.

    Raises:
        StpError: naming the key, its value and the allowed members.
    """
    value = getattr(owner, key)
    if (
        not isinstance(value, tuple)
        or not value
        or len(set(value)) != len(value)
        or any(isinstance(item, bool) or item not in allowed for item in value)
    ):
        raise StpError(
            f"{type(owner).__name__}: {key} is {value!r}",
            expected=f"a list of different members of {', '.join(map(str, allowed))}",
            remedy=f"correct {key} in the options of the release",
        )
