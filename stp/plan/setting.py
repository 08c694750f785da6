"""Settings of an evaluation, and names that are parts of paths."""

import re
from collections.abc import Mapping

from stp.core.errors import StpError

ROBUSTNESS = "robustness"
"""The subset whose windows serve all frame intervals."""


JOINT = "+"
"""Joins the parts of the name of a setting, and those of a variant. Not a comma: Snakemake divides
the wildcards of a job that it submits to a cluster at commas."""
WILDCARD = "[A-Za-z0-9_.+-]+"
"""What a part of a path in the store may be: it is the value of a wildcard of Snakemake, and has to
survive the command line of a job on a cluster."""
_PATH = re.compile(f"{WILDCARD}(/{WILDCARD})*")


def current_name(name: str) -> str:
    """The name of today of a setting or variant whose parts were joined by commas once."""
    return name.replace(",", JOINT)


def joined(*parts: str) -> str:
    """The name of a setting or variant that consists of parts, such as ``default+lead-5``."""
    return JOINT.join(parts)


def parts_of_name(name: str) -> list[str]:
    """The parts of the name of a setting or variant, old or new."""
    return current_name(name).split(JOINT)


def setting_name(setting: Mapping[str, int]) -> str:
    """Name a setting in a path, such as ``horizon-30+interval-2``."""
    return joined(*(f"{key}-{value}" for key, value in sorted(setting.items())))


def setting_of(name: str) -> dict[str, int]:
    """Read the name of a setting."""
    parts = (part.partition("-") for part in parts_of_name(name))
    return {key: int(value) for key, _, value in parts}


def check_path(path: str, what: str) -> None:
    """Refuse a path in the store with a part that cannot be the value of a wildcard.

    Args:
        path: relative to the store.
        what: is made there, for the error.

    Raises:
        StpError: a part has a character that `WILDCARD` does not list.
    """
    if not _PATH.fullmatch(path):  # one call: there are thousands of paths
        wrong = next(part for part in path.split("/") if not re.fullmatch(WILDCARD, part))
        raise StpError(
            f"{what}: {wrong!r} cannot be a part of a path in the store",
            expected="names of letters, digits and _ . + - only",
            remedy=f"rename what is called {wrong!r} in the configuration",
        )


def people_case(setting: Mapping[str, int]) -> list[str]:
    """The set parts in words: ``at least 3 people``, ``noise 0.2 m``, ``training 20``."""
    said = []
    if "noise" in setting:
        said.append(f"noise {setting['noise'] / 1000:g} m")
    if "people" in setting:
        said.append(f"at least {setting['people']} people")
    said += [f"{name} {setting[name]}" for name in ("components", "training") if name in setting]
    return said
