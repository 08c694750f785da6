"""Numbers as text: for people and for CSV files."""

DIGITS = 4
"""Default number of significant digits of a value."""


def digits(value: float, count: int = DIGITS) -> str:
    """A number with some significant digits, but all digits before the decimal point.

    Only numbers below 0.0001 are written with a power of ten.
    """
    if abs(value) >= 10**count - 0.5:
        return f"{value:.0f}"
    return f"{value:#.{count}g}".removesuffix(".")


def format_number(value: float | None) -> str:
    """A number with ten significant digits, for programs; empty for None.

    Metrics are not more exact, and rounding errors of floating-point numbers are hidden.
    """
    return "" if value is None else f"{value:.10g}"


def csv_value(value: object) -> object:
    """Format a value for a CSV file: numbers with ten significant digits, yes or no, empty for
    None.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_number(value) if value is None or isinstance(value, float) else value
