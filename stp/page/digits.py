"""Numbers as text: for people and for CSV files."""

from typing import Any

DIGITS = 4
"""Significant digits of a value, unless its column sets others."""


def digits(value: float, count: int = DIGITS) -> str:
    """Write some significant digits; all before the point, powers only below 0.0001."""
    if abs(value) >= 10**count - 0.5:
        return f"{value:.0f}"
    return f"{value:#.{count}g}".removesuffix(".")


def number(value: float | None) -> str:
    """Write ten significant digits for machines: more than any metric has, few enough to hide
    rounding; nothing for None.
    """
    return "" if value is None else f"{value:.10g}"


def csv_value(value: Any) -> Any:
    """A value as CSV files have it: ten significant digits, yes or no, nothing for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if value is None or isinstance(value, float) else value
