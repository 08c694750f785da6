"""Measure what persistence forecasts gain from monthly means of the ocean (`stp check leak`).

ORAS5 has monthly means. ChaosBench gives each day the mean of its own month, so the 1st already has
the mean of the whole month, most of which is in the future. A persistence forecast profits from
this leak. Here, persistence forecasts are scored with the mean of their own month, as published by
ChaosBench, and with the mean of the previous month, which was known in time.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module

import numpy as np

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.inspect.counts import prepared_folder
from stp.metrics.globe import Area
from stp.metrics.latitude import coordinate, weights_of
from stp.page.plain_table import table
from stp.plan.cells import Plan

THIRDS = {"1-10": range(1, 11), "11-20": range(11, 21), "21-31": range(21, 32)}
ALL = "all"


@dataclass(frozen=True)
class Effect:
    """Errors of two persistence forecasts of a variable, over starts on some days of a month.

    In the data as published, each day has the mean of its whole month. So a forecast that repeats
    its last context frame repeats a mean that includes days it has to predict, which nobody knew at
    the time: this is a leak. The other forecast repeats the mean of the month before, which was
    known. Errors are root mean square errors over starts, lead times and the ocean, weighted by
    latitude, in the units of the variable.

    Attributes:
        variable: name of the variable.
        days: days of the month on which the last context frame is: "1-10", "11-20", "21-31" or
            "all".
        starts: number of forecasts; those whose previous month is missing from the data do not
            count.
        published: error of the forecast that repeats the mean of its own month.
        lagged: error of the forecast that repeats the mean of the month before.
    """

    variable: str
    days: str
    starts: int
    published: float
    lagged: float

    @property
    def gain(self) -> float | None:
        """Relative decrease of the error by knowing the whole month: 1 - published / lagged.

        `lagged` is the error without the mean of the month in which a forecast starts, `published`
        the error with this mean. The decrease is at most 1; it is negative if the error grows, and
        None if `lagged` is 0.
        """
        return 1 - self.published / self.lagged if self.lagged else None


@dataclass(frozen=True)
class ShownMonths:
    """How much persistence forecasts gain from monthly means that are known too early.

    Attributes:
        dataset: name of the dataset.
        source: data source: official, sample or synthetic.
        lead_times: number of lead times of a forecast.
        effects: errors of two persistence forecasts, one that repeats the mean of the month in
            which it starts, and one that repeats the mean of the month before. There is an item for
            each variable and each part of the month (days 1-10, 11-20, 21-31, and all) with starts.
    """

    dataset: str
    source: str
    lead_times: int
    effects: list[Effect]

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "effects": [{**asdict(e), "gain": e.gain} for e in self.effects]}


def measure(plan: Plan, name: str) -> ShownMonths:
    """Measure how much better persistence forecasts are if they know the mean of the whole month.

    Such a mean contains the future; the mean of the previous month does not. The data need channels
    of ORAS5, prepared with `ocean_month: published` (each day has the mean of its own month).

    Args:
        plan: plan of a scale.
        name: name of the dataset.

    Raises:
        StpError: the dataset is not prepared; it has no channels of ORAS5, or they were prepared
            with the mean of the previous month; or no forecast starts after the first month.
    """
    artefact, folder = plan.data(name), prepared_folder(plan, name)
    ocean = getattr(import_module(artefact.core), "OCEAN", ())
    return measure_prepared(Prepared(folder), name, artefact.recipe["source"], ocean)


def measure_prepared(data: Prepared, name: str, source: str, ocean: Collection[str]) -> ShownMonths:
    """Measure how much better persistence forecasts are if they know the mean of the whole month.

    Errors of forecasts that repeat the mean of the current month are compared with errors of
    forecasts that repeat the mean of the previous month.

    Args:
        data: prepared data whose ocean variables are monthly means, repeated on each day.
        name: name of the dataset.
        source: data source of the dataset: official, sample or synthetic.
        ocean: names of all variables of the ocean.

    Raises:
        StpError: the data have no channels of the ocean, the ocean channels are not means of the
            own month repeated on each day, or no forecast starts after the first month.
    """
    names = data.attrs["variables"]
    channels = [c for c, variable in enumerate(names) if variable in ocean]
    convention = data.attrs.get("conventions", {}).get("month of the ocean")
    hours, weights = coordinate(data, "time"), weights_of(data)
    if not channels or convention != "published" or hours is None or weights is None:
        raise StpError(
            f"{name} has {len(channels)} channels of the ocean"
            + (f", {convention}" if convention else ""),
            expected="channels of ORAS5 that are prepared with `ocean_month: published`",
            remedy="name some in `ocean` of the reader's options (docs/chaosbench.md)",
        )
    days = hours.astype("datetime64[h]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    first = dict(zip(*np.unique(months, return_index=True), strict=True))

    @cache
    def field(month: np.datetime64) -> np.ndarray:
        frame = int(first[month])
        return np.asarray(data.frames.read(frame, frame + 1)[0][channels])

    @cache
    def error(shows: np.datetime64, valid: np.datetime64) -> np.ndarray:
        """Mean square difference of two months, for each channel."""
        area = Area(weights, field(valid))
        return np.asarray(area.mean(area.difference(field(shows), field(valid)) ** 2))

    clips = data.clips("test").index
    leads = range(data.context, data.context + data.horizon)
    errors: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {part: [] for part in (ALL, *THIRDS)}
    for first_frame, stride in clips[["start", "stride"]].to_numpy(np.int64).tolist():
        start = first_frame + (data.context - 1) * stride
        before = months[start] - 1
        if before not in first:
            continue
        valid = [months[first_frame + lead * stride] for lead in leads]
        current, late = (
            np.mean([error(shows, month) for month in valid], axis=0)
            for shows in (months[start], before)
        )
        day = int((days[start] - months[start].astype(days.dtype)).astype(int)) + 1
        for part in (ALL, *(part for part, days_of_part in THIRDS.items() if day in days_of_part)):
            errors[part].append((current, late))
    if not errors[ALL]:
        raise StpError(
            f"{name}: no test window has a month before its start in the data",
            remedy="prepare more years",
        )
    effects = []
    for number, channel in enumerate(channels):
        for part, pairs in errors.items():
            if pairs:
                published, lagged = np.sqrt(np.mean(pairs, axis=0))[:, number].tolist()
                effects.append(Effect(names[channel], part, len(pairs), published, lagged))
    return ShownMonths(name, source, data.horizon, effects)


def lines(months: ShownMonths, width: int) -> Iterator[str]:
    """Yield lines of text with a table of the errors of two persistence forecasts.

    One forecast repeats the mean of its own month, which is not known yet; the other repeats the
    mean of the month before. The table shows how much the first one gains.

    Args:
        months: the errors, from `measure`.
        width: maximum length of a line, characters.
    """
    yield f"{months.dataset}, {months.source} data, {months.lead_times} lead times"
    if months.source != "official":
        yield "not a number of the official data"
    yield ""
    yield "root mean square errors of persistence, from what a day shows of the ocean"
    yield ""
    header = ("variable", "starts on days", "starts", "own month", "month before", "gain")
    cells = [
        (
            *(effect.variable, effect.days, str(effect.starts)),
            *(f"{effect.published:.4g}", f"{effect.lagged:.4g}"),
            "-" if effect.gain is None else f"{100 * effect.gain:.1f} %",
        )
        for effect in months.effects
    ]
    yield from table(header, cells, width, left=2)
