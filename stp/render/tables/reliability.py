"""Write a reliability study: CSV, a table in the layout of the paper's, and a plot."""

import math
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from stp.core.disk import beside
from stp.page.commands import table_command
from stp.page.formats import texts
from stp.page.grid import Grid, Section
from stp.page.safe_text import csv_text
from stp.plan.manifest import Manifest
from stp.render.direction import Direction, heading
from stp.render.tables.repeated import PAPER_P, PAPER_STD, meaning
from stp.render.tables.strip_plot import strip_plot
from stp.render.tables.study import Repeated, Study, read_studies
from stp.run.results import rows_of

HEADER = (
    "source",
    "scale",
    "protocol",
    "comparable",
    "dataset",
    "model",
    "column",
    "convention",
    "statistic",
    "seed",
    "value",
    "published",
    "from published runs",
    "difference",
    "notes",
)
"""Columns of the CSV: one line per run and per statistic of each metric."""


def render_reliability(manifest: Path, out: Path, collected: Path | None = None) -> None:
    """Write ``<name>.csv``, and beside it the same to read, and a plot.

    To read are ``<name>.md``, ``.tex`` and ``.html``; the plot is ``<name>.png`` and ``.svg``.

    Args:
        manifest: the cells of the runs.
        out: path of the CSV file.
        collected: their scores, collected from the same manifest; those of a run unless given.

    Raises:
        StpError: a file is missing or damaged, there are fewer than four seeds, or a run is
            missing; nothing is written.
    """
    plan, studies = read_studies(manifest, collected or rows_of(manifest))
    pages = texts(_grid(plan, studies, out.stem), out.parent)
    with ExitStack() as stack:
        # The stack unwinds from the last entry to the first: the CSV stands for all.
        written = {out: _csv(studies), **pages}
        for path, text in written.items():
            temporary = stack.enter_context(beside(path))
            temporary.write_text(text, encoding="utf-8", newline="\n")
        for kind in ("png", "svg"):
            strip_plot(studies, stack.enter_context(beside(out.with_suffix(f".{kind}"))), kind)


def _csv(studies: list[Study]) -> str:
    lines: list[list[object]] = [list(HEADER)]
    for study in studies:
        row = study.row
        about = [row.source, row.scale, row.protocol, row.comparability]
        about += [row.dataset, row.model]
        notes = "; ".join(row.notes)
        for column in study.columns:
            more = (
                [notes]
                if column.printed is None or not column.printed.note
                else ["; ".join([notes, f"published {column.name}: {column.printed.note}"])]
            )
            for line in [*_run_lines(study, column), *_statistic_lines(study, column)]:
                lines.append([*about, column.name, column.convention, *line, *more])
    return csv_text(lines)


def _run_lines(study: Study, column: Repeated) -> Iterable[list[object]]:
    """One line per run; the paper's runs stand beside ours in their order alone."""
    theirs = column.printed.runs if column.printed else ()
    for number in range(max(len(column.runs), len(theirs))):
        ours = number < len(column.runs)
        yield [
            f"run {number + 1}",
            study.seeds[number] if ours else "",
            _number(column.runs[number] if ours else None),
            theirs[number] if number < len(theirs) else "",
            "",
            "",
        ]


def _statistic_lines(study: Study, column: Repeated) -> Iterable[list[object]]:
    printed = column.printed
    theirs = printed.found if printed else {}
    shown = {PAPER_STD: printed.std, PAPER_P: printed.pvalue} if printed else {}
    for name in dict.fromkeys([*column.found, *theirs]):
        value, their = column.found.get(name), theirs.get(name)
        fair = study.row.comparable and printed and not printed.note and name == "mean"
        difference = value - their if fair and value is not None and their is not None else None
        yield [
            name,
            "",
            _number(value),
            shown.get(name, ""),
            _number(their),
            _number(difference),
        ]


def _number(value: float | None) -> str:
    """Write ten significant digits: more than any metric has, few enough to hide rounding."""
    return "" if value is None else f"{value:.10g}"


def _grid(plan: Manifest, studies: list[Study], name: str) -> Grid:
    """Two sections for each study: the layout of Tables 17 and 18, and how far runs lie apart."""
    warnings = []
    marked = [study for study in studies if not study.row.comparable and study.row.source != "own"]
    if marked:
        whose = {f"{study.row.source} bytes, {study.row.protocol} protocol" for study in marked}
        warnings.append(
            f"WARNING: the runs of {len(marked)} of {len(studies)} studies are NOT COMPARABLE with "
            f"the published ones: {'; '.join(sorted(whose))}."
        )
    return Grid(
        name=name,
        title=f"Reliability, scale {plan.scale}",
        intro=[
            "Each model is trained once with each seed; a run is the mean of its score over test "
            "samples and lead times. Rows `paper` are Tables 17 and 18 of PredBench: its runs, std "
            "and pvalue as printed, everything else computed here from the printed, rounded runs. "
            "Run 3 of ours has nothing to do with run 3 of the paper.",
            "A p-value near 1 does not show reliability. Both groups are runs of one and the same "
            "program, so a difference would be a surprise; and not finding one among so few runs "
            "is absence of evidence. What counts is how far runs lie apart: the second table.",
        ],
        sections=[section for study in studies for section in _sections(plan, study)],
        warnings=warnings,
        legend=list(_legend(plan, studies)),
        made_from=f"Made from `results/{plan.scale}/collected/short_term.parquet` and from "
        f"published values by `{table_command(plan.scale, 'reliability')}`.",
    )


def _sections(plan: Manifest, study: Study) -> Iterable[Section]:
    row = study.row
    title = f"{row.dataset}, {row.model}"
    intro = [
        f"{row.source} bytes, {row.protocol} protocol, scale {row.scale}; seeds "
        f"{', '.join(map(str, study.seeds))}; {row.samples or 'no'} test samples."
    ]
    notes = [*row.notes]
    notes += [
        f"published {column.name}: {column.printed.note}"
        for column in study.columns
        if column.printed and column.printed.note
    ]
    yield _section(f"{title}: runs", _runs_table(plan, study), intro, notes)
    yield _section(f"{title}: how far they lie apart", _spread_table(plan, study), intro, [])


def _section(title: str, lines: Iterable[list[str]], intro: list[str], notes: list[str]) -> Section:
    """A section of lines, the first of which has the headings."""
    columns, *rows = lines
    return Section(
        title=title,
        columns=columns,
        rows=[list(row) for row in rows],
        numeric=[False, False, *[True] * (len(columns) - 2)],
        intro=intro,
        notes=notes,
    )


def _runs_table(plan: Manifest, study: Study) -> Iterable[list[str]]:
    """The layout of Tables 17 and 18: a metric in each row, a run in each column."""
    printed = [column.printed for column in study.columns if column.printed]
    number = max([len(study.seeds), *(len(column.runs) for column in printed)])
    yield ["metric", "whose", *map(str, range(1, number + 1)), "std", "pvalue"]
    for column in study.columns:
        runs = [_digits(value, column.found.get("std.sample")) for value in column.runs]
        runs += [""] * (number - len(runs))
        std, p = (column.found.get(name) for name in (PAPER_STD, PAPER_P))
        yield [_heading(plan, column), "ours", *runs, _short(std), _probability(p)]
        if column.printed:
            theirs = [*column.printed.runs] + [""] * (number - len(column.printed.runs))
            yield ["", "paper", *theirs, column.printed.std, column.printed.pvalue]


def _spread_table(plan: Manifest, study: Study) -> Iterable[list[str]]:
    """What shows how far runs lie apart, and what a comparison of two models would find."""
    names = dict.fromkeys(
        name
        for column in study.columns
        for found in (column.found, column.printed.found if column.printed else {})
        for name in found
    )
    differences = sorted(
        (name for name in names if name.startswith("mdd.")), key=lambda name: int(name[4:])
    )
    tests = ["p.halves", "p.alternating"]
    header = ["mean", "95 % interval of the mean", "std.sample", "min", "max", "range"]
    yield ["metric", "whose", *header, "cv", *differences, *tests]
    for column in study.columns:
        sets = [("ours", column.found)]
        sets += [("paper", column.printed.found)] if column.printed else []
        for whose, found in sets:
            std = found.get("std.sample")
            mean, low, high, least, most = (
                _digits(found.get(name), std)
                for name in ("mean", "ci95_low", "ci95_high", "min", "max")
            )
            cv = found.get("cv")
            yield [
                _heading(plan, column) if whose == "ours" else "",
                whose,
                mean,
                f"{low} to {high}" if found else "–",
                _short(std),
                least,
                most,
                _short(found.get("range")),
                "–" if cv is None else f"{100 * cv:.2g} %",
                *(_short(found.get(name)) for name in differences),
                *(_probability(found.get(name)) for name in tests),
            ]


def _heading(plan: Manifest, column: Repeated) -> str:
    """Add an arrow that points to better."""
    return heading(column.name, Direction.of(plan, column.convention))


def _digits(value: float | None, std: float | None) -> str:
    """Write a value so that two digits of the spread of its runs can be seen."""
    if value is None:
        return "–"
    if not std:
        return f"{value:.6g}"
    return f"{value:.{min(12, max(0, 1 - math.floor(math.log10(std))))}f}"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _probability(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _legend(plan: Manifest, studies: list[Study]) -> Iterable[str]:
    """Explain the metrics by their conventions, then the statistics by theirs."""
    known = plan.conventions
    seen: dict[tuple[str, str], list[str]] = {}
    statistics: dict[str, None] = {}
    for study in studies:
        for column in study.columns:
            datasets = seen.setdefault((column.name, column.convention), [])
            datasets += [study.row.dataset] if study.row.dataset not in datasets else []
            statistics |= dict.fromkeys(column.found)
            statistics |= dict.fromkeys(column.printed.found if column.printed else {})
    for (name, convention), datasets in seen.items():
        about = known[convention]
        text = ": ".join(filter(None, [about.title, about.description]))
        yield (
            f"{name} ({', '.join(datasets)}): `{convention}`"
            + (f", {text}" if text else "")
            + (f" [{about.unit}]" if about.unit != "1" else "")
        )
    yield f"std: `{PAPER_STD}`; pvalue: `{PAPER_P}`; –: undefined or not available"
    for statistic in statistics:
        yield f"`{statistic}`: {meaning(statistic)}"
