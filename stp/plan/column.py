"""Columns of tables: which values of which convention stand under which heading."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from stp.core.json_files import Json
from stp.plan.checked_config import Strict


class Part(NamedTuple):
    """What values of a convention are restricted to; all together unless set.

    Attributes:
        variable: a variable.
        threshold: of events.
        leads: a lead time, ``44``, or a range of them, ``1-7``: the mean over it (of conventions
            that pool lead times, over its samples).
        statistic: over samples: ``mean``, ``sd``, the standard deviation, or ``median``, over
            splits.
    """

    variable: str | None = None
    threshold: float | None = None
    leads: str | None = None
    statistic: str = "mean"


def _as_text(lead: Any) -> Any:
    """A single lead time is a number in YAML."""
    return str(lead) if isinstance(lead, int) and not isinstance(lead, bool) else lead


def _rising(lead: str) -> str:
    first, _, last = lead.partition("-")
    if last and int(first) >= int(last):
        raise ValueError("a range of lead times whose first is below its last, such as 1-7")
    return lead


LeadTimes = Annotated[
    str,
    Field(pattern=r"^[1-9]\d*(-[1-9]\d*)?$"),
    AfterValidator(_rising),
    BeforeValidator(_as_text, json_schema_input_type=int | str),
]
"""A lead time in steps from 1, ``44``, or a range of them, ``1-7``."""
ConventionName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*\.[a-z0-9][a-z0-9_]*$")]
"""``<metric>.<choice>``."""


class Column(Strict):
    """A column of a table; the name of a convention stands for a column with this heading.

    Attributes:
        heading: over its values, behind the variable; values that a paper prints are found by it.
            The name of the convention unless set.
        convention: whose values it shows, such as ssim.range1.
        variable: of which they are; of all together unless set.
        threshold: at which they are; the mean over all of them unless set.
        lead: time in steps from 1, or a range such as 1-7; all of them unless set. Over a range,
            values are means or, of conventions that pool, one value of all its samples.
        statistic: over samples; sd is their standard deviation (ddof 0), without interval and rank,
            median that over splits.
        unit: of its values, in words, where it is not that of the convention.
        digits: significant digits that pages show, and in which equal values are equal.
    """

    heading: Annotated[str, Field(min_length=1)]
    convention: ConventionName
    variable: str | None = None
    threshold: float | None = None
    lead: LeadTimes | None = None
    statistic: Literal["mean", "sd", "median"] = "mean"
    unit: str = ""
    digits: int = Field(default=4, ge=1, le=10)

    @model_validator(mode="before")
    @classmethod
    def _headed(cls, given: Any) -> Any:
        if isinstance(given, dict) and "heading" not in given and "convention" in given:
            return {"heading": given["convention"]} | given
        return given

    @property
    def name(self) -> str:
        """The variable and the heading: ``t2m WRMSE``."""
        return f"{self.variable} {self.heading}" if self.variable else self.heading

    @property
    def part(self) -> Part:
        """What values are restricted to."""
        return Part(self.variable, self.threshold, self.lead, self.statistic)

    @property
    def shown(self) -> str:
        """What stands behind the heading, as pages write it: ``csi.mean@16``, ``@leads=1-7``."""
        lead = f"leads={self.lead}" if self.lead and "-" in self.lead else f"lead={self.lead}"
        parts = [
            *([f"{self.threshold:g}"] if self.threshold is not None else []),
            *([lead] if self.lead else []),
            *([self.statistic] if self.statistic != "mean" else []),
        ]
        return f"{self.convention}@{','.join(parts)}" if parts else self.convention

    @property
    def place(self) -> tuple[str, Part]:
        """Convention and part: equal for columns with the same values."""
        return self.convention, self.part


class ReproducedColumn(Column):
    """A column of a reproduction table.

    Attributes:
        factor: that our value is multiplied by, to be in the units of the column.
        doubt: why it is not certain; such a column gets no difference.
    """

    factor: float = 1.0
    doubt: str = ""


def _from_text(given: Any) -> Any:
    return {"convention": given} if isinstance(given, str) else given


def _different(columns: tuple[Any, ...]) -> tuple[Any, ...]:
    names = [column.name for column in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PydanticCustomError(
            "columns", "columns of different names, not {name} twice", {"name": twice}
        )
    return columns


AnyColumn = Annotated[Column, BeforeValidator(_from_text, json_schema_input_type=Column | str)]
Columns = Annotated[tuple[AnyColumn, ...], AfterValidator(_different)]
"""Columns of a table in their order."""


def by_name(columns: Iterable[Column]) -> dict[str, Column]:
    """Columns by what tables call them."""
    return {column.name: column for column in columns}


def lead_range(leads: str) -> range:
    """The lead times of ``44`` or ``1-7``, from 1."""
    first, _, last = leads.partition("-")
    return range(int(first), int(last or first) + 1)


def variables_in(options: Json) -> frozenset[str] | None:
    """The variables that options of a reader name, as columns call them; None if it decides itself.

    Args:
        options: ``variables`` are names, or names with their levels; other lists may name more.
    """
    listed = options.get("variables")
    if not listed:
        return None
    names: set[str] = set()
    records = listed.items() if isinstance(listed, dict) else ((name, None) for name in listed)
    for name, levels in records:
        names |= {f"{re.sub(f'_{level:g}$', '', name)}{level:g}" for level in levels or ()}
        names |= set() if levels else {name}
    further = (value for key, value in options.items() if key != "variables")
    return frozenset(names).union(
        *(filter(lambda one: isinstance(one, str), value) for value in further
          if isinstance(value, list))
    )  # fmt: skip
