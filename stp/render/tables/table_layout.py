"""Lay out table rows for readers: one section per dataset, with the dataset's columns."""

from collections.abc import Iterable, Sequence

from stp.collect.direction import LEVEL
from stp.page.commands import trust_command
from stp.page.data_origin import count_kinds, origin
from stp.page.digits import digits
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Manifest
from stp.render.direction import Direction, heading
from stp.render.tables.best_rows import Standing, Standings
from stp.render.tables.leads import Leads, select_leads
from stp.render.tables.people import sections as people_sections
from stp.render.tables.rows import Entry, Row
from stp.score.jackknife import FEWEST_CLUSTERS

ALIKE = "†"
"""The sign of values that are not significantly worse than the best."""


def grid(
    manifest: Manifest,
    table: str,
    rows: list[Row],
    ranked: Standings,
    *,
    partial: bool,
    leads: Leads | None = None,
) -> Grid:
    """Lay out a table for readers.

    Args:
        manifest: the table's manifest, with titles and columns.
        table: name of the table.
        rows: rows of the table.
        ranked: for each row, rank and test of its values by column.
        partial: whether the table is incomplete.
        leads: values at each lead time, for additional sections; None without them.
    """
    sections = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        numbers = [i for i, row in enumerate(rows) if row.dataset == dataset]
        of_dataset = [rows[i] for i in numbers]
        sections.append(_section(manifest, dataset, of_dataset, [ranked[i] for i in numbers]))
    if leads:
        for dataset in dict.fromkeys(row.dataset for row in rows):
            sections += _lead_sections(manifest, dataset, leads)
    return Grid(
        name=table,
        title=f"{'Partial table' if partial else 'Table'} {table}, scale {manifest.scale}",
        intro=[_intro(rows)],
        sections=[*sections, *([] if _is_own(rows) else people_sections(manifest))],
        warnings=list(_warnings(rows, partial)),
        legend=[
            *_columns(manifest, rows),
            *_trust(manifest, rows, partial),
            *(_marks() if manifest.are_rivals else []),
            *_explain_signs(table, leads is not None),
        ],
        made_from=f"Made from the scores of {len(manifest.cells)} cells of the manifest "
        f"`{table}.json`, scale {manifest.scale}, code {manifest.code}"
        f"{'' if _is_own(rows) else ', and from published values'}.",
    )


def _is_own(rows: list[Row]) -> bool:
    """Whether all rows are on the user's own data, for which nothing is published."""
    return all(row.source == "own" for row in rows)


_FRAMES = "Means over test samples and lead times, then over seeds"
_PRINTED_FRAMES = (
    "; in parentheses the value that the paper prints. A difference (ours - published) is given "
    "only for official data under the paper's protocol; `by counts`: the data are known to be "
    "official by counts and sizes, not by checksums"
)
_PEOPLE = "Mean ± standard deviation over scenarios (ddof 0)"
_PRINTED_PEOPLE = ", as in the paper, whose values are in parentheses"
_SPREAD = (
    ". Scenarios of an episode overlap, so the standard deviation shows how scenarios differ, not "
    "how certain a mean is: see the 95 % interval over episodes"
)
_DIFFERENCE_PEOPLE = (
    ". A difference (ours - published) is given only for the paper's protocol on official data, "
    "or on the very files behind its numbers; the paper truncates or rounds its last digit, so "
    "smaller differences mean nothing"
)


_SPLITS = (
    "Median ± standard deviation over splits (ddof 0); splits share samples, so the deviation "
    "shows how splits differ, not how certain a median is"
)


def _intro(rows: list[Row]) -> str:
    """Explain the numbers in a sentence, without mention of a paper for the user's own data."""
    is_own = _is_own(rows)
    if any(row.counted for row in rows):
        text = _PEOPLE + ("" if is_own else _PRINTED_PEOPLE) + _SPREAD
        return text + ("" if is_own else _DIFFERENCE_PEOPLE) + "."
    parts = [entry.part for row in rows for entry in row.entries.values()]
    text = _SPLITS if any(part.statistic == "median" for part in parts) else _FRAMES
    return text + ("" if is_own else _PRINTED_FRAMES) + "."


def _warnings(rows: list[Row], partial: bool) -> Iterable[str]:
    if partial:
        yield "PARTIAL: some cells are missing; see the notes."
    computed = [row for row in rows if not row.is_printed]
    other_data = [row for row in computed if not row.comparable and row.source != "own"]
    if other_data:
        origins = count_kinds((origin(row.source, row.protocol) for row in other_data), "rows")
        yield (
            f"WARNING: {len(other_data)} of {len(computed)} rows are NOT COMPARABLE with the "
            f"published values: {origins}."
        )


def _section(
    manifest: Manifest, title: str, rows: list[Row], ranked: Sequence[dict[str, Standing]]
) -> Section:
    columns = list(dict.fromkeys(column for row in rows for column in row.entries))
    varying_texts = {
        "source": [row.source for row in rows],
        "scale": [row.scale for row in rows],
        "protocol": [row.protocol for row in rows],
        **({} if _is_own(rows) else {"comparable": [row.comparability for row in rows]}),
        "seeds": [_count(row.seeds) for row in rows],
        "n": [_count(row.samples) for row in rows],
    }
    # Properties that all rows share are above them; the number of seeds is in every row.
    computed = [i for i, row in enumerate(rows) if not row.is_printed]
    of_all = {
        name: list(dict.fromkeys(texts[i] for i in computed))
        for name, texts in varying_texts.items()
    }
    shared = {k: v[0] for k, v in of_all.items() if len(v) == 1 and k != "seeds"}
    varying = {name: texts for name, texts in varying_texts.items() if name not in shared}
    notes, marks = _number_notes([row.notes for row in rows])
    printed = _with_clips(manifest, rows, columns)
    intervals = [c for c in columns if any(r.counted and _interval(r.entries.get(c)) for r in rows)]
    lines: list[list[str | Item]] = []
    for i, (row, standing_of) in enumerate(zip(rows, ranked, strict=True)):
        lines.append(
            [
                Item(row.model, mark=",".join(marks[i])),
                *(texts[i] for texts in varying.values()),
                *(
                    _item(row.entries.get(c), standing_of.get(c), clips=c in printed)
                    for c in columns
                ),
                *(_interval(row.entries.get(c)) for c in intervals),
            ]
        )
    headings = [*(_heading(manifest, rows, c) for c in columns), *(f"{c} 95 %" for c in intervals)]
    shared_text = f"All rows: {', '.join(f'{name} {text}' for name, text in shared.items())}."
    return Section(
        title=title,
        columns=["model", *varying, *headings],
        rows=lines,
        numeric=[False, *(name in ("seeds", "n") for name in varying), *[True] * len(headings)],
        intro=[*_count_notes(rows), *([shared_text] if shared else [])],
        notes=[*notes, *_without_interval(rows), *_untested_notes(ranked)],
    )


def _count_notes(rows: list[Row]) -> Iterable[str]:
    for scenarios, people, episodes in dict.fromkeys(row.counted for row in rows if row.counted):
        few = f", and an interval needs {FEWEST_CLUSTERS} of them"
        yield (
            f"{_many(scenarios, 'overlapping scenario')} of {_many(episodes, 'episode')}, "
            f"{people} people in them. Only episodes are independent of each other"
            f"{few if episodes < FEWEST_CLUSTERS else ''}."
        )


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _interval(entry: Entry | None) -> str:
    if entry is None or entry.low is None or entry.high is None:
        return ""
    return f"{digits(entry.low, entry.digits)} to {digits(entry.high, entry.digits)}"


def _without_interval(rows: list[Row]) -> Iterable[str]:
    """List values without an interval, with reasons.

    In tables about people, all of them are listed; in other tables, only those with too few
    clusters.
    """
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        for column, entry in row.entries.items():
            few = entry.reason.endswith(f"({FEWEST_CLUSTERS} needed)")
            if (row.counted or few) and entry.value is not None and entry.low is None:
                reasons.setdefault(entry.reason, {})[column] = None
    for reason, columns in reasons.items():
        yield f"No 95 % interval: {', '.join(columns)}: {reason}"


def _number_notes(notes: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Number the notes of rows; notes that all rows share get no number.

    Returns:
        a line for each distinct note, and the numbers of each row's notes.
    """
    texts = list(dict.fromkeys(note for of_row in notes for note in of_row))
    of_all = [text for text in texts if all(text in of_row for of_row in notes)]
    numbers = {
        text: str(i) for i, text in enumerate((t for t in texts if t not in of_all), start=1)
    }
    lines = [f"All rows: {text}" for text in of_all]
    lines += [f"[{number}] {text}" for text, number in numbers.items()]
    return lines, [sorted((numbers[t] for t in row if t in numbers), key=int) for row in notes]


def _with_clips(manifest: Manifest, rows: list[Row], columns: list[str]) -> set[str]:
    """Columns with values that depend on the number of clips, if these numbers differ.

    The numbers of clips of all rows are compared and, for the whole test split, that of the paper.
    """
    depending = set()
    for column in columns:
        entries = [row.entries[column] for row in rows if column in row.entries]
        numbers = {
            e.n
            for e in entries
            if e.value is not None and manifest.conventions[e.convention].compares_sets
        }
        if any(e.published for e in entries):
            key = rows[0].key
            published = manifest.published_clips.get(key.tested_on)
            numbers |= {published} if key.subset == "test" and numbers and published else set()
        if len(numbers) > 1:
            depending.add(column)
    return depending


def _item(entry: Entry | None, standing: Standing | None, *, clips: bool) -> Item:
    """Format a value with its mark, and published value and number of clips in parentheses."""
    if entry is None:
        return Item("")
    asides = []
    if entry.published is not None:
        asides.append(entry.published.raw)
        if entry.difference is not None:
            sign = "+" if entry.difference >= 0 else "-"
            # Beside a spread, in the digits of the value.
            size = abs(entry.difference)
            text = digits(size, entry.digits) if entry.sd is None else f"{size:.4f}"
            asides.append(f"{sign}{text}")
    if entry.value is None:
        return Item("–", aside="; ".join(asides))
    if clips:
        asides.append(f"N = {_count(entry.n)}")
    standing = standing or Standing()
    text = digits(entry.value, entry.digits) + ("" if entry.sd is None else f" ± {entry.sd:.2g}")
    return Item(
        text, standing.place, ALIKE if standing.is_worse is False else "", "; ".join(asides)
    )


def _untested_notes(ranked: Sequence[dict[str, Standing]]) -> Iterable[str]:
    reasons: dict[str, list[str]] = {}
    for standing_of in ranked:
        for column, standing in standing_of.items():
            names = reasons.setdefault(standing.reason, []) if standing.reason else [column]
            names += [column] if column not in names else []
    for reason, columns in reasons.items():
        yield f"Not tested against the best: {', '.join(columns)}: {reason}"


def _heading(manifest: Manifest, rows: Sequence[Row], column: str) -> str:
    """Heading of a column with its direction, unless rows differ in the direction."""
    conventions = {row.entries[column].convention for row in rows if column in row.entries}
    directions = {Direction.of(manifest, convention) for convention in conventions}
    return heading(column, directions.pop()) if len(directions) == 1 else column


def _lead_sections(manifest: Manifest, dataset: str, leads: Leads) -> Iterable[Section]:
    # All lead times have the same rows, in the same order.
    first = next(iter(leads.rows.values()), [])
    numbers = [i for i, row in enumerate(first) if row.dataset == dataset]
    values: dict[str, dict[int, None]] = {}
    for lead, rows in leads.rows.items():
        for i in numbers:
            for column, entry in rows[i].entries.items():
                of_column = values.setdefault(column, {})
                of_column |= {} if entry.value is None else {lead: None}
    for column, available in values.items():
        chosen = select_leads(list(available))
        if chosen:
            yield _lead_section(manifest, dataset, column, leads, numbers, chosen)


def _lead_section(
    manifest: Manifest,
    dataset: str,
    column: str,
    leads: Leads,
    numbers: list[int],
    chosen: list[int],
) -> Section:
    rows = [leads.rows[chosen[0]][i] for i in numbers]
    step = leads.steps[dataset]
    lines: list[list[str | Item]] = []
    for i, row in zip(numbers, rows, strict=True):
        line: list[str | Item] = [row.model]
        for lead in chosen:
            entry = leads.rows[lead][i].entries.get(column)
            line.append(_item(entry, leads.standings[lead][i].get(column), clips=False))
        lines.append(line)
    origins = {f"source {row.source}, scale {row.scale}, protocol {row.protocol}" for row in rows}
    return Section(
        title=f"{dataset}: {_heading(manifest, rows, column)} by lead time",
        columns=["model", *(_lead(lead, step) for lead in chosen)],
        rows=lines,
        numeric=[False, *[True] * len(chosen)],
        intro=[f"Lead times are counted in frames; {'; '.join(sorted(origins))}."],
    )


def _lead(lead: int, step: float | None) -> str:
    """Format a lead time in steps and, if the data state the duration of a step, in time."""
    if step is None:
        return f"lead {lead}"
    from stp.render.figures.time_step import SECONDS, unit_of

    unit = unit_of(lead * step)
    return f"lead {lead} ({lead * step / SECONDS[unit]:.3g} {unit})"


def _columns(manifest: Manifest, rows: list[Row]) -> Iterable[str]:
    """Yield a line for each column and its convention, which may differ between datasets."""
    conventions = manifest.conventions
    meanings: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for column, entry in row.entries.items():
            datasets = meanings.setdefault((column, entry.convention, entry.unit), [])
            if row.dataset not in datasets:
                datasets.append(row.dataset)
    for (column, convention, unit), datasets in meanings.items():
        shared = sum(name == column for name, *_ in meanings) == 1
        facts = conventions[convention]
        unit = unit or facts.unit
        text = ": ".join(filter(None, [facts.title, facts.description]))
        yield (
            heading(column, Direction.of(manifest, convention))
            + ("" if shared else f" ({', '.join(datasets)})")
            + f": `{convention}`"
            + (f", {text}" if text else "")
            + (f" [{unit}]" if unit != "1" else "")
        )


def _trust(manifest: Manifest, rows: list[Row], partial: bool) -> Iterable[str]:
    """Yield the command that shows a trust card, for complete studies of distortions."""
    conventions = [entry.convention for row in rows for entry in row.entries.values()]
    if not manifest.are_rivals and conventions and not partial:
        yield (
            "What a metric can be trusted for, on distorted videos: "
            f"`{trust_command(manifest.scale, manifest.dimension, conventions[0])}`; the other "
            "columns have such cards, too."
        )


def _marks() -> Iterable[str]:
    yield (
        "Bold: best among rows evaluated on the same data, test and split; the second best is in "
        "italics or underlined. Values that round to the same printed figure count as ties."
    )
    yield (
        f"{ALIKE}: not significantly worse than the best (paired t test over clusters of test "
        "clips, two-sided, corrected for all pairs of these rows by Holm's method, and sign test, "
        f"level {100 * LEVEL:.0f} %). The tests account for the variation between test clips, not "
        "between seeds."
    )


def _explain_signs(table: str, with_leads: bool) -> Iterable[str]:
    yield "↑: higher is better; ↓: lower is better; → 1: the closer to 1 the better."
    yield "seeds: – for a deterministic model; n: test clips; N: clips behind a distance of sets."
    files = f"`{table}_tidy.csv`" + (f" and `{table}_leads.csv`" if with_leads else "")
    yield f"Intervals, p values and all other details of each value: {files}."


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)
