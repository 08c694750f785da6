"""Make the terminal page that shows where a printed number comes from (``stp trace``)."""

from collections.abc import Sequence
from pathlib import Path

from stp.collect import trace
from stp.collect.cell import lineage
from stp.collect.query import query_rows
from stp.collect.schema import CellRow
from stp.page.grid import Grid, Item, Section, section_of_records
from stp.plan.setting import ROBUSTNESS
from stp.render.tables.cell_page import artefacts_section

FEW = 3
"""Maximum number of values that are listed with their artefacts."""


def page(database: Path, number: str, matches: Sequence[trace.Match]) -> Grid:
    """Make the page: values that round to a printed number, and artefacts behind a few of them.

    Args:
        database: path of the results store.
        number: the number as printed.
        matches: values that round to the number; see `stp.collect.trace.matches`.
    """
    kinds = [match.kind for match in matches]
    counted = [f"{kinds.count(kind)} × {kind}" for kind in trace.KINDS if kind in kinds]
    listed = list(matches[: trace.MOST])
    score_sets = list(dict.fromkeys(tuple(match.scores) for match in matches))
    sources = [scores for scores in score_sets if scores]
    notes = []
    if len(matches) > len(listed):
        notes.append(
            f"and {len(matches) - len(listed)} more: {number} has few digits; --cell chooses"
        )
    sections = [_values(listed, notes)]
    if len(sources) <= FEW:
        sections += [_source(database, scores) for scores in sources]
    else:
        sections[0].notes.append(
            "Choose one with --cell to see its artefacts, or use `stp trace` with its scores."
        )
    return Grid(
        name="trace",
        title=f"Values printed as {number}",
        intro=[f"{', '.join(counted)}."],
        sections=sections,
        legend=[f"{kind}: {trace.KINDS[kind]}." for kind in trace.KINDS if kind in kinds],
    )


def _values(matches: Sequence[trace.Match], notes: list[str]) -> Section:
    lines = [
        {
            "what": match.kind,
            "dimension": match.dimension or "",
            "model": match.model or "",
            "tested on": _test_label(match),
            "setting": match.setting or "",
            "seed": "" if match.seed is None else str(match.seed),
            "of": match.convention or match.metric or "",
            "part": _part(match),
            "lead": "" if match.lead is None else str(match.lead),
            "value": f"{match.value:.10g}",
            "origin": _origin(match),
            "scores": ", ".join(match.scores),
            "remark": match.remark or "",
        }
        for match in matches
    ]
    columns = [name for name in lines[0] if any(line[name] for line in lines)]
    if len(lines) <= FEW:  # a column for each value
        first, *others = columns
        turned: list[list[str | Item]] = [
            [name, *(line[name] for line in lines)] for name in others
        ]
        headings = [first, *(line[first] for line in lines)]
        return Section("", headings, turned, [False] * len(headings), notes=notes)
    records = [{name: line[name] for name in columns} for line in lines]
    return section_of_records("", records, ("seed", "lead", "value"), notes=notes)


def _test_label(match: trace.Match) -> str:
    tested, trained = match.tested_on or "", match.trained_on
    text = tested if trained in (None, tested) else f"{trained} -> {tested}"
    return text if match.subset in (None, "test", ROBUSTNESS) else f"{text} {match.subset}"


def _part(match: trace.Match) -> str:
    level = "" if match.level is None else f" {match.level:g} hPa"
    named = [f"{match.variable}{level}"] if match.variable else []
    at = [] if match.threshold is None else [f"at {match.threshold:g}"]
    return ", ".join([*named, *at])


def _origin(match: trace.Match) -> str:
    if match.kind == "published":
        return "the paper"
    comparable = "" if match.comparable else ", NOT COMPARABLE"
    return f"{match.source}, {match.protocol} protocol{comparable}"


def _source(database: Path, scores: Sequence[str]) -> Section:
    placeholders = ", ".join("?" for _ in scores)
    cells = query_rows(
        database,
        CellRow,
        f"FROM cells WHERE scores_fingerprint IN ({placeholders}) "
        f"OR perceptual_fingerprint IN ({placeholders}) ORDER BY rowid",
        [*scores, *scores],
    )
    named = " and ".join(scores)
    section = artefacts_section(database, lineage(database, cells), f"Scores {named} are made of")
    section.notes.extend(dict.fromkeys(cell.accepted for cell in cells if cell.accepted))
    section.notes.append(f"All details: `stp trace {scores[0]}`")
    return section
