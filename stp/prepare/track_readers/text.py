"""Read text tables, and detect their separators, decimal signs and names of columns.

Columns are separated by commas, semicolons, tabs or blanks; decimal signs are points or commas;
names of columns are in the first line, in a comment above it, or missing.
"""

import codecs
import csv
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.errors import RawFileError, StpError

BLANKS = r"\s+"
SEPARATORS = ("\t", ";", ",", BLANKS)
COMMENTS = ("#", "%", "//")
"""First characters of lines that are not rows."""
HEAD_BYTES = 65_536
MOST_LINES = 200
FEWEST_COLUMNS = 3
"""Minimum number of columns of a table of detections: time, x and y."""
NUMBER = re.compile(r"[-+]?(\d+(\.\d*|,\d+)?|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf)", re.IGNORECASE)
THOUSANDS = r"[-+]?[1-9]\d{0,2}([.,]\d{3})+"
"""A number whose sign may separate thousands or decimals: 4,505 is 4505 or 4.505."""


@dataclass(frozen=True)
class Layout:
    """Layout of a text table: separator, decimal sign and names of columns.

    Attributes:
        separator: separator of columns, in the form of ``sep`` in pandas.
        decimal: decimal sign of numbers, "." or ",".
        encoding: encoding of the text.
        names: names of the columns; None if they are missing.
        in_comment: whether the names are in the last comment before the first row.
        skipped: number of lines before the first row of values.
        width: number of columns of most rows.
        numeric: share of numbers among the values in rows of this width, 0..1.
        comment: sign that begins comments between rows; None if there are no such comments.
    """

    separator: str
    decimal: str
    encoding: str
    names: list[str] | None
    in_comment: bool
    skipped: int
    width: int
    numeric: float
    comment: str | None


def layout(path: Path) -> Layout:
    """Detect the layout of a table from its first lines.

    Raises:
        StpError: the file cannot be read, or has no rows.
    """
    encoding, lines = _head(path)
    comments = [(number, line) for number, line in lines if line.startswith(COMMENTS)]
    rows = [(number, line) for number, line in lines if not line.startswith(COMMENTS)]
    if not rows:
        raise RawFileError(path, "no rows", expected="detections in a CSV or Parquet file")
    texts = [line for _, line in rows]
    fits = {separator: _fit(texts[1:] or texts, separator) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda separator: fits[separator][0])  # the first of the best
    if not fits[separator][0]:
        separator = ","
    _, width, numeric, decimal = fits[separator]
    first = split(texts[0], separator)
    names, skipped, in_comment = None, rows[0][0], False
    if not any(map(NUMBER.fullmatch, first)):
        names, skipped = _split_names(texts[0], separator), rows[0][0] + 1
    else:
        above = [line for number, line in comments if number < rows[0][0]]
        header = _split_names(above[-1].lstrip("#%/").strip(), separator) if above else []
        if len(header) == width and not any(map(NUMBER.fullmatch, header)):
            names, in_comment = header, True
    between = any(number >= skipped and line.startswith("#") for number, line in comments)
    return Layout(
        separator, decimal, encoding, names, in_comment, skipped, width, numeric,
        "#" if between else None,
    )  # fmt: skip


def table(
    path: Path,
    form: Layout,
    by_number: bool,
    most: int | None = None,
    words: Collection[str | int] = (),
) -> pd.DataFrame:
    """Read the rows of a text table.

    Args:
        path: path of the file.
        form: layout of the table.
        by_number: whether columns are identified by index, even if they have names.
        most: maximum number of rows to read; all by default.
        words: names or indices of columns to read as text, so that 007 and 7 differ.

    Raises:
        StpError: the file cannot be read, or rows have more values than names of columns.
    """
    names, skipped = form.names, form.skipped
    if by_number:  # a line of names is then reported as a row without numbers
        names, skipped = None, skipped - (form.names is not None and not form.in_comment)
    try:
        read = pd.read_csv(
            path,
            sep=form.separator,
            decimal=form.decimal,
            encoding=form.encoding,
            comment=form.comment,
            header=None,
            names=None if names is None else list(_unique_names(names)),
            skiprows=skipped,
            skipinitialspace=True,
            low_memory=False,
            dtype=dict.fromkeys(words, str),
            nrows=most,
        )
    except (OSError, ValueError, OverflowError) as error:
        raise RawFileError(
            path, f"cannot be read ({error})", expected="detections in a CSV or Parquet file"
        ) from None
    # pandas takes the first columns for an index
    if not isinstance(read.index, pd.RangeIndex) or form.width > len(names or read.columns):
        raise StpError(
            f"{path}: lines have more values than there are names in the first one",
            expected="a name for each column",
            remedy="complete the first line, or remove the separators at the ends of lines",
        )
    return read


def write_points(
    path: Path, form: Layout, table: pd.DataFrame, columns: list[str | int], by_number: bool
) -> None:
    """Replace decimal commas by points in columns that were read as text.

    Args:
        path: path of the file.
        form: layout of the table.
        table: rows of the file; changed in place.
        columns: names or indices of the columns with numbers or times.
        by_number: whether columns are identified by index, even if they have names.

    Raises:
        StpError: it cannot be told whether a comma or point is a decimal sign or a thousands
            separator. This is so if all numbers with this sign look like 4,505 (or 4.505).
    """
    words = table[columns].apply(lambda column: column.str.strip())
    ambiguous = words.apply(lambda column: column.str.fullmatch(THOUSANDS, na=False))
    for sign in (",", "."):
        signed = words.apply(
            lambda column, sign=sign: column.str.contains(sign, regex=False, na=False)
        )
        doubtful = (ambiguous & signed).to_numpy()
        if doubtful.any() and doubtful.sum() == signed.to_numpy().sum():
            row, number = np.argwhere(doubtful)[0].tolist()
            word = words.iloc[row, number]
            readings = re.sub("[.,]", "", word), word.replace(",", ".")
            raise StpError(
                f"{path}: line {line_of(path, form, row, by_number)}, column {columns[number]}: "
                f"{word} is {' or '.join(readings)}",
                expected="decimal points, and no separators of thousands",
                remedy="write all numbers with decimal points alone",
            )
    table[columns] = words.apply(lambda column: column.str.replace(",", ".", regex=False))


def line_of(path: Path, form: Layout, row: int, by_number: bool) -> int:
    """Find the line of a table's row in its file, for errors.

    Args:
        path: path of the file.
        form: layout of the table.
        row: index of the row in the table, from 0.
        by_number: whether columns are identified by index, even if they have names.

    Returns:
        number of the line, from 1; 0 if the file has fewer rows.
    """
    skipped = form.skipped - (by_number and form.names is not None and not form.in_comment)
    with path.open(encoding=form.encoding, errors="replace") as file:
        for number, line in enumerate(file, start=1):
            text = line.strip()
            is_row = number > skipped and text and not (form.comment and text.startswith("#"))
            row -= bool(is_row)
            if row < 0:
                return number
    return 0


def split(line: str, separator: str) -> list[str]:
    """Split a line of a text table into the values of its columns.

    Args:
        line: the line.
        separator: one of `SEPARATORS`. `BLANKS` stands for one or more blanks or tabs. A value in
            double quotes may contain any other separator.

    Returns:
        the values without surrounding blanks, and except with `BLANKS` without double quotes; the
        whole line as one value if its quotes are wrong.
    """
    if separator == BLANKS:
        return line.split()
    try:
        words = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return [line]
    return [word.strip() for word in words]


def _head(path: Path) -> tuple[str, list[tuple[int, str]]]:
    """Encoding of a file, and its first lines that are not blank, with their numbers from 0."""
    try:
        with path.open("rb") as file:
            start = file.read(HEAD_BYTES)
        wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        encoding = "utf-16" if wide else "utf-8-sig"
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except (OSError, UnicodeError) as error:
        raise RawFileError(
            path, f"cannot be read ({error})", expected="detections in a CSV or Parquet file"
        ) from None
    lines = text.splitlines()
    if len(start) == HEAD_BYTES:  # the last line goes on
        lines = lines[:-1]
    numbered = [(number, line.strip()) for number, line in enumerate(lines) if line.strip()]
    return encoding, numbered[:MOST_LINES]


def _fit(lines: list[str], separator: str) -> tuple[float, int, float, str]:
    """Quality of a separator (0..1), number of columns, share of numbers, decimal sign."""
    rows = [split(line, separator) for line in lines]
    widths = [len(row) for row in rows]
    width = max(set(widths), key=widths.count)
    words = [word for row in rows if len(row) == width for word in row]
    numbers = [word for word in words if NUMBER.fullmatch(word)]
    share = len(numbers) / max(1, len(words))
    decimal = "," if any("," in word for word in numbers) else "."
    even = widths.count(width) / len(widths)
    return (even * share if width >= FEWEST_COLUMNS else 0.0), width, share, decimal


def _split_names(line: str, separator: str) -> list[str]:
    """The names in a line; if separated by blanks, a unit in brackets belongs to the name before
    it.
    """
    if separator == BLANKS:
        line = re.sub(r"\s+([\[(])", r"\1", line)
    names = split(line, separator)
    if len(names) == 1 and separator != BLANKS:  # a comment may have blanks or commas
        names = re.split(r"[\s,]+", line)
    return names


def _unique_names(names: list[str]) -> Iterator[str]:
    """Names without repetitions, as pandas makes them: x, x.1, x.2."""
    counts: dict[str, int] = {}
    for index, name in enumerate(names):
        name = name or f"Unnamed: {index}"
        counts[name] = counts.get(name, -1) + 1
        yield f"{name}.{counts[name]}" if counts[name] else name
