"""Write the rows of a table as Markdown: one sub-table per dataset, with its columns only."""

from collections.abc import Iterable

from stp.collect.manifest import Manifest
from stp.render.rows import Row


def markdown(manifest: Manifest, table: str, rows: list[Row], *, partial: bool) -> str:
    """Return the Markdown text of ``rows``.

    The best value of a column is bold among the rows that may be compared with each other: same
    comparability, same source, same kind of split.
    """
    higher = manifest["tables"][table].get("higher_is_better", {})
    lines = [
        f"# {'Partial table' if partial else 'Table'} {table}, scale {manifest['scale']}",
        "",
        "Means over test samples and lead times, then over seeds; in parentheses the value that "
        "the paper prints. A difference (ours - published) is given only for official bytes under "
        "the paper's protocol.",
        "",
        *_warnings(rows, partial),
    ]
    for dataset in dict.fromkeys(row.dataset for row in rows):
        lines += [f"## {dataset}", ""]
        lines += _dataset_table([row for row in rows if row.dataset == dataset], higher)
        lines.append("")
    lines += ["## Columns", "", *_legend(manifest, rows, higher)]
    return "\n".join(lines) + "\n"


def _warnings(rows: list[Row], partial: bool) -> Iterable[str]:
    if partial:
        yield "> **PARTIAL: some cells are missing; see the notes.**"
        yield ""
    marked = sum(not row.comparable and row.source != "own" for row in rows)
    if marked:
        yield (
            f"> **WARNING: {marked} of {len(rows)} rows are NOT COMPARABLE with the published "
            "values: other bytes or another protocol; see the notes.**"
        )
        yield ""


def _dataset_table(rows: list[Row], higher: dict[str, bool]) -> Iterable[str]:
    columns = list(dict.fromkeys(column for row in rows for column in row.entries))
    header = ["source", "scale", "protocol", "comparable", "model", "seeds", "n"]
    for column in columns:
        header += [_heading(column, higher), "(published)"]
    yield _line([*header, "notes"])
    right = ["---:"] * (2 + 2 * len(columns))
    yield _line([*["---"] * 5, *right, "---"])
    for row in rows:
        cells = [row.source, row.scale, row.protocol, "yes" if row.comparable else "**NO**"]
        cells += [row.model, _count(row.seeds), _count(row.samples)]
        for column in columns:
            cells += [_value(row, column, rows, higher), _published(row, column)]
        yield _line([*cells, "; ".join(row.notes)])


def _heading(column: str, higher: dict[str, bool]) -> str:
    """Add an arrow that points to better."""
    return f"{column} {'↑' if higher[column] else '↓'}" if column in higher else column


def _value(row: Row, column: str, rows: list[Row], higher: dict[str, bool]) -> str:
    """Write a value, bold if it is the best of several; ties are all bold."""
    value = _entry_value(row, column)
    if value is None:
        return "–"
    rivals = [
        rival_value
        for rival in rows
        if _league(rival) == _league(row)
        and (rival_value := _entry_value(rival, column)) is not None
    ]
    if column in higher and len(rivals) > 1:
        best = max(rivals) if higher[column] else min(rivals)
        if _digits(value) == _digits(best):
            return f"**{_digits(value)}**"
    return _digits(value)


def _league(row: Row) -> tuple[object, ...]:
    return row.comparable, row.source, row.leaky


def _entry_value(row: Row, column: str) -> float | None:
    entry = row.entries.get(column)
    return entry.value if entry else None


def _published(row: Row, column: str) -> str:
    entry = row.entries.get(column)
    if entry is None or entry.published is None:
        return ""
    if entry.difference is None:
        return f"({entry.published.raw})"
    sign = "+" if entry.difference >= 0 else "-"
    return f"({entry.published.raw}; {sign}{_digits(abs(entry.difference))})"


def _digits(value: float) -> str:
    """Write four significant digits; whole numbers from 10,000 on, powers only below 0.0001."""
    if abs(value) >= 9999.5:
        return f"{value:.0f}"
    return f"{value:#.4g}".removesuffix(".")


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _line(cells: list[str]) -> str:
    # A bar or a line break inside a value would end its cell.
    clean = [cell.replace("|", "\\|").replace("\n", " ") for cell in cells]
    return "| " + " | ".join(clean) + " |"


def _legend(manifest: Manifest, rows: list[Row], higher: dict[str, bool]) -> Iterable[str]:
    """Explain each column by the convention behind it; datasets may differ in it."""
    known = manifest.get("conventions", {})
    meanings: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for column, entry in row.entries.items():
            datasets = meanings.setdefault((column, entry.convention), [])
            if row.dataset not in datasets:
                datasets.append(row.dataset)
    for (column, convention), datasets in meanings.items():
        shared = sum(name == column for name, _ in meanings) == 1
        about = known.get(convention, {})
        parts = [about.get("title"), about.get("description")]
        text = ": ".join(part for part in parts if part)
        unit = about.get("unit")
        yield (
            f"- {_heading(column, higher)}"
            + ("" if shared else f" ({', '.join(datasets)})")
            + f": `{convention}`"
            + (f", {text}" if text else "")
            + (f" [{unit}]" if unit and unit != "1" else "")
        )
    yield ""
    yield (
        "Seeds: – for a deterministic model. Bold: the best of the rows that may be compared with "
        "each other. Intervals are in the file that ends in `_intervals.csv`."
    )
