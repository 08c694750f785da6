"""Names of the arrays of terciles in ``climatology.zarr`` of prepared data."""

LOWER, UPPER = "lower_tercile", "upper_tercile"


def name_of(tercile: str, days: int) -> str:
    """Name of the array of a tercile of means over the ``days`` days up to each calendar day."""
    return tercile if days == 1 else f"{tercile}_of_{days}_days"
