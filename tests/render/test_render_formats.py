"""A grid in three formats: nothing of a text is taken for a sign of the format."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from latex import latex_problems

from stp.core.errors import StpError
from stp.page.files import write_all
from stp.page.formats import html, latex, markdown
from stp.page.grid import Grid, Item, Section

NASTY = r"50% & <b> a_b {x} $y$ #1 ~ ^ \ | * [z] `"

GRID = Grid(
    name="long_term",
    title="Table of A & B",
    intro=["Values of `csi.at_16` are means."],
    warnings=["NOT COMPARABLE with anything."],
    sections=[
        Section(
            title="KITTI -> Caltech_x",
            columns=["model", "SSIM ↑", "notes"],
            rows=[
                ["SimVP", Item("0.91", rank=1, aside="0.95; -0.04"), NASTY],
                [Item("ConvLSTM", mark="1"), Item("0.90", rank=2, mark="†"), "|"],
                ["*starred", Item("–"), ""],
            ],
            numeric=[False, True, False],
            intro=["Source: synthetic."],
            notes=["1: one seed is missing"],
        )
    ],
    legend=["SSIM ↑: `ssim.range2`, higher is better"],
    made_from="Made from results/results.duckdb.",
)


def test_markdown_marks_the_best_and_the_second_best() -> None:
    page = markdown.text(GRID)
    assert "| model | SSIM ↑ | notes |\n| --- | ---: | --- |" in page
    assert "| SimVP | **0.91** (0.95; -0.04) |" in page
    assert "| ConvLSTM [1] | *0.90*† |" in page
    assert "Values of `csi.at_16` are means." in page
    assert "> **NOT COMPARABLE with anything.**" in page


def test_markdown_keeps_its_columns_whatever_the_texts_are() -> None:
    lines = [line for line in markdown.text(GRID).splitlines() if line.startswith("| ")]
    # A bar ends a cell unless a backslash, itself not escaped, stands before it.
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines} == {4}
    assert r"a_b" in lines[2] and r"\*starred" in lines[4]


def test_latex_has_nothing_that_stops_a_compiler() -> None:
    assert latex_problems(latex.text(GRID)) == []


def test_latex_shows_what_stands_out() -> None:
    source = latex.text(GRID)
    assert r"model & \multicolumn{2}{c}{SSIM $\uparrow$} & notes \\" in source
    assert r"\textbf{0.91} & (0.95; -0.04)" in source
    assert r"\underline{0.90}\textsuperscript{\textdagger{}} &  &" in source
    assert r"\label{tab:long-term-kitti-caltech-x}" in source
    assert "% Made from results/results.duckdb.\n" in source
    assert r"\caption{Table of A \& B: KITTI -\textgreater{} Caltech\_x." in source
    assert r"\texttt{csi.\allowbreak{}at\_\allowbreak{}16}" in source


class Reader(HTMLParser):
    """Collects elements, and complains of any that is not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cells.append("")
        if tag != "meta":
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and {"td", "th"} & set(self.stack):
            self.cells[-1] += data


def test_html_is_one_file_for_everybody() -> None:
    page = html.text(GRID)
    reader = Reader()
    reader.feed(page)
    assert reader.stack == []
    tags = [tag for tag, _ in reader.seen]
    assert not {"script", "link", "img", "iframe"} & set(tags)
    assert "url(" not in page and "@import" not in page
    assert tags.count("caption") == 1
    scopes = [attributes.get("scope") for tag, attributes in reader.seen if tag == "th"]
    assert scopes == ["col"] * 3 + ["row"] * 3
    assert NASTY in reader.cells
    assert {"strong", "em", "sup"} <= set(tags)


def test_what_stands_for_all_is_put_in_place_last(tmp_path: Path) -> None:
    """A folder in the place of the last file keeps the first from being replaced."""
    first, last = tmp_path / "a.csv", tmp_path / "a.md"
    first.write_text("old")
    last.mkdir()
    with pytest.raises(StpError, match=r"a\.md"):
        write_all({first: "new", last: "new"})
    assert first.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.md"]
