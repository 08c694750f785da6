"""Draft the configuration of a new dataset from detections of people (`stp new-dataset`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from stp.inspect.guess_tracks import NONE, PROTOCOLS, TrackGuess
from stp.inspect.yaml_lines import flow, mirror_lines, release_lines, scale_lines
from stp.plan.suite import draft_for
from stp.prepare import track_maps as maps
from stp.score.jackknife import FEWEST_CLUSTERS

METRICS = ["displacement.by_scenario", "final_displacement.by_scenario"]


def find_goals_and_map(root: Path, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Find a file of goals and a map beside the detections, by their usual names.

    Goals are places that people walk to.

    Args:
        root: folder that paths of raw files are relative to.
        folder: folder of the detections.

    Returns:
        options of the reader that name these files, such as ``{"goals": "hall/goals.txt"}``; and
        the paths of the files. Both are empty without such files.

    Raises:
        StpError: the file of goals is damaged.
    """
    prepare: dict[str, Any] = {}
    names = {path.name.lower(): path.relative_to(root).as_posix() for path in folder.glob("*")}
    goals = next((names[n] for n in ("goals.txt", "destinations.txt") if n in names), None)
    if goals:
        maps.read_goals(root / goals)  # raises an error if the file is damaged
        prepare["goals"] = goals
    if "map.png" in names and "h.txt" in names:
        prepare["map"] = {"picture": names["map.png"], "homography": names["h.txt"]}
    elif "obstacles.txt" in names:
        prepare["map"] = {"discs": names["obstacles.txt"]}
    files = [goals] if goals else []
    return prepare, [*files, *prepare.get("map", {}).values()]


def dataset_text(name: str, root: Path, names: Sequence[str], guess: TrackGuess) -> str:
    """Write the text of a drafted dataset file, config/datasets/<name>.yaml, with comments.

    Args:
        name: name of the dataset.
        root: folder of the raw files.
        names: paths of the raw files, relative to this folder.
        guess: the guessed settings.
    """
    counted = ", ".join(
        f"{part} {about['scenarios']} scenarios of {about['episodes']} episodes"
        for part, about in guess.scenarios.items()
    )
    lines = [
        f"# Drafted by `stp new-dataset` from {root}. docs/own_data.md explains every key.",
        f"# With these settings, under `{guess.protocol}`: {counted}.",
        *(f"# {line}" for line in (*guess.remarks, *interval_lines(guess))),
        f"title: {flow(name.replace('_', ' ').capitalize())}",
        "kind: tracks",
        f"context: {guess.context} # positions that a predictor sees",
        f"horizon: {guess.horizon} # positions that it predicts",
        f"metrics: {flow(METRICS)} # columns of the table; all are in config/conventions/",
        "reader: tracks",
        "prepare:",
        *(
            f"  {key}: {flow(value)}" + (f" # {guess.notes[key]}" if key in guess.notes else "")
            for key, value in guess.prepare.items()
        ),
        *release_lines({"path": file} for file in names),
    ]
    return "\n".join(lines) + "\n"


def scale_text(name: str, mirror: Path | None, guess: TrackGuess) -> str:
    """Write the text of a drafted scale file, with simple predictors for the new dataset.

    A predictor with a calibration is added if there are scenarios to calibrate it on.

    Args:
        name: name of the dataset.
        mirror: mirror of raw files to name in the scale file; None for none.
        guess: the guessed settings.
    """
    calibrates = guess.scenarios.get("calibration", NONE)["scenarios"] > 0
    protocol, (suite, dimension) = guess.protocol, draft_for("tracks")
    models = ["constant_velocity", "social_force"] if calibrates else ["constant_velocity"]
    calibrated = f"train_subset: {protocol}, " if calibrates else ""
    lines = [
        *scale_lines(name, "simple predictors", dimension),
        f"suite: {suite}",
        *mirror_lines(mirror),
        "dimensions:",
        f"  {dimension}:",
        f"    models: {flow(models)}",
        "    cells:",
        # One evaluation for all models, so that `stp compare` can test them against each other.
        f"      - {{trained_on: {name}, {calibrated}subset: {protocol}}}",
    ]
    if calibrates:
        lines.append("train: {trials: 50}")
    return "\n".join(lines) + "\n"


def interval_lines(guess: TrackGuess) -> Iterator[str]:
    """Yield a line on how to get a confidence interval; none if there are enough clusters."""
    episodes = guess.scenarios["test"]["episodes"]
    if episodes < FEWEST_CLUSTERS:
        shorter = (
            "context {} and horizon {} have {}, ".format(*guess.shorter) if guess.shorter else ""
        )
        yield (
            f"No confidence interval: the test has {episodes} episodes, and {FEWEST_CLUSTERS} are "
            f"needed; {shorter}more or longer recordings have more."
        )


def count_lines(guess: TrackGuess) -> Iterator[str]:
    """Yield lines about the numbers of detections, people and scenarios, and what to check."""
    if guess.protocol != PROTOCOLS[0]:
        yield (
            f"  {PROTOCOLS[0]} leaves no scenario: drafted with {guess.protocol}, where others may "
            "come and go meanwhile"
        )
    yield f"  {guess.detections} detections of {guess.people} people"
    for part, about in guess.scenarios.items():
        yield f"  {part}: {about['scenarios']} scenarios of {about['episodes']} episodes"
    yield from (f"  {line}" for line in (*guess.remarks, *interval_lines(guess)))
    if "columns" in guess.notes and "CHECK" not in guess.notes["columns"]:
        yield f"  columns {guess.notes['columns']}"
    yield from (f"  {key}: {note}" for key, note in guess.notes.items() if "CHECK" in note)
