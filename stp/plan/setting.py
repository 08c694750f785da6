"""Settings of an evaluation, and the notation of table columns."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

ROBUSTNESS = "robustness"
"""The subset whose windows serve all frame intervals."""


def setting_name(setting: Mapping[str, int]) -> str:
    """Name a setting in a path, such as ``horizon-30,interval-2``."""
    return ",".join(f"{key}-{value}" for key, value in sorted(setting.items()))


def setting_of(name: str) -> dict[str, int]:
    """Read the name of a setting."""
    return {key: int(value) for key, _, value in (part.partition("-") for part in name.split(","))}


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
