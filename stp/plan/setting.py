"""Settings of an evaluation, names that are parts of paths, and the notation of table columns."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

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


class Part(NamedTuple):
    """What values of a convention are restricted to; all together unless set.

    Attributes:
        variable: a variable.
        threshold: of events.
        leads: a lead time, ``44``, or a range of them, ``1-7``: the mean over it (of conventions
            that pool lead times, over its samples).
        statistic: over samples: ``mean``, ``sd``, the standard deviation, or ``median``, over
            splits.
    """

    variable: str | None = None
    threshold: float | None = None
    leads: str | None = None
    statistic: str = "mean"


class Shown(NamedTuple):
    """What a column shows: a convention, and what its values are restricted to.

    The variable is named by the heading of the column (`stp.plan.manifest.variable_of`).
    """

    convention: str
    part: Part = Part()


EXPECTED_SHOWN = (
    "<metric>.<choice>, and behind @ what it is restricted to, with commas between: a threshold "
    "(16), one lead time (lead=44) or a range (leads=1-7), sd for the standard deviation, median "
    "for that over splits: csi.mean@16, rmse.pooled@lead=44, csi.mean@16,leads=1-7, "
    "mse.pixel_mean@leads=8-14,sd"
)


def read_shown(text: str) -> Shown:
    """Read what a column shows, such as ``csi.mean``, ``csi.mean@16`` or ``rmse.pooled@lead=44``.

    Raises:
        ValueError: it is written in another way; says how.
    """
    convention, at, restricted = text.partition("@")
    found: dict[str, Any] = {}
    for word in restricted.split(",") if at else ():
        one = re.fullmatch(
            r"(?P<threshold>-?\d+(\.\d+)?)|lead=(?P<lead>[1-9]\d*)"
            r"|leads=(?P<first>[1-9]\d*)-(?P<last>[1-9]\d*)|(?P<statistic>sd|median)",
            word,
        )
        if one is None:
            raise _unreadable(f"{text!r}: {word!r} is no restriction")
        if one["threshold"]:
            new: dict[str, Any] = {"threshold": float(one["threshold"])}
        elif one["statistic"]:
            new = {"statistic": one["statistic"]}
        elif one["lead"]:
            new = {"leads": one["lead"]}
        else:
            new = {"leads": f"{one['first']}-{one['last']}"}
            if int(one["first"]) >= int(one["last"]):
                raise _unreadable(f"{text!r}: a range of lead times ends after it begins")
        if found.keys() & new.keys():
            raise _unreadable(f"{text!r}: {word!r} says again what was said before it")
        found |= new
    if not re.fullmatch(r"\w+\.\w+", convention):
        raise _unreadable(f"{text!r} shows no convention")
    return Shown(convention, Part(**found))


def _unreadable(what: str) -> ValueError:
    return ValueError(f"{what}; expected {EXPECTED_SHOWN}")


def lead_range(leads: str) -> range:
    """The lead times of ``44`` or ``1-7``, from 1."""
    first, _, last = leads.partition("-")
    return range(int(first), int(last or first) + 1)
