"""What this project is licensed under, and the page of licences of what it does not own."""

import tomllib
from functools import cache
from pathlib import Path

import yaml
from typer.testing import CliRunner

from stp.cli import app
from stp.inspect.licences_page import page
from stp.plan import config, weights

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "licences.md"


@cache
def text():
    return page(config.load(ROOT / "config" / "paper.yaml"), weights.read_declared_weights())


def test_the_page_is_up_to_date_and_the_verb_writes_it(tmp_path):
    out = tmp_path / "licences.md"
    done = CliRunner().invoke(
        app, ["list", "datasets", "--licences", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert out.read_text() == text() == PAGE.read_text(), "run: make pages"


def test_every_dataset_and_network_is_listed_with_what_is_known():
    facts = config.load(ROOT / "config" / "paper.yaml")
    for name, dataset in facts.datasets.items():
        line = next(line for line in text().splitlines() if f"(`{name}`)" in line)
        assert (dataset.licence or "not stated") in line
    assert all(one.title in text() for one in weights.read_declared_weights().values())
    assert "MIT (agrimgupta92/sgan)" in text()


def test_one_licence_is_named_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["license"] == cited["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()
    assert "[Apache License 2.0](LICENSE)" in (ROOT / "README.md").read_text()
