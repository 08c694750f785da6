"""Names of settings and variants, which are parts of paths.

A setting is what an evaluation changes of a dataset's protocol, such as ``horizon-30+interval-2``.
A variant is a named set of options of a model, such as ``released``.
"""

import re
from collections.abc import Mapping

from stp.core.errors import ConfigurationError

ROBUSTNESS = "robustness"
"""Name of the subset whose windows are long enough for all frame intervals."""
JOINT = "+"
"""Separates the parts of the name of a setting or variant. Not a comma: at commas, Snakemake splits
the wildcards of jobs that it submits to a cluster."""
WILDCARD = "[A-Za-z0-9_.+-]+"
"""Pattern of the parts of paths in the store: they are wildcards of Snakemake, and arguments of
cluster jobs."""
_PATH = re.compile(f"{WILDCARD}(/{WILDCARD})*")


def current_name(name: str) -> str:
    """Convert the older name of a setting or variant, parts joined by commas, to one with ``+``."""
    return name.replace(",", JOINT)


def join_parts(*parts: str) -> str:
    """Join the parts of the name of a setting or variant: ``default+lead-5``."""
    return JOINT.join(parts)


def parts_of_name(name: str) -> list[str]:
    """Split the name of a setting or variant: ``horizon-30+interval-2`` has two parts."""
    return current_name(name).split(JOINT)


def setting_name(setting: Mapping[str, int]) -> str:
    """The name of a setting in a path, such as ``horizon-30+interval-2``."""
    return join_parts(*(f"{key}-{value}" for key, value in sorted(setting.items())))


def setting_of(name: str) -> dict[str, int]:
    """Parse the name of a setting to its values by key.

    The name ``horizon-30+interval-2`` becomes ``{"horizon": 30, "interval": 2}``. Older names, with
    commas in place of ``+``, are parsed too.

    Raises:
        ValueError: a part of the name does not end in a hyphen and a whole number.
    """
    parts = (part.partition("-") for part in parts_of_name(name))
    return {key: int(value) for key, _, value in parts}


def check_path(path: str, what: str) -> None:
    """Refuse a path in the store with other characters than letters, digits and ``_ . + - /``.

    Args:
        path: path relative to the store.
        what: object that has this path, for the error.

    Raises:
        ConfigurationError: the path has such a character, or an empty part.
    """
    if not _PATH.fullmatch(path):  # one call: there are thousands of paths
        wrong = next(part for part in path.split("/") if not re.fullmatch(WILDCARD, part))
        raise ConfigurationError(
            f"{what}: {wrong!r} cannot be a part of a path in the store",
            expected="names of letters, digits and _ . + - only",
            remedy=f"rename {wrong!r} in the configuration",
        )


def people_case(setting: Mapping[str, int]) -> list[str]:
    """Describe settings of tracks and opinions: ``noise 0.2 m``, ``at least 3 people``."""
    texts = []
    if "noise" in setting:
        texts.append(f"noise {setting['noise'] / 1000:g} m")
    if "people" in setting:
        texts.append(f"at least {setting['people']} people")
    texts += [f"{name} {setting[name]}" for name in ("components", "training") if name in setting]
    return texts
