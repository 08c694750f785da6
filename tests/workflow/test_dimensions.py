"""Several dimensions in one scale: each with its own table, and none waits for another."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from asking import ask
from checkout import TABLE, Checkout

pytestmark = pytest.mark.slow
LONG_TERM = "results/tables/long_term.csv"
DATABASE = "results/results.duckdb"


@pytest.fixture
def checkout(tiny: Checkout, tmp_path: Path) -> Checkout:
    """A checkout whose tiny scale asks for long-term prediction as well; its data are there."""
    checkout = Checkout.beside(tiny, tmp_path)
    for model in ("persistence", "climatology"):
        checkout.forget(model)
    path = checkout.folder / "tests/workflow/tiny.yaml"
    scale = yaml.safe_load(path.read_text())
    scale["dimensions"] = {
        "short_term": {"models": ["persistence", "climatology"], "datasets": ["enso"]},
        "long_term": {"models": ["persistence"], "cells": [{"trained_on": "enso"}]},
    }
    path.write_text(yaml.safe_dump(scale))
    return checkout


def make(checkout: Checkout, *targets: str) -> str:
    """Ask for targets; return what was printed."""
    return checkout.make(targets=targets)


def held(checkout: Checkout) -> list[str]:
    """The dimensions in the database."""
    found = ask(checkout.folder / DATABASE, "SELECT DISTINCT dimension FROM cells ORDER BY ALL")
    return [name for (name,) in found]


@pytest.mark.long(part="kinds")
def test_tables_are_made_one_by_one_and_the_database_holds_them_all(checkout: Checkout):
    before = checkout.receipts()
    make(checkout, LONG_TERM)
    kinds = Counter(path.partition("/")[0] for path in checkout.receipts().keys() - before.keys())
    assert kinds == {"predictions": 1, "scores": 1}, "the other table's cells must wait"
    assert held(checkout) == ["long_term"]

    make(checkout, TABLE)
    assert held(checkout) == ["long_term", "short_term"]
    times = [(checkout.folder / name).stat().st_mtime_ns for name in (LONG_TERM, TABLE)]
    make(checkout, LONG_TERM, TABLE)
    after = [(checkout.folder / name).stat().st_mtime_ns for name in (LONG_TERM, TABLE)]
    assert after == times, "a table is not made again because another one was"

    (checkout.folder / DATABASE).unlink()
    make(checkout, DATABASE)
    assert held(checkout) == ["long_term", "short_term"]


def test_a_table_that_a_scale_does_not_have_is_refused(checkout: Checkout):
    words = ("run", "robustness", "--scale", "tests/workflow/tiny.yaml", "--", "-n")
    done = checkout.run("stp", *words)
    assert done.returncode == 1 and "robustness" in done.stdout
    assert "Exception" not in done.stdout and ".py" not in done.stdout


def test_mistakes_are_named_before_anything_runs(checkout: Checkout):
    before = checkout.receipts()
    done = checkout.snakemake(targets=("results/tables/short_tern.csv",))
    assert done.returncode and "results/tables/short_tern.csv" in done.stdout
    path = checkout.folder / "tests/workflow/tiny.yaml"
    path.write_text(path.read_text().replace("climatology", "climatologie"))
    done = checkout.snakemake(targets=(TABLE,))
    assert done.returncode and "climatology" in done.stdout
    assert "Traceback" not in done.stdout and ".py" not in done.stdout
    assert checkout.receipts() == before and not (checkout.folder / "results/tiny/logs").exists()
