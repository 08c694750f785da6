"""The form of a table of detections, and the line of each of its rows."""

import pytest

from stp.core.errors import StpError
from stp.prepare.track_readers import text

TABLES = {
    "1,2,3.5\n4,5,6.5\n": (",", ".", None, False, 0, [1, 2]),
    "t;x;y\n1;2,5;3\n\n4;5,5;6\n": (";", ",", ["t", "x", "y"], False, 1, [2, 4]),
    "# t x y\n1 2 3\n# a pause\n4 5 6\n": (r"\s+", ".", ["t", "x", "y"], True, 1, [2, 4]),
    "% four words of comment\n1\t2\t3\n4\t5\t6\n": ("\t", ".", None, False, 1, [2, 3]),
    "t,x,y\n#c\n1,2,3\n4,5,6\n": (",", ".", ["t", "x", "y"], False, 1, [3, 4]),
}
"""Separator, decimal sign, names, whether in a comment, lines before the rows, and their lines."""


@pytest.mark.parametrize("content", TABLES)
def test_the_form_is_that_of_the_first_lines(tmp_path, content):
    path = tmp_path / "hall.csv"
    path.write_text(content)
    form = text.layout(path)
    *expected, lines = TABLES[content]
    found = [form.separator, form.decimal, form.names, form.in_comment, form.skipped]
    assert found == expected and form.width == 3 and form.numeric == 1
    rows = text.table(path, form, by_number=False)
    assert len(rows) == len(lines) and rows.iloc[0, 0] == 1 and rows.iloc[1, 0] == 4
    assert list(rows.columns) == (form.names or [0, 1, 2])
    assert [text.line_of(path, form, row, by_number=False) for row in (0, 1, 2)] == [*lines, 0]


def test_names_are_a_row_where_columns_have_numbers(tmp_path):
    path = tmp_path / "hall.csv"
    path.write_text("t,x,y\n1,2,3\n")
    form = text.layout(path)
    assert text.table(path, form, by_number=True).iloc[0].tolist() == ["t", "x", "y"]
    assert [text.line_of(path, form, row, by_number=True) for row in (0, 1, 2)] == [1, 2, 0]
    assert text.table(path, form, by_number=False, most=0).empty


@pytest.mark.parametrize("content", ["", "# t x y\n"])
def test_a_table_without_rows_is_named(tmp_path, content):
    path = tmp_path / "hall.csv"
    path.write_text(content)
    with pytest.raises(StpError, match=path.name):
        text.layout(path)
