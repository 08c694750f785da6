"""What `stp list datasets` and `stp show` say of tracks of people: what is in them, what is not."""

from collections.abc import Iterator
from typing import Any

from stp.core import store
from stp.core.receipts import require_receipt
from stp.inspect.counts import Row
from stp.inspect.descriptions import Leakage
from stp.options.protocols import RELEASED
from stp.page.plain_table import number, share, table
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.tracks.gaps import LONGEST_GAP

NOT_PREPARED = "known when it is prepared"
PARTS = {"test": "", "calibration": "-train"}
"""What a part of the detections is called after its protocol, as subsets of frames are."""


def describe(plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
    """Count the scenarios of a dataset, and say what calibration and test share."""
    if not leakage:
        return rows(plan, name), None
    found = facts(plan, name)
    return rows(plan, name), Leakage([], [], shared_people(found) if found else NOT_PREPARED)


def facts(plan: Plan, name: str) -> dict[str, Any] | None:
    """What was counted when a dataset was prepared (`stp.prepare.tracks`); None if it is not."""
    folder = plan.store / plan.data(name).folder
    if not store.is_complete(folder):
        return None
    return require_receipt(folder).extras


def rows(plan: Plan, name: str) -> list[Row]:
    """Scenarios by protocol and part, as rows of the table of counts."""
    dataset = plan.config.datasets[name]
    source = dataset.releases[dataset.release].source
    found = facts(plan, name)
    if found is None:
        return [
            Row(name, source, split, None, None, None, NOT_PREPARED) for split in dataset.subsets
        ]
    return [
        Row(name, source, protocol + suffix, None, about["scenarios"], None, _note(about))
        for protocol, parts in found["scenarios"].items()
        for part, suffix in PARTS.items()
        if (about := parts.get(part)) is not None
    ]


def _note(about: dict[str, Any]) -> str:
    left_out = about["moments"] - about["scenarios"]
    return (
        f"{_counted(about['episodes'], 'episode')}, {number(about['people'])} people; "
        f"{share(left_out, about['moments'])} of {number(about['moments'])} moments are none"
    )


def _counted(count: int, what: str) -> str:
    return f"{number(count)} {what}{'' if count == 1 else 's'}"


def lines(plan: Plan, name: str, _: Leakage, width: int) -> Iterator[str]:
    """Describe one dataset."""
    found = facts(plan, name)
    if found is None:
        yield (
            f"{name}: not prepared; `stp fetch {name}` and `stp prepare {name}` (with the same "
            "--configfile) tell what it has"
        )
        return
    dataset = plan.config.datasets[name]
    source = dataset.releases[dataset.release].source
    yield (
        f"{name}, {source} data (release {dataset.release}): {number(found['detections'])} "
        f"detections of {number(found['people'])} people in {number(found['seconds'])} s"
    )
    yield (
        f"around them: {number(found['obstacles'])} obstacles, which "
        f"{number(found['on_obstacles'])} detections are on; {number(found['goals'])} goals; "
        f"{number(found['cells'])} cells with a class"
    )
    yield from made_up(found)
    yield from (f"left out: {text}" for text in left_out(found))
    yield ""
    yield f"scenarios of {dataset.context} -> {dataset.horizon} positions"
    yield ""
    header = ("protocol", "part", "moments", "scenarios", "episodes", "people", "others, and why")
    cells = [
        (
            protocol,
            part,
            *(number(about[key]) for key in ("moments", "scenarios", "episodes", "people")),
            "; ".join(f"{reason}: {number(count)}" for reason, count in about["left_out"].items()),
        )
        for protocol, parts in found["scenarios"].items()
        for part, about in parts.items()
    ]
    yield from table(header, cells, width, left=2)
    yield ""
    yield shared_people(found)
    yield f"what each protocol shows predictors of the future: `stp check leak {name}`"


def made_up(found: dict[str, Any]) -> Iterator[str]:
    """Positions at which nobody was detected, as it was counted when a dataset was prepared."""
    if found["interpolated"]:
        yield (
            f"interpolated between two of {number(found['rows'])} rows: "
            f"{share(found['interpolated'], found['detections'])} detections"
        )
    if found["filled"]:
        yield (
            f"missing in gaps of up to {LONGEST_GAP:g} s, which scenarios fill: "
            f"{_counted(found['filled'], 'position')}"
        )


def left_out(found: dict[str, Any]) -> Iterator[str]:
    """Rows, people and goals that are not in the prepared data, and why."""
    if found["lost_rows"]:
        yield f"{share(found['lost_rows'], found['rows'])} rows, which are marked as lost"
    if found["sparse_people"]:
        named, most = found["some_sparse_people"], 5
        more = f"; and {number(found['sparse_people'] - most)} more" * (len(named) > most)
        yield (
            f"{number(found['sparse_people'])} people, who are seen too seldom "
            f"({'; '.join(named[:most])}{more})"
        )
    for person in found["excluded_people"]:
        yield f"a person, for a teleport ({person})"
    goals = found["absurd_goals"]
    if goals:
        places = ", ".join(f"({x:g}, {y:g})" for x, y in goals)
        many = _counted(len(goals), "goal")
        yield f"{many} more than a kilometre from everybody: {places}"


def shared_people(found: dict[str, Any]) -> str:
    """What calibration and test share."""
    both, lacking, people = (
        found[key] for key in ("people_in_both", "people_of_test_alone", "people")
    )
    return (
        f"calibration and test follow each other in the same recordings: under {RELEASED} "
        f"{share(both, people)} people are in both, under the other protocols nobody: "
        f"{share(lacking, people)}, who are there at the cut, are left out of the calibration"
    )


def size_text(dataset: Dataset) -> str:
    """What is known of each person at each time."""
    return "x, y of people"


def protocol_text(dataset: Dataset) -> str:
    """What context and horizon count."""
    return "positions of each person"


def section(dataset: Dataset) -> Iterator[str]:
    """The protocols, in Markdown."""
    protocols = (f"`{label}` ({subset.title})" for label, subset in dataset.subsets.items())
    yield f"- **Protocols of test and calibration:** {', '.join(protocols)}."
