"""Options of a recipe are checked by the types of their fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, PositiveFloat, PositiveInt

from stp.core.errors import ConfigurationError
from stp.core.options import build, require


@dataclass(frozen=True)
class Options:
    threads: PositiveInt = 1
    height: Annotated[int, Field(ge=16, le=64)] = 16
    rate: PositiveFloat | None = None
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    offset: float = 0
    layout: Literal["raw", "rlds"] = "raw"
    is_fast: bool = False
    steps: tuple[int, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self.threads < 64 or self.is_fast, "threads", self.threads, "fewer unless is_fast")


def test_values_are_those_that_json_has() -> None:
    given = {"rate": 3, "steps": [1, 2], "about": {"a": [1]}, "layout": "rlds", "threads": 8}
    built = build(Options, given, "recipe")
    assert built == Options(rate=3.0, steps=(1, 2), about={"a": [1]}, layout="rlds", threads=8)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("threads", 0, "a whole number from 1"),
        ("threads", True, "a whole number from 1"),
        ("threads", "1", "a whole number from 1"),
        ("threads", 2.0, "a whole number from 1"),
        ("height", 65, "a whole number from 16 to 64"),
        ("rate", 0, "a number > 0, or null"),
        ("rate", float("nan"), "a number > 0, or null"),
        ("share", 2, "a number > 0 and <= 1"),
        ("offset", float("inf"), "a number"),
        ("layout", "x", "raw or rlds"),
        ("is_fast", 1, "true or false"),
        ("steps", [1, "x"], "a list: a whole number, ..."),
        ("about", 3, "keys with values"),
    ],
)
def test_an_error_names_key_value_and_what_the_type_allows(
    key: str, value: object, expected: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        build(Options, {key: value}, "prepare options")
    assert error.value.what == f"prepare options: {key} is {value!r}"
    assert error.value.expected == expected
    assert error.value.remedy


def test_what_depends_on_several_fields_is_said_by_the_class() -> None:
    assert build(Options, {"threads": 64, "is_fast": True}, "recipe").threads == 64
    with pytest.raises(ConfigurationError, match="threads"):
        build(Options, {"threads": 64}, "recipe")
    with pytest.raises(ConfigurationError, match="threads"):
        build(Options, {"thread": 64}, "recipe")
