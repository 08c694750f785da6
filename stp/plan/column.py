"""Columns of tables: heading, convention, and which of the convention's values are shown.

A convention is one exact definition of a metric, such as ``ssim.range2``.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from stp.core.json_files import Json
from stp.plan.checked_config import Strict


class Part(NamedTuple):
    """The part of a metric's values that a column shows; by default all of them together.

    Attributes:
        variable: name of a variable.
        threshold: threshold of events.
        leads: a lead time, ``44``, or a range, ``1-7``, over which the value is a mean; conventions
            that pool lead times pool those of the range.
        statistic: ``mean`` or ``sd`` (standard deviation) over samples, or ``median`` over splits.
    """

    variable: str | None = None
    threshold: float | None = None
    leads: str | None = None
    statistic: str = "mean"


def _as_text(lead: object) -> object:
    """Convert a single lead time, which is a number in YAML, to text."""
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
"""A lead time in steps from 1, ``44``, or a range, ``1-7``."""
ConventionName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*\.[a-z0-9][a-z0-9_]*$")]
"""Name of a convention, ``<metric>.<choice>``."""


class Column(Strict):
    """A column of a table of results: a convention, and which of its values are shown.

    In a configuration file, the name of a convention alone, such as ``ssim.range2``, is a column
    too. It is then also the heading.

    Attributes:
        heading: heading of the column, such as ``WRMSE``; by default the name of the convention.
            Tables show the variable before it, if one is set (``t2m WRMSE``). Published values
            belong to the column if their metric has the same name as the heading.
        convention: convention of the values, such as ssim.range1.
        variable: variable of the values; all variables together unless set.
        threshold: threshold of the values; the mean over all thresholds unless set.
        lead: lead time in steps from 1, or a range such as 1-7; all lead times unless set. The
            value of a range is a mean; conventions that pool lead times pool those of the range.
        statistic: mean or sd (standard deviation with ddof 0, without interval and rank) over
            samples, or median over splits.
        unit: unit of the values, in words; the unit of the convention unless set.
        digits: number of significant digits on pages; values with equal digits count as ties.
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
    def _with_heading(cls, value: object) -> object:
        if isinstance(value, dict) and "heading" not in value and "convention" in value:
            return {"heading": value["convention"]} | value
        return value

    @property
    def name(self) -> str:
        """The variable and the heading: ``t2m WRMSE``."""
        return f"{self.variable} {self.heading}" if self.variable else self.heading

    @property
    def part(self) -> Part:
        """The part of the metric's values that the column shows, such as one variable."""
        return Part(self.variable, self.threshold, self.lead, self.statistic)

    @property
    def label(self) -> str:
        """Convention and part as text: ``csi.mean@16``, ``acc.mean@leads=1-7``."""
        lead = f"leads={self.lead}" if self.lead and "-" in self.lead else f"lead={self.lead}"
        parts = [
            *([f"{self.threshold:g}"] if self.threshold is not None else []),
            *([lead] if self.lead else []),
            *([self.statistic] if self.statistic != "mean" else []),
        ]
        return f"{self.convention}@{','.join(parts)}" if parts else self.convention

    @property
    def place(self) -> tuple[str, Part]:
        """Metric and part of its values; two columns that agree in both show the same values.

        The metric is given as a convention (its exact definition), such as ``ssim.range2``.
        """
        return self.convention, self.part


class ReproducedColumn(Column):
    """A column of a table that compares results of stp with results that a paper reproduced.

    Attributes:
        factor: factor that converts the value of stp to the unit of the column.
        doubt: reason why the column may not be the same quantity; if set, no difference is shown.
    """

    factor: float = 1.0
    doubt: str = ""


def _from_text(value: object) -> object:
    return {"convention": value} if isinstance(value, str) else value


def _different(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    names = [column.name for column in columns]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise PydanticCustomError(
            "columns", "columns of different names, not {name} twice", {"name": duplicate}
        )
    return columns


AnyColumn = Annotated[Column, BeforeValidator(_from_text, json_schema_input_type=Column | str)]
Columns = Annotated[tuple[AnyColumn, ...], AfterValidator(_different)]
"""Columns of a table, in order."""


def by_name(columns: Iterable[Column]) -> dict[str, Column]:
    """Map the name of each column to the column."""
    return {column.name: column for column in columns}


def lead_range(leads: str) -> range:
    """Parse lead times, counted from 1: ``44`` is ``range(44, 45)``, ``1-7`` is ``range(1, 8)``."""
    first, _, last = leads.partition("-")
    return range(int(first), int(last or first) + 1)


def variables_in(options: Json) -> frozenset[str] | None:
    """Collect the names of all variables in a reader's options.

    Args:
        options: options of the reader. ``variables`` lists names, or maps names to levels. Every
            other option that is a list of strings is taken for a list of variables too.

    Returns:
        the names, with the level appended where there are levels; None without ``variables``.
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
        *(filter(lambda name: isinstance(name, str), value) for value in further
          if isinstance(value, list))
    )  # fmt: skip
