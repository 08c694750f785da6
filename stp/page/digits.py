"""Numbers for people."""


def digits(value: float) -> str:
    """Write four significant digits; whole numbers from 10,000 on, powers only below 0.0001."""
    if abs(value) >= 9999.5:
        return f"{value:.0f}"
    return f"{value:#.4g}".removesuffix(".")


def number(value: float | None) -> str:
    """Write ten significant digits for machines: more than any metric has, few enough to hide
    rounding; nothing for None."""
    return "" if value is None else f"{value:.10g}"
