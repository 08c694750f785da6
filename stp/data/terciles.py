"""Names of the arrays of terciles in ``climatology.zarr`` of prepared data."""

LOWER, UPPER = "lower_tercile", "upper_tercile"


def name_of(tercile: str, days: int) -> str:
    """Name of the array that holds a tercile of each calendar day.

    Args:
        tercile: `LOWER` or `UPPER`.
        days: number of days over which fields are averaged before the tercile is computed; the
            calendar day is the last of them.
    """
    return tercile if days == 1 else f"{tercile}_of_{days}_days"
