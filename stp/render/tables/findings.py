"""Judge the findings (statements) of a paper on our results and on its own numbers.

A criterion is the condition under which a finding holds. It has parts, such as "no better than
climatology from day 16 on". A part holds if enough comparisons of values agree with the finding.

A finding is judged twice, on two sides: ``ours``, the values in the results store, and
``published``, the numbers that the paper prints. Each finding is defined by a query on
results.duckdb.

A file in config/suites/<suite>/findings begins with YAML in comments (``-- ``): the title, the
paper's sentences, the criterion in words and numbers, and the interpretation of vague words. Its
query returns the evidence: a row for each comparison that the criterion needs, on both sides.
`stp.render.tables.verdict` derives the verdict in the same way for every finding.
"""

import textwrap
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

import duckdb

from stp.collect.connection import open_results_store
from stp.collect.suite_views import head_of
from stp.core.errors import FileError, StpError
from stp.page.digits import csv_value
from stp.page.files import write_all
from stp.page.formats import latex, render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.render.tables.verdict import verdict_query

NAME = "findings"
"""Default name of the folder of the queries and of the table."""
OURS, PUBLISHED = "ours", "published"
SIDES = {OURS: "data at hand", PUBLISHED: "published numbers"}
NEVER = "NOT COMPARABLE WITH THE PAPER"
"""Words that queries use for other data or another protocol."""

NOTHING = "nothing to compare"
"""Verdict on ours or on published values if the evidence has no comparison of them."""

_KEYS = ("title", "paper", "criterion", "reading")


@dataclass(frozen=True)
class Question:
    """A finding (a statement of a paper on its results) as its file states it, not yet judged.

    It is named after the query in the file, which asks whether the finding holds.

    Attributes:
        number: number of the finding, at the beginning of the name of its file.
        title: the finding in a few words.
        paper: the paper's sentences.
        criterion: condition under which the finding holds, in words.
        reading: interpretation of vague words in the paper's sentences, and definition of fair
            comparisons.
        sql: SQL query on results.duckdb for the evidence and the verdicts, with the columns of
            `Comparison`.
        path: file of the finding.
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
    """A comparison of two values that is evidence for or against a finding of a paper.

    Attributes:
        side: which values are compared: ``ours`` or ``published``.
        verdict: verdict on the whole finding on this side, such as ``holds``.
        about: data and protocol of this side, in words.
        part: part of the criterion to which the comparison belongs, in words.
        part_verdict: verdict on the part, such as ``not enough data``.
        yes, no: numbers of comparisons of the part that agree, and that disagree, with the finding.
        wanted: number of comparisons of the part that have to agree.
        comparisons: number of all comparisons of the part.
        model: model with the value; None for the best of all models.
        tested: title of the test case.
        metric: heading of the paper's column that has the value.
        value: first of the two compared values; None if missing.
        against: description of the second value, such as another model.
        other: second of the two compared values; None if missing.
        in_common: number of test clips behind both values; None if the finding does not state it.
        outcome: whether the comparison agrees with the finding; None if undecided.
        remark: reason why the outcome is undecided, if known.
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
"""Columns of the query of every finding, which returns a row for each comparison."""


class Part(NamedTuple):
    """A part of a finding's criterion, for our values or for the published ones.

    Attributes:
        name: the part in words.
        verdict: ``holds``, ``does not hold``, ``not enough data`` or ``not comparable``.
        yes, no: numbers of comparisons that agree, and that disagree, with the finding.
        needed: number of comparisons that have to agree.
        comparisons: number of all comparisons of the part.
    """

    name: str
    verdict: str
    yes: int
    no: int
    needed: int
    comparisons: int


@dataclass(frozen=True)
class Finding:
    """A finding (statement of a paper) with the evidence, and the verdicts on whether it holds.

    Attributes:
        question: the finding, as stated in its file.
        evidence: all comparisons that the criterion needs, of both sides.
        verdicts: verdict by side, ``ours`` or ``published``: holds, does not hold, not enough data,
            not comparable, or nothing to compare.
        about: data and protocol in words, by side.
        parts: judged parts of the criterion, by side.
    """

    question: Question
    evidence: list[Comparison]
    verdicts: dict[str, str]
    about: dict[str, str]
    parts: dict[str, list[Part]]


def read_questions(folder: Path) -> dict[int, Question]:
    """Read the findings (statements of a paper) of a suite from files, by number of the finding.

    Args:
        folder: folder of the findings, ``config/suites/<suite>/findings``.

    Raises:
        FileError: a file is not named ``<number>_<name>.sql``, or its comments lack a key.
    """
    questions = {}
    for path in sorted(folder.glob("*.sql")):
        sql = path.read_text(encoding="utf-8")
        number = path.name.partition("_")[0]
        head = head_of(sql)
        if not number.isdigit() or not isinstance(head, dict) or set(head) != set(_KEYS):
            raise FileError(
                path,
                "not a finding",
                expected=f"a name such as 08_name.sql, and first comments with {', '.join(_KEYS)}",
            )
        texts_of = {key: " ".join(str(head[key]).split()) for key in _KEYS}
        questions[int(number)] = Question(
            int(number), **texts_of, sql=verdict_query(sql), path=path
        )
    return questions


def pick(questions: dict[int, Question], number: int) -> Question:
    """Look up a finding by its number.

    Raises:
        StpError: no finding has the number.
    """
    if number not in questions:
        raise StpError(f"no finding {number}", expected=f"one of {', '.join(map(str, questions))}")
    return questions[number]


def judge(database: Path, questions: Iterable[Question]) -> list[Finding]:
    """Judge whether findings (statements of a paper) hold: on our values and on printed ones.

    Args:
        database: path of the results store, which has our values and the printed ones.
        questions: findings, as read from their files.

    Returns:
        the judged findings, in the same order.

    Raises:
        StpError: the store is missing, was made by an older version, or a query is wrong.
    """
    expected = "a results store of the suite whose findings these are"
    with open_results_store(database, expected) as connection:
        return [_finding(connection, question) for question in questions]


def _finding(connection: duckdb.DuckDBPyConnection, question: Question) -> Finding:
    try:
        answer = connection.execute(question.sql)
    except duckdb.BinderException as error:
        raise FileError(
            question.path,
            f"not the evidence of a finding: {error}",
            expected="a query for the columns that stp/render/tables/verdict.py names",
        ) from None
    rows = [Comparison(*row) for row in answer.fetchall()]
    parts: dict[str, list[Part]] = {}
    for side in SIDES:
        parts_of_side = [
            Part(row.part, row.part_verdict, row.yes, row.no, row.wanted, row.comparisons)
            for row in rows
            if row.side == side
        ]
        parts[side] = list(dict.fromkeys(parts_of_side))
    return Finding(
        question=question,
        evidence=rows,
        verdicts=dict.fromkeys(SIDES, NOTHING) | {row.side: row.verdict for row in rows},
        about=dict.fromkeys(SIDES, NOTHING) | {row.side: row.about for row in rows},
        parts=parts,
    )


def verdict_text(finding: Finding, side: str) -> str:
    """Format the verdict on a finding, with the number of parts that are not comparable.

    Args:
        finding: the finding, with its verdicts.
        side: which values the verdict is on: ``ours`` or ``published``.
    """
    verdict, parts = finding.verdicts[side], finding.parts[side]
    unfair = sum(part.verdict == "not comparable" for part in parts)
    if unfair and verdict != "not comparable":
        return f"{verdict} ({unfair} of {len(parts)} parts not comparable)"
    return verdict


def evidence_table(finding: Finding) -> tuple[list[str], list[tuple[object, ...]]]:
    """Make a table of the evidence on a finding: all comparisons with all their columns.

    Returns:
        names of the columns, which are the attributes of `Comparison`; and a row of values for each
        comparison.
    """
    return list(COLUMNS), [astuple(row) for row in finding.evidence]


def parts_table(finding: Finding) -> tuple[list[str], list[tuple[object, ...]]]:
    """Make a table of the parts of a finding's criterion, with their verdicts.

    The criterion is the condition under which the finding holds. A part holds if enough comparisons
    of two values agree with the finding.

    Returns:
        names of the columns: side, part, verdict, yes, no, needed and comparisons (see `Part`); and
        the rows. The first rows are the parts judged on our values (side ``ours``), the others the
        parts judged on the numbers that the paper prints (``published``).
    """
    columns = ["side", "part", "verdict", "yes", "no", "needed", "comparisons"]
    return columns, [(side, *part) for side, of_side in finding.parts.items() for part in of_side]


def comparison_table(finding: Finding) -> tuple[list[str], list[tuple[object, ...]]]:
    """Make a short table of the comparisons behind a finding, to show below `parts_table`.

    It lacks the columns that are about the finding and the parts of its criterion, since these are
    equal for many rows.

    Returns:
        names of the columns: side, model, tested, metric, value, against, other, in_common, outcome
        and remark (see `Comparison`); and a row of values for each comparison.
    """
    names = ["side", *COLUMNS[COLUMNS.index("model") :]]
    rows = [tuple(getattr(row, name) for name in names) for row in finding.evidence]
    return names, rows


def heading(finding: Finding) -> str:
    """Describe a finding and its verdicts in lines of text, to show above its evidence.

    Args:
        finding: the judged finding.
    """
    question = finding.question
    lines = [f"Finding {question.number}: {question.title}", ""]
    for words in (f"The paper: {question.paper}", f"Criterion: {question.criterion}",
                  f"Reading: {question.reading}"):  # fmt: skip
        lines += [*textwrap.wrap(words, 96, break_on_hyphens=False), ""]
    lines += [
        f"{words.capitalize()}: {verdict_text(finding, side)}"
        + (f" ({finding.about[side]})" if side == OURS else "")
        for side, words in SIDES.items()
    ]
    return "\n".join([*lines, ""])


def undecided_comparisons(finding: Finding, side: str) -> list[str]:
    """List the undecided comparisons of one side, with a line for each reason.

    A comparison of two values is decided if it agrees or disagrees with the finding. It is
    undecided, for example, if a value is missing.

    Args:
        finding: the finding, with its evidence.
        side: which values are compared: ``ours`` or ``published``.

    Returns:
        lines with the reason, then the test cases, metrics and models that it concerns.
    """
    why_of_place: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for row in finding.evidence:
        if row.side == side and row.outcome is None:
            # Most remarks that name a test name this one.
            why = (row.remark or "no value").removeprefix(f"{row.tested}: ")
            metrics, models = why_of_place.setdefault((why, row.tested), ({}, {}))
            metrics[row.metric] = None
            models[row.model or "best model"] = None
    reasons: dict[str, list[str]] = {}
    for (why, test), (metrics, models) in why_of_place.items():
        models_text = ", ".join(models) if len(models) < ALL else "all models"
        reasons.setdefault(why, []).append(f"{test} ({', '.join(metrics)}; {models_text})")
    return [f"{why}: {', '.join(where)}" for why, where in reasons.items()]


def notable_comparisons(finding: Finding, side: str) -> list[str]:
    """List the notable comparisons of one side, with a line for each part of the criterion.

    A part, such as "no better than climatology from day 16 on", needs several comparisons of two
    values. Those that disagree with the finding are notable; in a part with at most six
    comparisons, those that agree are, too.

    Args:
        finding: the finding, with its evidence.
        side: which values are compared: ``ours`` or ``published``.

    Returns:
        lines with the part, then its notable comparisons with their values; there is no line for a
        part without notable comparisons.
    """
    lines_of_part: dict[str, list[str]] = {}
    for row in finding.evidence:
        few = row.comparisons <= FEW
        if row.side == side and (row.outcome is False or (few and row.outcome)):
            heading = f"{row.part}:" if few else f"against {row.part!r}:"
            other = f"{row.against}: {_format_value(row.other)}"
            other = "the best" if row.against == row.model else other
            clips = "" if row.in_common is None else f", n = {row.in_common:,}"
            lines_of_part.setdefault(heading, []).append(
                f"{row.model} on {row.tested}, {row.metric}: {_format_value(row.value)} "
                f"({other}{clips})"
            )
    return [f"{heading} {'; '.join(lines)}" for heading, lines in lines_of_part.items()]


FEW = 6
"""Maximum number of comparisons of a part that are all listed."""

ALL = 12
"""Number of models in the paper."""


def render_findings(database: Path, folder: Path, out: Path) -> None:
    """Write verdicts on findings as .md, .html and .tex, and their evidence as .csv.

    Args:
        database: path of the results store.
        folder: folder of the findings, ``config/suites/<suite>/findings``.
        out: path of the CSV file; the pages are written next to it.

    Raises:
        StpError: the store is missing, was made by an older version, or a query is wrong; nothing
            is written.
    """
    findings = judge(database, read_questions(folder).values())
    pages_grid = grid(findings, out.stem)
    # A float of LaTeX has to fit on a page, so it contains verdicts only.
    brief = replace(pages_grid, sections=pages_grid.sections[:1])
    pages = {**render_grid(pages_grid, out.parent), out.with_suffix(".tex"): latex.text(brief)}
    write_all({out: _csv(findings), **pages})


def _csv(findings: list[Finding]) -> str:
    lines: list[list[object]] = [["finding", "title", *COLUMNS]]
    for finding in findings:
        question = finding.question
        for row in finding.evidence:
            lines.append([question.number, question.title, *map(csv_value, astuple(row))])
    return csv_text(lines)


def _format_value(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def grid(findings: list[Finding], name: str) -> Grid:
    """Lay out the page of findings: all verdicts, then each finding with its parts.

    Args:
        findings: the judged findings.
        name: name of the table, such as ``findings``.
    """
    other_data = sorted({f.about[OURS] for f in findings if f.about[OURS].startswith(NEVER)})
    return Grid(
        name=name,
        title="The paper's findings, judged",
        intro=[
            f"Each finding of the paper is a query (`config/{_folder(findings)}`) with a criterion "
            "in words and numbers. It is judged on the data at hand and on the published numbers, "
            "which shows whether the paper's own tables support its sentence. Every comparison is "
            f"in `{name}.csv`.",
            "A finding holds if all parts of its criterion hold, and does not hold if one of them "
            "does not. A part is undecided only while missing values could still decide it.",
        ],
        warnings=[
            f"The data at hand are not the paper's ({text.removeprefix(f'{NEVER}: ')}): a verdict "
            "on them says nothing about the paper's sentence."
            for text in other_data
        ],
        sections=[_overview(findings), *(_section(finding) for finding in findings)],
        legend=[
            "holds, does not hold: by the criterion; `agree`: how many comparisons agree with the "
            "finding; `needed`: how many have to.",
            "not enough data: values that could decide it are missing; they are named.",
            "not comparable: the existing values are of other windows, or are FVD of unequal "
            "numbers of clips without features to draw equal numbers from.",
        ],
        made_from=f"Made from `results.duckdb` by `stp table {name}`.",
    )


def _folder(findings: list[Finding]) -> str:
    return findings[0].question.path.parent.name


def _overview(findings: list[Finding]) -> Section:
    rows: list[list[str | Item]] = [
        [
            f"{finding.question.number}. {finding.question.title}",
            verdict_text(finding, OURS),
            finding.about[OURS],
            verdict_text(finding, PUBLISHED),
        ]
        for finding in findings
    ]
    return Section(
        title="Verdicts",
        columns=["finding", "data at hand", "origin", "published numbers"],
        rows=rows,
        numeric=[False] * 4,
    )


def _section(finding: Finding) -> Section:
    question = finding.question
    # The paper may print nothing for a part of a criterion, or nothing of ours belong to one.
    parts = [{part.name: part for part in finding.parts[side]} for side in SIDES]
    rows: list[list[str | Item]] = []
    for name in dict.fromkeys(name for of_side in parts for name in of_side):
        sides = [of_side.get(name) for of_side in parts]
        row: list[str | Item] = [name]
        for part in sides:
            row += [part.verdict, _counts(part)] if part else [NOTHING, "–"]
        rows.append([*row, str(next(part.needed for part in sides if part))])
    notes = []
    for side, words in SIDES.items():
        notes += [f"{words.capitalize()}, {line}." for line in notable_comparisons(finding, side)]
        notes += [
            f"{words.capitalize()}, open: {line}." for line in undecided_comparisons(finding, side)
        ]
    return Section(
        title=f"{question.number}. {question.title}",
        columns=["part", SIDES[OURS], "agree", SIDES[PUBLISHED], "agree", "needed"],
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
