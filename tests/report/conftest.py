"""Makes small stores importable, and one that all tests of the report share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import asking
import pytest


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """results.duckdb of a small store; not to be changed."""
    from report_store import make_store

    return make_store(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """results.duckdb of a store with something for every chart, its page beside it."""
    from curve_store import curve_store

    from stp.report.build import write_report

    database = curve_store(tmp_path_factory.mktemp("curves"))
    write_report(database, database.with_name("index.html"))
    return database


@pytest.fixture(scope="session")
def ask(curves: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """What that store answers."""
    return partial(asking.ask, curves)
