"""The paper's findings with their verdicts: each is a query over results.duckdb.

A file of config/suites/<suite>/findings begins with comments, YAML behind ``-- ``: title, the
paper's sentences, the criterion in words and numbers, how vague words are read. Its query is the
evidence: a row for each comparison that the criterion needs, on our data and on the published
numbers. The verdict follows from it in the same way for every finding
(`stp.render.tables.verdict`)."""

import textwrap
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from stp.collect.connection import opened
from stp.collect.suite_views import head_of
from stp.core.errors import StpError
from stp.page.files import write_all
from stp.page.formats import html, latex, markdown
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.render.tables.verdict import judged

NAME = "findings"
"""The findings that are judged unless others are named: a folder in config/, and its table."""
OURS, PUBLISHED = "ours", "published"
SIDES = {OURS: "data at hand", PUBLISHED: "published numbers"}
NEVER = "NOT COMPARABLE WITH THE PAPER"
"""What the queries say of other bytes or another protocol."""

NOTHING = "nothing to compare"
"""Verdict on a side that has no place of the paper's tables, as on datasets of other papers."""

_KEYS = ("title", "paper", "criterion", "reading")


@dataclass(frozen=True)
class Question:
    """A finding of the paper as it was saved.

    Attributes:
        number: in the paper.
        title: in a few words.
        paper: what the paper says.
        criterion: when it holds.
        reading: how vague words are read, and what comparison is fair.
        sql: the query for its evidence and its verdict.
        path: of its file.
    """

    number: int
    title: str
    paper: str
    criterion: str
    reading: str
    sql: str
    path: Path


@dataclass(frozen=True)
class Comparison:
    """A comparison that a criterion needs: a row of its query.

    Attributes:
        side: `OURS` or `PUBLISHED`.
        verdict: of the finding on this side.
        about: what that verdict is about.
        part: of the criterion.
        part_verdict: on this part.
        yes, no: comparisons of this part that came out so, and otherwise.
        wanted: how many of them have to come out so.
        comparisons: of this part.
        model: whose value is compared; None for the best of all.
        tested: what was tested.
        metric: column heading of the paper.
        value: of the model.
        against: what it is compared with.
        other: the value of that.
        in_common: number of test clips that both forecasts have, and both values are of; None where
            the finding does not say so.
        outcome: whether it came out so; None where nothing can be said.
        remark: why nothing can be said.
    """

    side: str
    verdict: str
    about: str
    part: str
    part_verdict: str
    yes: int
    no: int
    wanted: int
    comparisons: int
    model: str | None
    tested: str
    metric: str
    value: float | None
    against: str | None
    other: float | None
    in_common: int | None
    outcome: bool | None
    remark: str | None


COLUMNS = tuple(field.name for field in fields(Comparison))
"""What the query of every finding returns: a row for each comparison."""


class Part(NamedTuple):
    """A part of a criterion on one side: `wanted` of `comparisons` have to come out so."""

    name: str
    verdict: str
    yes: int
    no: int
    wanted: int
    comparisons: int


@dataclass(frozen=True)
class Finding:
    """A finding with its verdicts.

    Attributes:
        question: what was asked.
        evidence: every comparison.
        verdicts: by side: holds, does not hold, not enough data, or not comparable.
        about: by side, what the verdict is about.
        parts: by side.
    """

    question: Question
    evidence: list[Comparison]
    verdicts: dict[str, str]
    about: dict[str, str]
    parts: dict[str, list[Part]]


def read_questions(folder: Path) -> dict[int, Question]:
    """Read the saved findings by number.

    Args:
        folder: of the findings of a suite.

    Raises:
        StpError: a file is not named ``<number>_<name>.sql``, or its comments are no such YAML.
    """
    found = {}
    for path in sorted(folder.glob("*.sql")):
        sql = path.read_text(encoding="utf-8")
        number = path.name.partition("_")[0]
        about = head_of(sql)
        if not number.isdigit() or not isinstance(about, dict) or set(about) != set(_KEYS):
            raise StpError(
                f"{path}: not a saved finding",
                expected=f"a name such as 08_name.sql, and first comments with {', '.join(_KEYS)}",
                remedy="restore the file from the repository",
            )
        said = {key: " ".join(str(about[key]).split()) for key in _KEYS}
        found[int(number)] = Question(int(number), **said, sql=judged(sql), path=path)
    return found


def pick(questions: dict[int, Question], number: int) -> Question:
    """Take one of them.

    Raises:
        StpError: there is none of this number.
    """
    if number not in questions:
        raise StpError(
            f"no finding {number}",
            expected=f"one of {', '.join(map(str, questions))}",
            remedy="choose one of these",
        )
    return questions[number]


def judge(database: Path, questions: Iterable[Question]) -> list[Finding]:
    """Ask a results store.

    Raises:
        StpError: there is no store, it is an older one, or a query is wrong.
    """
    wanted = "a results store of the suite whose findings these are"
    with opened(database, wanted) as connection:
        return [_finding(connection, question) for question in questions]


def _finding(connection: duckdb.DuckDBPyConnection, question: Question) -> Finding:
    try:
        answer = connection.execute(question.sql)
    except duckdb.BinderException as error:
        raise StpError(
            f"{question.path}: not the evidence of a finding: {error}",
            expected="a query for the columns that stp/render/tables/verdict.py names",
            remedy="restore the file from the repository",
        ) from None
    rows = [Comparison(*row) for row in answer.fetchall()]
    parts: dict[str, list[Part]] = {}
    for side in SIDES:
        its = [
            Part(row.part, row.part_verdict, row.yes, row.no, row.wanted, row.comparisons)
            for row in rows
            if row.side == side
        ]
        parts[side] = list(dict.fromkeys(its))
    return Finding(
        question=question,
        evidence=rows,
        verdicts=dict.fromkeys(SIDES, NOTHING) | {row.side: row.verdict for row in rows},
        about=dict.fromkeys(SIDES, NOTHING) | {row.side: row.about for row in rows},
        parts=parts,
    )


def said(finding: Finding, side: str) -> str:
    """A verdict, and how many of its parts could not be compared."""
    verdict, parts = finding.verdicts[side], finding.parts[side]
    unfair = sum(part.verdict == "not comparable" for part in parts)
    if unfair and verdict != "not comparable":
        return f"{verdict} ({unfair} of {len(parts)} parts not comparable)"
    return verdict


def evidence(finding: Finding) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of every comparison."""
    return list(COLUMNS), [astuple(row) for row in finding.evidence]


def parts(finding: Finding) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of the parts of the criterion, both sides."""
    columns = ["side", "part", "verdict", "yes", "no", "needed", "comparisons"]
    return columns, [(side, *part) for side, its in finding.parts.items() for part in its]


def for_people(finding: Finding) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of every comparison, without what `parts` says."""
    shown = ["side", *COLUMNS[COLUMNS.index("model") :]]
    rows = [tuple(getattr(row, name) for name in shown) for row in finding.evidence]
    return shown, rows


def heading(finding: Finding) -> str:
    """The finding and its verdicts, in lines of text."""
    question = finding.question
    lines = [f"Finding {question.number}: {question.title}", ""]
    for words in (f"The paper: {question.paper}", f"Criterion: {question.criterion}",
                  f"Reading: {question.reading}"):  # fmt: skip
        lines += [*textwrap.wrap(words, 96, break_on_hyphens=False), ""]
    lines += [
        f"{words.capitalize()}: {said(finding, side)}"
        + (f" ({finding.about[side]})" if side == OURS else "")
        for side, words in SIDES.items()
    ]
    return "\n".join([*lines, ""])


def undecided(finding: Finding, side: str) -> list[str]:
    """What is missing, in words: where, and why."""
    places: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for row in finding.evidence:
        if row.side == side and row.outcome is None:
            # Most remarks that name a place are about this place.
            why = (row.remark or "no value").removeprefix(f"{row.tested}: ")
            metrics, models = places.setdefault((why, row.tested), ({}, {}))
            metrics[row.metric] = None
            models[row.model or "best model"] = None
    reasons: dict[str, list[str]] = {}
    for (why, place), (metrics, models) in places.items():
        whose = ", ".join(models) if len(models) < ALL else "all models"
        reasons.setdefault(why, []).append(f"{place} ({', '.join(metrics)}; {whose})")
    return [f"{why}: {', '.join(where)}" for why, where in reasons.items()]


def shown(finding: Finding, side: str) -> list[str]:
    """The comparisons that people want to see, a line for each part: those that came out the other
    way, or all of a few."""
    found: dict[str, list[str]] = {}
    for row in finding.evidence:
        few = row.comparisons <= FEW
        if row.side == side and (row.outcome is False or (few and row.outcome)):
            heading = f"{row.part}:" if few else f"against {row.part!r}:"
            other = f"{row.against}: {_number(row.other)}"
            other = "the best" if row.against == row.model else other
            clips = "" if row.in_common is None else f", n = {row.in_common:,}"
            found.setdefault(heading, []).append(
                f"{row.model} on {row.tested}, {row.metric}: {_number(row.value)} ({other}{clips})"
            )
    return [f"{heading} {'; '.join(lines)}" for heading, lines in found.items()]


FEW = 6
"""Comparisons of a part that are all shown."""

ALL = 12
"""Models of the paper."""


def render_findings(database: Path, folder: Path, out: Path) -> None:
    """Write ``<name>.csv`` with every comparison, and verdicts as ``.md``, ``.html`` and ``.tex``.

    Raises:
        StpError: see `judge`; nothing is written.
    """
    findings = judge(database, read_questions(folder).values())
    whole = grid(findings, out.stem)
    # A float of LaTeX has to fit a page: verdicts alone.
    brief = replace(whole, sections=whole.sections[:1])
    write_all(
        {
            out: _csv(findings),
            out.with_suffix(".md"): markdown.text(whole),
            out.with_suffix(".tex"): latex.text(brief),
            out.with_suffix(".html"): html.text(whole),
        }
    )


def _csv(findings: list[Finding]) -> str:
    lines: list[list[object]] = [["finding", "title", *COLUMNS]]
    for finding in findings:
        question = finding.question
        for row in finding.evidence:
            lines.append([question.number, question.title, *map(_exact, astuple(row))])
    return csv_text(lines)


def _exact(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else value


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def grid(findings: list[Finding], name: str) -> Grid:
    """The findings for people: all verdicts, then each finding with its parts."""
    strange = sorted({f.about[OURS] for f in findings if f.about[OURS].startswith(NEVER)})
    return Grid(
        name=name,
        title="The paper's findings, judged",
        intro=[
            f"Each finding of the paper is a saved query (`config/{_folder(findings)}`) with a "
            "criterion in words and numbers. It is judged on the data at hand, and on the numbers "
            "that the paper prints: do its own tables support its sentence? Every comparison is in "
            f"`{name}.csv`.",
            "A finding holds if all parts of its criterion do, and does not hold if one of them "
            "does not. A part is undecided only while missing values could still decide it.",
        ],
        warnings=[
            f"The data at hand are not the paper's ({text.removeprefix(f'{NEVER}: ')}): a verdict "
            "on them says nothing about the paper's sentence."
            for text in strange
        ],
        sections=[_overview(findings), *(_section(finding) for finding in findings)],
        legend=[
            "holds, does not hold: by the criterion; behind it, how many comparisons came out as "
            "the finding says, of how many, and how many have to.",
            "not enough data: values are missing that could decide it; they are named.",
            "not comparable: what exists is of other windows, or FVD of unequal numbers of clips "
            "without features to draw equal numbers from.",
        ],
        made_from=f"Made from `results.duckdb` by `stp table {name}`.",
    )


def _folder(findings: list[Finding]) -> str:
    """The folder of the queries, in config/."""
    return findings[0].question.path.parent.name


def _overview(findings: list[Finding]) -> Section:
    rows: list[list[str | Item]] = [
        [
            f"{finding.question.number}. {finding.question.title}",
            said(finding, OURS),
            finding.about[OURS],
            said(finding, PUBLISHED),
        ]
        for finding in findings
    ]
    return Section(
        title="Verdicts",
        columns=["finding", "data at hand", "which are", "published numbers"],
        rows=rows,
        numeric=[False] * 4,
    )


def _section(finding: Finding) -> Section:
    question = finding.question
    # The paper may print nothing for a part of a criterion, or nothing of ours belong to one.
    parts = [{part.name: part for part in finding.parts[side]} for side in SIDES]
    rows: list[list[str | Item]] = []
    for name in dict.fromkeys(name for its in parts for name in its):
        both = [its.get(name) for its in parts]
        row: list[str | Item] = [name]
        for part in both:
            row += [part.verdict, _counts(part)] if part else [NOTHING, "–"]
        rows.append([*row, str(next(part.wanted for part in both if part))])
    notes = []
    for side, words in SIDES.items():
        notes += [f"{words.capitalize()}, {line}." for line in shown(finding, side)]
        notes += [f"{words.capitalize()}, open: {line}." for line in undecided(finding, side)]
    return Section(
        title=f"{question.number}. {question.title}",
        columns=["part", SIDES[OURS], "so", SIDES[PUBLISHED], "so", "needed"],
        rows=rows,
        numeric=[False, False, True, False, True, True],
        intro=[
            f"The paper: {question.paper}",
            f"Criterion: {question.criterion}",
            f"Reading: {question.reading}",
        ],
        notes=notes,
    )


def _counts(part: Part) -> str:
    return f"{part.yes} of {part.comparisons}"
