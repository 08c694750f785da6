"""Terminal page with all details of a cell or an artefact.

A cell is one model on one dataset in one setting. An artefact is a folder that a stage wrote, such
as trained weights, which several cells may share.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from shlex import quote

from stp.collect.cell import (
    Artefact,
    CellDetails,
    Missing,
    Planned,
    RankedScoreRow,
    Step,
    name_of,
    names,
    raw_files,
)
from stp.collect.schema import AttemptRow, CellRow
from stp.core.lock import COUNTS
from stp.core.units import duration, size_text
from stp.page.data_origin import FILES_OF_PAPER
from stp.page.digits import digits
from stp.page.grid import Grid, Item, Section, section_of_records
from stp.plan.data_origin import bytes_text
from stp.render.direction import Direction


def of_cell(database: Path, details: CellDetails) -> Grid:
    """Make the page of a cell (one model on one dataset): data, scores, costs and provenance.

    Args:
        database: path of the results store. The names of raw files are read from it, and the page
            shows a command that queries it.
        details: data, scores, costs and attempts of the cell, read from the store.
    """
    cell = details.cell
    return Grid(
        name="cell",
        title=details.name,
        intro=[_describe_cell(cell), describe_origin(cell)],
        warnings=list(_warnings(cell)),
        sections=[
            _scores(details.scores, cell),
            artefacts_section(database, details.artefacts),
            *_not_stored(cell),
        ],
        legend=[
            "Intervals: 95 %, over clusters of clips. Rank: among models evaluated on the same "
            "data, test and split, seeds together; the best is bold.",
            "Data and trained models, and their durations, are shared by several cells.",
            f"To make it again{_of_commit(details.artefacts)}: `{details.command}`",
            'Values by lead time, by clip: `stp query "FROM by_lead WHERE scores_fingerprint = '
            f"'{cell.scores_fingerprint}'\" --database {quote(str(database))}`",
        ],
    )


def _of_commit(steps: Sequence[Step]) -> str:
    commits = dict.fromkeys(step.commit for step in steps if step.commit)
    return f", with the code of {' and '.join(commits)}" if commits else ""


def of_artefact(database: Path, artefact: Artefact, steps: Sequence[Step]) -> Grid:
    """Make the page of an artefact (a stored folder, such as trained weights) of several cells.

    Args:
        database: path of the results store, from which the names of raw files are read.
        artefact: the artefact, with the cells made from it.
        steps: record of the artefact, with its costs, attempts and log; a list of one `Step`,
            because `artefacts_section` takes a list.
    """
    row = artefact.row
    recipe = json.loads(row.recipe)
    return Grid(
        name="artefact",
        title=f"{row.stage} {row.fingerprint}",
        intro=[
            describe_origin(artefact.cells[0]),
            f"{len(artefact.cells)} cells were made from it.",
        ],
        warnings=list(_warnings(artefact.cells[0])),
        sections=[
            artefacts_section(database, steps),
            Section(
                "Recipe",
                ["key", "value"],
                [[key, _format_value(value)] for key, value in recipe.items()],
                [False, False],
            ),
            Section(
                "Cells",
                ["cell", "scores"],
                [
                    [name, cell.scores_fingerprint]
                    for name, cell in zip(names(artefact.cells), artefact.cells, strict=True)
                ],
                [False, False],
            ),
        ],
    )


def of_missing(missing: Missing) -> Grid:
    """Make the page of a planned evaluation without scores: where it stopped, and why.

    Args:
        missing: the evaluation, with the attempts at the artefact that it waits for.
    """
    row = missing.row
    detail = f" ({row.detail})" if row.detail else ""
    attempts = [
        {
            "attempt": str(attempt.attempt),
            "how": attempt.how or "",
            "detail": attempt.detail or "",
            "started (UTC)": _moment(attempt.started),
            "took": _format_duration(attempt.seconds),
            "host": attempt.host or "",
            "peak MB": _peak([attempt]),
        }
        for attempt in missing.attempts
    ]
    return Grid(
        name="cell",
        title=name_of(row),
        intro=[
            f"{row.model} ({row.variant}), to be tested on {row.tested} ({row.subset}, "
            f"{row.setting}), {row.dimension}, suite {row.suite}.",
            describe_origin(row),
        ],
        warnings=[f"NO SCORES: {row.stage}: {row.how}{detail}."],
        sections=[section_of_records("Attempts", attempts, ("attempt", "took", "peak MB"))]
        if attempts
        else [],
        legend=[
            f"It waits for {row.path}.",
            *([f"log: {row.log}"] if row.log else []),
            f"To go on: `snakemake --profile local --configfile config/{row.scale}.yaml -- "
            f"results/tables/{row.dimension}.csv`",
        ],
    )


def describe_origin(row: Planned) -> str:
    """Describe the origin of the data of a planned result, and the protocol and scale of its test.

    Args:
        row: the planned result, with or without scores.

    Returns:
        a sentence, e.g. "Official data (release 2004), paper protocol, scale full."
    """
    release = f" (release {row.release})" if row.release else ""
    return f"{row.source.capitalize()} data{release}, {row.protocol} protocol, scale " + (
        f"{row.scale}."
    )


def _describe_cell(cell: CellRow) -> str:
    trained = f"trained on {cell.trained_on}" if cell.model_folders else "no training"
    seed = "" if cell.seed is None else f", seed {cell.seed}"
    return (
        f"{cell.model} ({cell.variant}), {trained} ({cell.train_subset}){seed}; tested on "
        f"{cell.tested} ({cell.subset}, {cell.setting}), {cell.dimension}, "
        f"suite {cell.suite}."
    )


def _warnings(cell: CellRow) -> Iterable[str]:
    data = bytes_text(cell.source, cell.bytes_known_by)
    if cell.comparable and not cell.official_paper_protocol:
        yield f"{cell.source.capitalize()} data: {FILES_OF_PAPER}."
    elif not cell.comparable and cell.source != "own":
        yield (f"NOT COMPARABLE with published values: {data}, {cell.protocol} protocol.")
    elif cell.bytes_known_by == COUNTS:
        yield f"BY COUNTS: {data} and sizes, not by checksums."
    if cell.lacking:
        yield f"{cell.lacking}."
    if cell.accepted:
        yield f"{cell.accepted}."
    if cell.leaky:
        yield "LEAKY SPLIT: test samples overlap with training data."
    if cell.external:
        yield "EXTERNAL: the predictions were made elsewhere."
    if cell.subset_note:
        yield cell.subset_note


def _scores(scores: Sequence[RankedScoreRow], cell: CellRow) -> Section:
    parts = [_part(row) for row in scores]
    records: list[dict[str, str | Item]] = []
    for row, part in zip(scores, parts, strict=True):
        is_best = row.rank == 1 and (row.ranked or 0) > 1
        text = "–" if row.value is None else digits(row.value)
        arrow = Direction(row.higher_is_better, row.best_at).sign
        records.append(
            {
                "convention": f"{row.convention} {arrow}".rstrip(),
                **({"part": part} if any(parts) else {}),
                "value": Item(text, rank=1 if is_best else 0),
                "95 % interval": interval(row.ci95_low, row.ci95_high),
                "n": _count(row.n),
                "clusters": _count(row.clusters),
                "rank": "–" if row.rank is None else f"{row.rank} of {row.ranked}",
                "unit": "" if row.unit in (None, "1") else str(row.unit),
            }
        )
    several = f"{cell.samples} samples of each clip: {cell.statistic}."
    return section_of_records(
        "Scores over all lead times",
        records,
        ("value", "95 % interval", "n", "clusters", "rank"),
        intro=[several] if cell.samples and cell.samples > 1 else [],
        notes=list(_reasons(scores)),
    )


def interval(low: float | None, high: float | None) -> str:
    """Format an interval, such as ``[0.91, 0.93]``; empty if an end is missing."""
    return "" if low is None or high is None else f"[{digits(low)}, {digits(high)}]"


def _part(row: RankedScoreRow) -> str:
    level = "" if row.level is None else f" {row.level:g} hPa"
    threshold = [] if row.threshold is None else [f"at {row.threshold:g}"]
    leads = [] if row.leads is None else [f"lead {row.leads}"]
    return ", ".join([*([f"{row.variable}{level}"] if row.variable else []), *threshold, *leads])


def _reasons(scores: Sequence[RankedScoreRow]) -> Iterable[str]:
    for words, lacking in (
        ("No value", [row for row in scores if row.value is None]),
        ("No interval", [r for r in scores if r.value is not None and r.ci95_low is None]),
    ):
        reasons: dict[str, list[str]] = {}
        for row in lacking:
            reasons.setdefault(row.reason or "no reason given", []).append(row.convention)
        for reason, conventions in reasons.items():
            yield f"{words} of {', '.join(dict.fromkeys(conventions))}: {reason}"


def artefacts_section(
    database: Path, steps: Sequence[Step], title: str = "Made of, and what it cost"
) -> Section:
    """Make a section that lists the artefacts (stored folders) behind a result, one in each row.

    A row has the stage of the artefact and what it cost. Notes below have folders and logs.

    Args:
        database: path of the results store, from which the names of raw files are read.
        steps: records of the artefacts, each with its costs, attempts and log.
        title: heading of the section.
    """
    records = [
        {
            "stage": step.stage,
            "fingerprint": step.fingerprint,
            "took": _format_duration(step.seconds),
            "started (UTC)": _moment(step.started),
            "host": step.host or "",
            "device": step.device or "",
            "attempts": str(len(step.attempts) or ""),
            "peak MB": _peak(step.attempts),
            "size": "" if step.bytes is None else size_text(step.bytes),
            "commit": step.commit or "unknown",
            "code": step.code_fingerprint or "unknown",
        }
        for step in steps
    ]
    notes = []
    for step in steps:
        notes.append(f"{step.stage}: {step.path}")
        if step.raw_lock:
            files, size, first = raw_files(database, step.raw_lock)
            if files:
                notes.append(
                    f"raw files: {files}, {size} bytes, locked in {step.raw_lock}; such as {first}"
                )
            else:
                notes.append(f"raw files: locked in {step.raw_lock}, which is missing here")
        for attempt in step.attempts:
            if attempt.how != "done":
                ended = f"{attempt.how} {attempt.detail or ''}".rstrip()
                notes.append(f"attempt {attempt.attempt}: {ended}")
        if step.log:
            notes.append(f"log: {step.log}")
    return section_of_records(title, records, ("took", "attempts", "peak MB", "size"), notes=notes)


def _not_stored(cell: CellRow) -> Iterable[Section]:
    if cell.predictions_folder is None:
        stored = "none of them" if not cell.kept else f"{cell.kept} of them"
        yield Section(
            "Predictions",
            ["", ""],
            [],
            [False, False],
            notes=[
                f"Forecasts are scored while they are made; {stored} are stored beside the scores, "
                f"in {cell.scores_folder}."
            ],
        )


def _format_duration(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(seconds)


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def _peak(attempts: Sequence[AttemptRow]) -> str:
    most = [attempt.peak_mb for attempt in attempts if attempt.peak_mb is not None]
    return f"{max(most):.0f}" if most else ""


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
