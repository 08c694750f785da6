"""docs/external.md, followed to the letter: a model that joins by its predictions alone."""

import csv
import re
from collections import Counter

import pytest
from asking import csv_rows
from checkout import ROOT, TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="own")]
PAGE = (ROOT / "docs" / "external.md").read_text()
FILES = dict(re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL))
SCALE, SCRIPT = FILES
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.strip().splitlines()
]
AGAIN = next(i for i, command in enumerate(COMMANDS) if "s/0.8/0.6/" in command)


@pytest.fixture(scope="module")
def copy(tiny, tmp_path_factory) -> Checkout:
    """A checkout, with the files of the page; the data of its scale are there."""
    checkout = Checkout.beside(tiny, tmp_path_factory.mktemp("external"))
    for name, text in FILES.items():
        (checkout.folder / name).write_text(text)
    return checkout


def follow(copy: Checkout, commands: list[str]) -> dict[str, str]:
    """Run commands of the page; returns what each printed."""
    printed = {}
    for command in commands:
        printed[command] = copy.succeed("bash", "-c", command, STP_RAW_MIRROR="")
    return printed


def rows(copy: Checkout) -> dict[str, dict[str, str]]:
    return {row["model"]: row for row in csv_rows(copy.folder / TABLE)}


@pytest.fixture(scope="module")
def first(copy) -> dict[str, str]:
    """The page up to its first table, and that table."""
    printed = follow(copy, COMMANDS[:AGAIN])
    return {**printed, "table": (copy.folder / TABLE).read_text()}


@pytest.fixture(scope="module")
def again(copy, first) -> dict[str, str]:
    """The rest."""
    return follow(copy, COMMANDS[AGAIN:])


def test_the_table_has_the_model_marked_as_external(copy, first):
    found = {row["model"]: row for row in csv.DictReader(first["table"].splitlines())}
    assert list(found) == ["Persistence", "Fade (external)"]
    fade, ours = found["Fade (external)"], found["Persistence"]
    assert float(fade["PSNR"]) > float(ours["PSNR"])  # fading pays
    assert (fade["protocol"], fade["comparable"], fade["n"]) == ("external", "NO", "12")
    assert fade["notes"].startswith("EXTERNAL: predictions made elsewhere (https://example.org/")
    assert "nothing was trained" in fade["notes"] and "EXTERNAL" not in ours["notes"]


def test_the_page_shows_the_numbers_of_its_table(first):
    for row in csv.DictReader(first["table"].splitlines()):
        (line,) = (line for line in PAGE.splitlines() if f"| {row['model']} |" in line)
        assert f"| {float(row['SSIM']):.4g} | {float(row['PSNR']):.4g} |" in line


def test_the_database_tells_imported_predictions_from_others(first):
    (printed,) = (text for command, text in first.items() if command.startswith("stp query"))
    assert re.search(r"^fade +external +True$", printed, re.MULTILINE)
    assert re.search(r"^persistence +elsewhere +False$", printed, re.MULTILINE)


def test_a_newer_submission_makes_its_own_cells_again_and_keeps_the_older(copy, first, again):
    old = {row["model"]: row for row in csv.DictReader(first["table"].splitlines())}
    new = rows(copy)
    assert new["Fade (external)"]["PSNR"] != old["Fade (external)"]["PSNR"]
    assert new["Persistence"] == old["Persistence"]
    ran = again[COMMANDS[-1]]
    done = Counter(re.findall(r"\] (\w+) +(\w+) on moving_mnist .*: done in", ran))
    assert done == Counter({("predict", "fade"): 1, ("score", "fade"): 1})
    kept = [p for p in copy.receipts() if "/fade/" in p and p.startswith("predictions/")]
    assert len(kept) == 2
    assert copy.planned("--configfile", SCALE) == Counter()


def test_the_model_has_an_entry_and_no_code(copy, first):
    entry = (copy.folder / "config" / "models" / "fade.yaml").read_text()
    assert "fit: external" in entry and entry.count("- dimension:") == 1
    assert not list((copy.folder / "stp").rglob("fade*"))
