"""What distinguishes evaluations of one model on one dataset, and what columns show of them."""

from collections.abc import Mapping
from typing import Any

ROBUSTNESS = "robustness"
"""The subset whose windows serve all frame intervals."""


def setting_name(setting: Mapping[str, int]) -> str:
    """Name a setting in a path, such as ``horizon-30,interval-2``."""
    return ",".join(f"{key}-{value}" for key, value in sorted(setting.items()))


def setting_of(name: str) -> dict[str, int]:
    """Read the name of a setting."""
    return {key: int(value) for key, _, value in (part.partition("-") for part in name.split(","))}


PEOPLE = ("observe", "noise", "people")
"""What else a setting of people may have, besides the horizon."""


def people_case(setting: Mapping[str, int]) -> list[str]:
    """Say it for people: ``at least 3 people``, ``noise 0.2 m``; without what is not set."""
    said = []
    if "noise" in setting:
        said.append(f"noise {setting['noise'] / 1000:g} m")
    if "people" in setting:
        said.append(f"at least {setting['people']} people")
    return said


def split_threshold(shown: str) -> tuple[str, float | None]:
    """Read what a column shows, ``csi.mean`` or ``csi.mean@16``: convention and threshold.

    Raises:
        ValueError: what stands behind the sign is no number.
    """
    convention, at, threshold = shown.partition("@")
    return convention, float(threshold) if at else None


def case_name(key: Mapping[str, Any]) -> str:
    """Name what was tested, as part of a file name: ``kitti-caltech``, ``bridge-interval-2``.

    Args:
        key: ``trained_on``, ``train_subset``, ``tested_on``, ``subset`` and ``setting`` of a cell.
            Within one dimension the name is unique among cells that differ in any of them, unless
            they differ in the horizon alone.
    """
    trained, tested = key["trained_on"], key["tested_on"]
    parts = [tested] if trained in (None, tested) else [trained, tested]
    parts += [] if key["subset"] in ("test", ROBUSTNESS) else [key["subset"]]
    parts += [] if key["train_subset"] == "all" else [f"trained_on_{key['train_subset']}"]
    interval = setting_of(key["setting"]).get("interval")
    parts += [] if interval is None else [f"interval-{interval}"]
    setting = setting_of(key["setting"])
    parts += [f"{name}-{setting[name]}" for name in ("update", *PEOPLE) if name in setting]
    return "-".join(parts)
