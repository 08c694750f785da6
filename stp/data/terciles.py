"""What arrays of terciles are called in ``climatology.zarr`` of prepared data."""

LOWER, UPPER = "lower_tercile", "upper_tercile"


def name_of(tercile: str, days: int) -> str:
    """The array of the terciles of means over some days, the last of which is the calendar day."""
    return tercile if days == 1 else f"{tercile}_of_{days}_days"
