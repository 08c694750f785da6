"""What distinguishes evaluations of one model on one dataset: horizon and frame interval."""

from collections.abc import Mapping

ROBUSTNESS = "robustness"
"""The subset whose windows serve all frame intervals."""


def setting_name(setting: Mapping[str, int]) -> str:
    """Name a setting in a path, such as ``horizon-30,interval-2``."""
    return ",".join(f"{key}-{value}" for key, value in sorted(setting.items()))


def setting_of(name: str) -> dict[str, int]:
    """Read the name of a setting."""
    return {key: int(value) for key, _, value in (part.partition("-") for part in name.split(","))}
