"""Names of the arrays of terciles in ``climatology.zarr`` of prepared data."""

LOWER, UPPER = "lower_tercile", "upper_tercile"


def name_of(tercile: str, days: int) -> str:
    """Name of the array with a tercile, by calendar day, of means over the last ``days`` days."""
    return tercile if days == 1 else f"{tercile}_of_{days}_days"
