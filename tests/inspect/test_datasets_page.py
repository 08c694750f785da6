"""The page of all datasets is what the configuration says now."""

import re
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

from stp.cli import app
from stp.inspect.page import page
from stp.plan import config

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "datasets.md"


@cache
def load():
    return config.load(ROOT / "config" / "paper.yaml")


def masked(path):
    return re.sub("[0-9]+", "#", path)


def test_every_dataset_is_on_the_page_with_its_facts():
    page_text = page(load())
    for name, dataset in load().datasets.items():
        assert f"(`{name}`)" in page_text
        for text in (*dataset.conventions.values(), *dataset.problems, dataset.licence):
            assert text in page_text
        for release in dataset.releases.values():
            for file in release.files:
                similar = [f.path for f in release.files if masked(f.path) == masked(file.path)]
                assert f"`{similar[0]}`" in page_text and f"`{similar[-1]}`" in page_text
                assert " ".join(file.instructions.split()) in page_text


def test_the_page_is_up_to_date_and_the_verb_writes_it(tmp_path):
    out = tmp_path / "datasets.md"
    given = ["list", "datasets", "--page", str(out), "--configfile", "config/paper.yaml"]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0
    assert out.read_text() == page(load()) == PAGE.read_text(), "run: make pages"
