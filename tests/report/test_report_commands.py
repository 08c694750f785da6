"""All commands and queries of the report that have a Copy button are run as they are copied."""

import os
import shlex
from pathlib import Path

import duckdb
import pytest
from browser import CHROMIUM, DRIVER, Browser
from chart_page import at, opened
from checkout import ROOT, Checkout
from typer.testing import CliRunner

from stp.cli import app
from stp.report.build import write_report

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
    reason="needs chromium and chromedriver (apt-get install)",
)

COPIED = """
for (const fold of document.querySelectorAll('details')) fold.open = true;
return new Promise((done) => setTimeout(() => done(
  [...document.querySelectorAll('.code pre')].map((code) => code.textContent)), 100));
"""
SECTIONS = "return [...document.querySelectorAll('#sections a')].map((a) => a.hash.slice(1))"
BOARD = {"tested": "short_term:moving_mnist", "metric": "ssim", "convention": "ssim.range2"}


def copied(page: Path, folder: Path) -> set[str]:
    """What Copy buttons hold in all sections, and in the dialogs of numbers and of pairs."""
    texts: set[str] = set()
    with Browser(folder) as browser:
        opened(browser, page.with_name("results.duckdb"))
        for section in browser.run(SECTIONS):
            at(browser, section)
            texts.update(browser.run(COPIED))
        for section, button, filters in (
            ("leaderboards", "tbody .number", BOARD),
            ("overview", "tbody button", {"show": "missing"}),
            ("significance", ".pairs button", {"tested": "moving_mnist"}),
        ):
            at(browser, section, **filters)
            browser.run("document.querySelector(arguments[0]).click()", button)
            browser.wait_for("document.getElementById('dialog').open")
            texts.update(browser.run(COPIED))
    return texts


def test_what_is_copied_runs(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(database, tmp_path / "index.html")
    texts = copied(tmp_path / "index.html", tmp_path / "browser")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "demo").symlink_to(database.parent)
    monkeypatch.chdir(tmp_path)
    verbs = set()
    for text in sorted(texts):
        is_command = text.split()[0] in ("stp", "snakemake")
        program, *arguments = shlex.split(text) if is_command else ["SQL"]
        verbs.add(" ".join([program, *arguments[:1]]))
        if program == "stp":
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, (text, done.output, done.exception)
        elif program == "snakemake":
            checkout = Checkout(ROOT, tmp_path / "shared")
            elsewhere = ["--directory", str(tmp_path / "elsewhere")]
            planned = checkout.run(program, "-n", *arguments[:-2], *elsewhere, *arguments[-2:])
            assert planned.returncode == 0, (text, planned.stdout)
        else:
            with duckdb.connect(str(database), read_only=True) as store:
                store.execute(text).fetchall()
    expected = {"snakemake --profile", "stp compare", "stp query", "stp trace"}
    assert verbs == {"SQL", *expected}
