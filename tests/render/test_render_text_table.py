"""Columns of text: aligned, within a width on terminals, whole elsewhere."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from stp.collect.query import text_columns
from stp.page.formats import terminal
from stp.page.grid import Grid, Item, Section
from stp.page.text_table import Column, format_plain, lay_out_result, styled_table

WORDS = "a sentence of several words that is longer than most columns"
COLUMNS = text_columns(
    ["model", "about", "value", "n", "missing", "list"],
    [(f"model{i}", WORDS, i / 7, 10**i, None, [0.5, i]) for i in range(4)],
)


def drawn(table: object, width: int) -> list[str]:
    """The lines of a terminal of so many characters, without styles."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, no_color=True)
    with console.capture() as caught:
        console.print(table, crop=False, no_wrap=False)
    return [Text.from_ansi(line).plain.rstrip() for line in caught.get().splitlines()]


def test_plain_text_has_every_letter_in_one_line_per_row() -> None:
    columns = [
        Column("model", False, [Text("tau"), Text("simvpv2", style="bold")]),
        Column("SSIM", True, [Text("0.9"), Text("0.1234")]),
    ]
    assert (
        format_plain(columns)
        == "model      SSIM\n-------  ------\ntau         0.9\nsimvpv2  0.1234\n"
    )


@pytest.mark.parametrize("width", [30, 44, 60, 80, 200])
def test_what_is_drawn_fits_and_has_everything(width: int) -> None:
    lines = drawn(lay_out_result(COLUMNS, width), width)
    assert max(map(len, lines)) <= width
    for text in ("model", "about", "value", "missing", "0.428571", "1000"):
        assert any(text in line for line in lines), text
    # What is the same in all rows is said once where there is no room to repeat it.
    assert sum(line.count("longer") for line in lines) == (4 if width >= 80 else 1)


def test_one_row_that_does_not_fit_is_a_record() -> None:
    one = text_columns(["model", "about", "value"], [("tau", WORDS, 0.5)])
    lines = drawn(lay_out_result(one, 20), 20)
    assert lines[0].split() == ["column", "row", "1"]
    assert any(line.split()[:2] == ["model", "tau"] for line in lines)


def leaderboard(models: int = 5) -> list[Column]:
    """A view of many columns: what is the same throughout, or in each group of models."""
    same = {f"constant_{i}": "word" for i in range(12)} | {"level": None}
    rows = [
        [*same.values(), f"dataset {d}", f"convention_{c}", f"model_{m}", d + c + m / 10]
        for d in range(2)
        for c in range(3)
        for m in range(models)
    ]
    return text_columns([*same, "tested_on", "convention", "model", "value"], rows)


def test_what_rows_have_in_common_is_said_once() -> None:
    lines = drawn(lay_out_result(leaderboard(), 25), 25)
    assert max(map(len, lines)) <= 25
    text = " ".join(lines)
    assert text.count("constant_7 word") == 1 and "empty: level" in text
    for row in range(1, 31):
        assert any(line.split()[:1] == [str(row)] for line in lines)


def test_text_with_signs_of_markup_is_shown_as_it_is() -> None:
    columns = text_columns(["[bold]x"], [("[red]a[/red] :smile:",)])
    assert drawn(styled_table(columns, 80), 80)[-1] == "[red]a[/red] :smile:"


GRID = Grid(
    name="n",
    title="Table of [b]",
    intro=["Values of `csi.at 16` are means of very many clips that make this line quite long."],
    sections=[
        Section(
            title="KTH",
            columns=["model", "SSIM ↑"],
            rows=[
                [Item("SimVP", mark="1"), Item("0.91", rank=1, aside="0.95")],
                ["TAU", Item("0.9", rank=2, mark="†")],
                ["MAU", Item("–")],
            ],
            numeric=[False, True],
        )
    ],
    legend=["Again: `snakemake --profile local -- " + "long/" * 20 + "artefact.json`"],
)


def test_numbers_of_a_grid_stand_below_each_other_whatever_their_signs() -> None:
    lines = terminal.text(GRID).splitlines()
    at = lines.index("model        SSIM ↑")
    assert lines[at + 2 : at + 5] == [
        "SimVP [1]  **0.91**  (0.95)",
        "TAU          *0.9*†",
        "MAU             –",
    ]


def test_commands_are_never_folded() -> None:
    command = "snakemake --profile local -- " + "long/" * 20 + "artefact.json"
    assert f"`{command}`" in terminal.text(GRID)
    assert any(command in line for line in drawn(terminal.renderable(GRID, 40), 40))
