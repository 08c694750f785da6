"""The page of all datasets is what the configuration says now."""

import re
from pathlib import Path

from typer.testing import CliRunner

from stp.cli import app
from stp.inspect.page import page
from stp.plan import config

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "datasets.md"


def load():
    return config.load(ROOT / "config" / "paper.yaml")


def masked(path):
    return re.sub("[0-9]+", "#", path)


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(load()), "run: make pages"


def test_every_dataset_has_a_line_and_a_section():
    page_text = page(load())
    headings = re.findall(r"(?m)^## (.+)$", page_text)
    assert sorted(headings) == sorted(dataset.title for dataset in load().datasets.values())
    for name, dataset in load().datasets.items():
        assert f"(`{name}`)" in page_text
        for text in (*dataset.conventions.values(), *dataset.problems, dataset.licence):
            assert text in page_text
        for release in dataset.releases.values():
            for file in release.files:
                similar = [f.path for f in release.files if masked(f.path) == masked(file.path)]
                assert f"`{similar[0]}`" in page_text and f"`{similar[-1]}`" in page_text
                assert " ".join(file.instructions.split()) in page_text


def test_links_of_the_overview_lead_to_sections():
    text = page(load())
    links = re.findall(r"\]\(#([^)]+)\)", text)
    anchors = {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"(?m)^## (.+)$", text)
    }
    assert len(links) == len(load().datasets) and set(links) == anchors


def test_the_verb_writes_the_page(tmp_path):
    out = tmp_path / "datasets.md"
    given = ["list", "datasets", "--page", str(out), "--configfile", "config/paper.yaml"]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0 and out.read_text() == page(load())
