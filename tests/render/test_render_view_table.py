"""Views that are tables: all rows in the CSV file, and those of a condition on pages."""

from pathlib import Path

import numpy as np
import pytest
from asking import ask, csv_rows
from latex import complaints, needs_latex
from s2s_store import LEADS, add, s2s_store
from small_store import built
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.plan.suite import Suite, read_suites
from stp.render.tables.view_table import Layout, grid, read

VIEWS = [(name, suite) for suite in read_suites().values() for name in suite.view_tables]
HORIZON = "s2s_skill_horizon"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Climatology has an error of 1, and the squared error of ECMWF is 1 at lead time 8."""
    store = s2s_store(tmp_path_factory.mktemp("views"))
    starts = [f"day{n}" for n in range(4)]
    growing = np.tile(np.arange(1, LEADS + 1) / 8, (4, 1))
    add(store, "daily_climatology", starts, {"wrmse.pooled": np.ones((4, LEADS))})
    add(store, "ecmwf", starts, {"wrmse.pooled": growing})
    return built(store)


def called(database: Path, *arguments: str) -> str:
    done = CliRunner().invoke(
        app, ["table", *arguments, "--database", str(database)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def written(database: Path, view: str, folder: Path) -> tuple[list[dict[str, str]], str]:
    """The rows of the CSV file and the page that are written of a view."""
    out = folder / f"{view}.csv"
    called(database, view, "--out", str(out))
    assert all(out.with_suffix(kind).is_file() for kind in (".md", ".tex", ".html"))
    return csv_rows(out), out.with_suffix(".md").read_text()


def test_the_file_has_all_rows_and_the_page_sections(database: Path, tmp_path: Path) -> None:
    rows, page = written(database, HORIZON, tmp_path)
    assert len(rows) == len(ask(database, f"FROM {HORIZON}")) > 1
    (mine,) = [row for row in rows if row["side"] == "ours"]
    found = (mine["forecast"], mine["threshold"], mine["variable"])
    assert found == ("ecmwf", "RMSE >= climatology", "t850")
    assert (mine["first_lead"], mine["skilful_leads"], mine["n"]) == ("8", "7", "4")
    assert mine["earliest"] == "", "a gap is empty in the file, and a dash on the page"
    section = page.partition("## ours, s2s_control, test, RMSE >= climatology, t850")[2]
    line = "| ecmwf | chaosbench | chaosbench | 8 | 7 | – | – | 4 | no lead time has an interval |"
    assert line in section.partition("\n## ")[0]
    assert "## published, s2s_control, test, ACC \\< 0.6, z500" in page
    assert "> **Not the paper's data (synthetic data, demo protocol)" in page
    assert "- first_lead: First lead time past the threshold" in page


def test_pages_have_the_rows_that_meet_the_condition(database: Path) -> None:
    found = read(database, HORIZON, "side = 'ours' OR NULL")
    assert len(found.on_pages) == 1 < len(found.rows)
    (section,) = grid(found, Layout("Horizons", ["forecast"], "side = 'ours'"), "made").sections
    assert section.title == "ecmwf" and "forecast" not in section.columns
    numbers = dict(zip(section.columns, section.numeric, strict=True))
    assert numbers["first_lead"] and not numbers["variable"] and not numbers["earliest"]
    with pytest.raises(StpError, match="'model'"):
        grid(found, Layout("Horizons", ["model"]), "made")
    with pytest.raises(StpError, match="cannot be read"):
        read(database, HORIZON, "model = 'ecmwf'")


@pytest.mark.parametrize(("name", "suite"), VIEWS, ids=[name for name, _ in VIEWS])
def test_every_view_that_is_a_table_can_be_one_without_rows_too(
    database: Path, name: str, suite: Suite
) -> None:
    assert name in suite.views
    of = suite.view_tables[name]
    found = read(database, name, of.pages)
    assert grid(found, Layout(of.about, of.sections, of.pages), name).sections
    empty = read(database, name, "false")
    (section,) = grid(empty, Layout(of.about, of.sections, "false"), name).sections
    assert (section.rows, section.notes) == ([], ["No rows."])


@needs_latex
def test_it_compiles(database: Path, tmp_path: Path) -> None:
    written(database, HORIZON, tmp_path)
    assert complaints(tmp_path / f"{HORIZON}.tex") == []
