"""Describe datasets of tracks of people, for `stp list datasets` and `stp draw clips`."""

from collections.abc import Iterator
from typing import Any

from stp.inspect.counts import NOT_PREPARED, Row, how_to_prepare
from stp.inspect.counts import reader_counts as facts
from stp.inspect.descriptions import Leakage
from stp.options.protocols import RELEASED
from stp.page.plain_table import format_count, share, table
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.tracks.gaps import LONGEST_GAP

PARTS = {"test": "", "calibration": "-train"}
"""Suffix of the protocol in the names of subsets, for each part of the detections."""


def describe(plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
    """Count the scenarios of a dataset of tracks, and people who are in both parts.

    The parts are ``calibration`` (the first detections) and ``test`` (the others).

    Args:
        plan: plan with the dataset.
        name: name of the dataset.
        leakage: whether to count the people who are in both parts.

    Returns:
        a row of numbers for each protocol and part; and, if `leakage` is set, a `Leakage` whose
        ``reason`` is a sentence about people who are in both parts, else None.
    """
    if not leakage:
        return rows(plan, name), None
    counted = facts(plan, name)
    return rows(plan, name), Leakage(
        [], [], describe_shared_people(counted) if counted else NOT_PREPARED
    )


def rows(plan: Plan, name: str) -> list[Row]:
    """Count the scenarios of a dataset of tracks.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.

    Returns:
        a row for each protocol (the rules by which scenarios are cut) and each part of the data,
        calibration or test. Rows have no numbers before the dataset is prepared.
    """
    dataset = plan.config.datasets[name]
    source = dataset.releases[dataset.release].source
    counted = facts(plan, name)
    if counted is None:
        return [
            Row(name, source, split, None, None, None, NOT_PREPARED) for split in dataset.subsets
        ]
    return [
        Row(name, source, protocol + suffix, None, about["scenarios"], None, _note(about))
        for protocol, parts in counted["scenarios"].items()
        for part, suffix in PARTS.items()
        if (about := parts.get(part)) is not None
    ]


def _note(about: dict[str, Any]) -> str:
    left_out = about["moments"] - about["scenarios"]
    return (
        f"{number_of(about['episodes'], 'episode')}, {format_count(about['people'])} people; "
        f"{share(left_out, about['moments'])} of {format_count(about['moments'])} moments are none"
    )


def number_of(count: int, noun: str) -> str:
    """Write a number and its noun, in the singular for 1: "1 episode", "2 episodes"."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def lines(plan: Plan, name: str, _: Leakage, width: int) -> Iterator[str]:
    """Yield lines of text that describe a dataset of tracks, with a table of its scenarios.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.
        _: not used; `stp.inspect.descriptions.DatasetDescriber` has it.
        width: maximum length of a line, characters.
    """
    counted = facts(plan, name)
    if counted is None:
        yield f"{name} is not prepared: {how_to_prepare(name)}"
        return
    dataset = plan.config.datasets[name]
    source = dataset.releases[dataset.release].source
    yield (
        f"{name}, {source} data (release {dataset.release}): "
        f"{format_count(counted['detections'])} detections of {format_count(counted['people'])} "
        f"people in {format_count(counted['seconds'])} s"
    )
    yield (
        f"around them: {format_count(counted['obstacles'])} obstacles, which "
        f"{format_count(counted['on_obstacles'])} detections are on; "
        f"{format_count(counted['goals'])} goals; "
        f"{format_count(counted['cells'])} cells with a class"
    )
    yield from describe_interpolated(counted)
    yield from (f"left out: {text}" for text in describe_left_out(counted))
    yield ""
    yield f"scenarios of {dataset.context} -> {dataset.horizon} positions"
    yield ""
    header = ("protocol", "part", "moments", "scenarios", "episodes", "people", "others, and why")
    cells = [
        (
            protocol,
            part,
            *(format_count(about[key]) for key in ("moments", "scenarios", "episodes", "people")),
            "; ".join(
                f"{reason}: {format_count(count)}" for reason, count in about["left_out"].items()
            ),
        )
        for protocol, parts in counted["scenarios"].items()
        for part, about in parts.items()
    ]
    yield from table(header, cells, width, left=2)
    yield ""
    yield describe_shared_people(counted)
    yield f"what each protocol shows predictors of the future: `stp check leak {name}`"


def describe_interpolated(counted: dict[str, Any]) -> Iterator[str]:
    """Yield lines about positions that were not detected, but interpolated or filled in.

    Args:
        counted: what the preparation of the dataset counted (its receipt has it): ``rows``,
            ``detections``, ``interpolated`` and ``filled``, which are numbers.
    """
    if counted["interpolated"]:
        yield (
            f"interpolated between two of {format_count(counted['rows'])} rows: "
            f"{share(counted['interpolated'], counted['detections'])} detections"
        )
    if counted["filled"]:
        yield (
            f"missing in gaps of up to {LONGEST_GAP:g} s, which scenarios fill: "
            f"{number_of(counted['filled'], 'position')}"
        )


def describe_left_out(counted: dict[str, Any]) -> Iterator[str]:
    """Yield lines about rows, people and goals that the prepared data lack, with reasons.

    Args:
        counted: what the preparation of the dataset counted (its receipt has it).

            - ``rows``: number of rows of the raw files.
            - ``lost_rows``: number of rows that the raw files mark as lost, such as people who are
              hidden.
            - ``sparse_people``: number of people who were seen too seldom for a track.
            - ``some_sparse_people``: names of some of these people, as texts.
            - ``excluded_people``: texts that name the people left out because their track jumps.
            - ``absurd_goals``: goals (places that people walk to) more than a kilometre away from
              all detections, which are errors of the file, as points (x, y) in metres.
    """
    if counted["lost_rows"]:
        yield f"{share(counted['lost_rows'], counted['rows'])} rows, which are marked as lost"
    if counted["sparse_people"]:
        examples, most = counted["some_sparse_people"], 5
        more = f"; and {format_count(counted['sparse_people'] - most)} more" * (
            len(examples) > most
        )
        yield (
            f"{format_count(counted['sparse_people'])} people, who are seen too seldom "
            f"({'; '.join(examples[:most])}{more})"
        )
    for person in counted["excluded_people"]:
        yield f"a person, for a teleport ({person})"
    goals = counted["absurd_goals"]
    if goals:
        places = ", ".join(f"({x:g}, {y:g})" for x, y in goals)
        count_text = number_of(len(goals), "goal")
        yield f"{count_text} more than a kilometre from everybody: {places}"


def describe_shared_people(counted: dict[str, Any]) -> str:
    """Write a sentence about people who are in both calibration and test.

    The data are cut into these two parts at one moment. Some people are present at the cut.

    Args:
        counted: numbers of people, counted by the preparation of the dataset (its receipt has
            them).

            - ``people``: all people in the data.
            - ``people_in_both``: people in both parts under the protocol ``atlas-paper``, which
              does not separate people.
            - ``people_of_test_alone``: people who would be in both parts under the other protocols.
              These remove them from the calibration, so that they are in the test alone.
    """
    in_both, test_only, people = (
        counted[key] for key in ("people_in_both", "people_of_test_alone", "people")
    )
    return (
        f"calibration and test follow each other in the same recordings: under {RELEASED}, "
        f"{share(in_both, people)} people are in both; the other protocols leave "
        f"{share(test_only, people)} people, who are present at the cut, out of the calibration"
    )


def size_text(dataset: Dataset) -> str:
    """Say in words what a sample has at each time step: "x, y of people".

    The table of datasets shows this text. For datasets of frames, the shape of a frame is in its
    place, such as "1 x 64 x 64".

    Args:
        dataset: not used; the text is the same for all datasets of tracks.
    """
    return "x, y of people"


def protocol_summary(dataset: Dataset) -> str:
    """Say in words what context and horizon count: "positions of each person".

    The page of datasets shows the text after both numbers: "Protocol: 6 -> 10 positions of each
    person".
    """
    return "positions of each person"


def section(dataset: Dataset) -> Iterator[str]:
    """Yield a line of Markdown that names the protocols of a dataset, with their titles."""
    protocols = (f"`{label}` ({subset.title})" for label, subset in dataset.subsets.items())
    yield f"- **Protocols of test and calibration:** {', '.join(protocols)}."
