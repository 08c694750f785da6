"""How models refuse options that make no sense."""

from typing import Any

from stp.errors import StpError


def require(ok: bool, option: str, value: Any, expected: str) -> None:
    """Refuse the value of an option unless `ok`.

    Raises:
        StpError: naming the option, its value and what was expected.
    """
    if not ok:
        raise StpError(
            f"model option {option} is {value!r}",
            expected=expected,
            remedy=f"change options.{option} in the configuration of the model",
        )


def is_whole(value: Any, least: int) -> bool:
    """Whether `value` is a whole number >= `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
