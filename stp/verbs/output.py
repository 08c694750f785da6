"""Output of verbs: styled on a terminal, plain elsewhere, or in a format for programs."""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from stp.run.results import RESULTS, last_results
from stp.verbs.app import is_default, tell_default

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stp.page.grid import Grid

FormatName = Literal["table", "csv", "json", "markdown", "parquet"]

Format = Annotated[
    FormatName | None,
    typer.Option(
        "--format",
        "-f",
        help="Output format. A table is readable text; csv, json and parquet keep all "
        "digits, and parquet needs --out.",
    ),
]
TableOrJson = Annotated[
    Literal["table", "json"],
    typer.Option("--format", "-f", help="Output format: readable text, or everything as JSON."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Write to this file instead. Its ending (.csv, .json, .md, .parquet) sets the format.",
    ),
]
FailIfEmpty = Annotated[
    bool, typer.Option("--fail-if-empty", help="Exit with 3 if there are no rows.")
]


def _tell_store(context: typer.Context, parameter: typer.CallbackParam, results: Path) -> Path:
    if is_default(context, parameter):
        tell_default(context, f"results: {results}")
    return results


Database = Annotated[Path, typer.Option(help="The DuckDB file.", callback=_tell_store)]
Results = Annotated[
    Path, typer.Option(help="The folder of results of a scale.", callback=_tell_store)
]
LAST = last_results()
"""The folder of results of the last run here."""
DATABASE = LAST / "results.duckdb"
"""The results store of the last run here."""
SCALES = RESULTS / "results.duckdb" if (RESULTS / "results.duckdb").is_file() else DATABASE
"""The results store of all scales that were run here, or else of the last one."""

EXITS = "Exit codes: 0 answered, 1 an error, 2 wrong usage, 3 nothing found."

_OF_ENDING: dict[str, FormatName] = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".parquet": "parquet",
    ".txt": "table",
}


def choose_format(format: FormatName | None, out: Path | None) -> FormatName:
    """Choose the output format: the requested one, or else that of the file's ending.

    Args:
        format: the requested format; None if the user requested none.
        out: the file to write; None for standard output, whose default is "table".

    Raises:
        typer.BadParameter: Parquet without a file, or a file with an unknown ending.
    """
    if format == "parquet" and out is None:
        raise typer.BadParameter("parquet is binary: name a file with --out", param_hint="--format")
    if format is not None:
        return format
    if out is None:
        return "table"
    if out.suffix not in _OF_ENDING:
        raise typer.BadParameter(
            f"{out}: the ending is none of {', '.join(_OF_ENDING)}; choose with --format "
            f"({', '.join(get_args(FormatName))})",
            param_hint="--out",
        )
    return _OF_ENDING[out.suffix]


def has_styles() -> bool:
    """Whether standard output is a terminal that shows styles, and no file or pipe."""
    from rich.console import Console

    return sys.stdout.isatty() and not Console().is_dumb_terminal


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on standard output; on a terminal, long lines are wrapped at its width."""
    from stp.page.plain_table import wrap_line

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in lines:
        print(line if width is None else wrap_line(line, width))


def put(
    text: Callable[[], str],
    out: Path | None,
    styled: Callable[[int], "RenderableType"] | None = None,
) -> None:
    """Write a text to a file or to standard output.

    Args:
        text: function that makes the plain text.
        out: the file; None for standard output.
        styled: function that makes the content for a terminal, from the terminal's width in
            characters; None if terminals get the plain text.
    """
    if out is not None:
        from stp.core.disk import write_text, writing

        with writing(out):
            write_text(out, text())
        wrote(out)
    elif styled is not None and has_styles():
        from rich.console import Console

        from stp.page.safe_text import Visible

        console = Console(highlight=False)
        # Only the terminal breaks long paths and commands, so that they can be copied.
        console.print(Visible(styled(console.width)), crop=False)
    elif sys.stdout.isatty():
        from stp.page.safe_text import visible

        sys.stdout.write(visible(text()))
    else:
        sys.stdout.write(text())


def wrote(out: Path) -> None:
    """Say on standard error that a file was written, because scripts read standard output.

    Args:
        out: path of the file.
    """
    print(f"wrote {out}", file=sys.stderr)


def put_rows(
    columns: Sequence[str],
    rows: Sequence[tuple[object, ...]],
    format: FormatName,
    out: Path | None,
    types: Mapping[str, Any] | None = None,
) -> None:
    """Write rows to a file or to standard output.

    Args:
        columns: names of the columns.
        rows: values of each row.
        format: output format; "parquet" needs a file.
        out: the file; None for standard output.
        types: only for Parquet: Arrow type by column, of columns that may be NULL in every row;
            None if there are none.
    """
    from stp.collect.query import format_result, save_rows, text_columns
    from stp.page.text_table import lay_out_result

    if format == "parquet":
        assert out is not None
        save_rows(columns, rows, out, types or {})
        wrote(out)
        return
    put(
        lambda: format_result(list(columns), list(rows), format),
        out,
        (lambda width: lay_out_result(text_columns(columns, rows), width))
        if format == "table"
        else None,
    )


def answers(
    text: str, width: int, *tables: tuple[Sequence[str], Sequence[tuple[object, ...]]]
) -> "RenderableType":
    """Arrange a text and several tables one below the other, for a terminal.

    Args:
        text: the text.
        width: width of the terminal in characters.
        *tables: each table as a pair: names of the columns, and values of each row.
    """
    from rich.console import Group
    from rich.text import Text

    from stp.collect.query import text_columns
    from stp.page.text_table import lay_out_result

    parts: list[RenderableType] = [Text(text)]
    for columns, rows in tables:
        parts += [lay_out_result(text_columns(columns, rows), width), ""]
    return Group(*parts)


def put_answer(
    database: Path,
    sql: str,
    format: FormatName,
    out: Path | None,
    values: Sequence[object] = (),
    *,
    allow_files: bool = False,
) -> int:
    """Query the results store, and write the answer to a file or to standard output.

    Args:
        database: path of the results store, a DuckDB file.
        sql: the query.
        format: output format; "parquet" needs a file.
        out: the file; None for standard output.
        values: values of the parameters of the query, in order.
        allow_files: whether the query may read and write files.

    Returns:
        number of rows of the answer.
    """
    from stp.collect.query import run_query, save

    if format == "parquet":
        assert out is not None
        rows = save(database, sql, out, values, allow_files=allow_files)
        wrote(out)
        return rows
    columns, found = run_query(database, sql, values, allow_files=allow_files)
    put_rows(columns, found, format, out)
    return len(found)


def put_json(value: object, out: Path | None) -> None:
    """Write nested values as JSON to a file or to standard output.

    Args:
        value: lists, dicts, dataclasses and plain values, nested at will.
        out: the file; None for standard output.
    """
    import json

    from stp.collect.query import for_json

    put(lambda: json.dumps(for_json(value), indent=2, ensure_ascii=False) + "\n", out)


def put_markdown(text: str, format: FormatName, out: Path | None) -> None:
    """Write a page of Markdown to a file or to standard output; a terminal shows it rendered.

    Args:
        text: the page.
        format: "markdown" writes the Markdown itself even to a terminal; "table" shows it rendered
            there. Files and pipes get the Markdown in both cases.
        out: the file; None for standard output.
    """
    if format == "markdown":
        put(lambda: text, out)
        return

    def styled(width: int) -> "RenderableType":
        from rich.markdown import Markdown

        return Markdown(text)

    put(lambda: text, out, styled)


def put_grid(grid: "Grid", format: FormatName, out: Path | None) -> None:
    """Write a table with title, notes and legend to a file or to standard output.

    Args:
        grid: the table.
        format: "markdown", or "table" for plain text, which a terminal shows with styles.
        out: the file; None for standard output.
    """
    from stp.page.formats import markdown, terminal

    if format == "markdown":
        put(lambda: markdown.text(grid), out)
    else:
        put(lambda: terminal.text(grid), out, lambda width: terminal.renderable(grid, width))


def end_if_empty(rows: int, fail: bool) -> None:
    """Exit with code 3 if an answer is empty, provided that the user asked for this.

    Args:
        rows: number of rows of the answer.
        fail: whether the user asked for this code (``--fail-if-empty``).

    Raises:
        typer.Exit: the answer is empty, and `fail` is set.
    """
    from stp.core import exit_codes

    if fail and not rows:
        raise typer.Exit(exit_codes.NOTHING)


class Ticker:
    """A line of progress on standard error.

    A terminal shows one line that changes; elsewhere, a new line is printed every ten seconds.

    Args:
        label: what is in progress; each line begins with it.
    """

    def __init__(self, label: str) -> None:
        self.label, self.begun, self.shown, self.what = label, time.monotonic(), 0.0, ""

    def report(self, what: str, done: int, total: int) -> None:
        """Show the progress, unless a line with the same subject was shown a moment ago.

        Args:
            what: text to show; the part before a colon is its subject.
            done, total: ignored.
        """
        now = time.monotonic()
        on_terminal = sys.stderr.isatty()
        if what.partition(":")[0] == self.what and now - self.shown < (0.5 if on_terminal else 10):
            return
        self.what, self.shown = what.partition(":")[0], now
        line = f"{self.label}: {what} ({now - self.begun:.0f} s)"
        if on_terminal:
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the progress line from the terminal."""
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
