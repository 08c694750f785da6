"""docs/own_models.md, followed to the letter: a model that is one file and one entry."""

import re
from collections import Counter
from pathlib import Path

import pytest
from asking import csv_rows
from checkout import ROOT, TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="own")]
PAGE = (ROOT / "docs" / "own_models.md").read_text()
FILES = dict(re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL))
MODEL, ENTRY, SCALE, TEST = FILES
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.strip().splitlines()
]
STAGES = ("train", "predict_short_term", "score_short_term")


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a checkout but what runs leave in it."""
    made = {"results", ".snakemake", ".pytest_cache", "__pycache__"}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not made & set(path.relative_to(folder).parts)
    }


@pytest.fixture(scope="module")
def clean(tiny, tmp_path_factory) -> Checkout:
    """A checkout; the raw files of the page's scale are there."""
    return Checkout.beside(tiny, tmp_path_factory.mktemp("own-model"))


@pytest.fixture(scope="module")
def before(clean) -> dict[str, bytes]:
    """What is in it."""
    return contents(clean.folder)


@pytest.fixture(scope="module")
def copy(clean, before) -> Checkout:
    """The checkout, with the files of the page."""
    for name, text in FILES.items():
        assert name not in before
        (clean.folder / name).write_text(text)
    return clean


@pytest.fixture(scope="module")
def printed(copy) -> dict[str, str]:
    """What each command of the page printed."""
    return {command: copy.succeed("bash", "-c", command, STP_RAW_MIRROR="") for command in COMMANDS}


def planned(copy: Checkout) -> Counter[str]:
    """Jobs that a change reaches; the table is made of them anew."""
    last = Counter(["collect_short_term", "render_short_term"])
    return copy.planned("--configfile", SCALE) - last


def test_the_page_adds_one_file_one_entry_a_scale_and_a_test():
    folders = [str(Path(name).parent) for name in FILES]
    assert folders == ["stp/models", "config/models", "config", "tests/models"]
    assert Path(MODEL).stem == Path(ENTRY).stem


def test_the_table_has_the_model_beside_persistence(copy, printed):
    rows = {row["model"]: row for row in csv_rows(copy.folder / TABLE)}
    assert list(rows) == ["Persistence", "Conv3D"]
    assert {row["dataset"] for row in rows.values()} == {"Moving-MNIST"}
    assert float(rows["Conv3D"]["PSNR"]) > float(rows["Persistence"]["PSNR"])


def test_the_commands_show_what_the_page_says(printed):
    def of(part: str) -> str:
        (text,) = (text for command, text in printed.items() if part in command)
        return text

    assert "[6/6]" in of("stp status")  # data; forecasts and scores of two models, one trained
    assert len(re.findall(r"^conv3d +\d+ +[\d.]+$", of("stp query"), re.MULTILINE)) == 10
    assert "module stp.models.conv3d changed: Model._following" in of("stp why")
    assert " passed" in of("pytest")


def test_nothing_else_was_touched(copy, before, printed):
    now = contents(copy.folder)
    assert {name for name in now if now[name] != before.get(name)} == set(FILES)
    assert set(before) <= set(now)


def test_an_edit_runs_the_cells_of_this_model_again(copy, printed):
    mine = Counter(f"{stage} conv3d" for stage in STAGES)
    assert planned(copy) == mine, "after the edit of the page"
    copy.edit(MODEL, "F.relu", "F.silu")
    assert planned(copy) == mine, "after another one"
    (copy.folder / MODEL).write_text(FILES[MODEL].replace("forecast.", "forecast. A comment."))
    assert planned(copy) == Counter(), "going back finds the results"
