"""docs/metrics.md is what the configuration says."""

from pathlib import Path

import pytest

from stp.plan import config
from stp.render.tables.metrics_page import page

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def paper() -> config.Config:
    return config.load(ROOT / "config" / "paper.yaml")


def test_the_page_is_up_to_date(paper):
    expected = (ROOT / "docs" / "metrics.md").read_text()
    assert page(paper) == expected, "run `stp list metrics --page docs/metrics.md`"
