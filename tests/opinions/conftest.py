"""A small database with known answers, prepared once."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from opinion_files import SMALL, prepare

from stp.core.job import report_nothing
from stp.datasets.pvqa import generator

sys.path[:0] = [str(Path(__file__).parents[1] / room) for room in ("collect", "metrics")]


@pytest.fixture(scope="session")
def opinions(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """Where raw and prepared files of the database lie, for all workers; not to be changed."""

    def make(folder: Path) -> None:
        (folder / "raw").mkdir()
        generator.generate(folder / "raw", SMALL, report_nothing)
        receipt = prepare(folder / "raw", folder / "data", mos="ratings")
        (folder / "data" / "extras.json").write_text(json.dumps(receipt))

    return made_once("opinions", make)


@pytest.fixture(scope="session")
def raw(opinions: Path) -> Path:
    """Raw files of 60 videos of 64 x 64 pixels, by 40 raters of whom 3 answer at random."""
    return opinions / "raw"


@pytest.fixture(scope="session")
def data(opinions: Path) -> Path:
    """The same, prepared from the ratings."""
    return opinions / "data"
