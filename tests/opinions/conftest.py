"""A small database with known answers, prepared once."""

import json
import sys
from pathlib import Path

import pytest
from opinion_files import SMALL, prepare
from rating_study import Study

from stp.core.job import silent
from stp.fetch.generators import pvqa as generator

sys.path[:0] = [str(Path(__file__).parents[1] / room) for room in ("collect", "metrics")]


@pytest.fixture(scope="session")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw files of 60 videos of 64 x 64 pixels, by 40 raters of whom 3 answer at random."""
    folder = tmp_path_factory.mktemp("opinions") / "raw"
    folder.mkdir()
    generator.generate(folder, SMALL, silent)
    return folder


@pytest.fixture(scope="session")
def data(raw: Path) -> Path:
    """The same, prepared from the ratings."""
    out = raw.parent / "data"
    receipt = prepare(raw, out, mos="ratings")
    (out / "extras.json").write_text(json.dumps(receipt))
    return out


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of ratings with its pages; not to be changed."""
    return Study(tmp_path_factory.mktemp("ratings"))
