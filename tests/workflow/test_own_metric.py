"""docs/own_metrics.md, followed to the letter: a metric that is one file and one entry."""

import csv
import re
from collections import Counter
from dataclasses import dataclass, field

import pytest
from asking import csv_rows
from checkout import ROOT, TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="own")]
PAGE = (ROOT / "docs" / "own_metrics.md").read_text()
FILES = dict(re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL))
MODULE, ENTRY, SCALE, TEST = FILES
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.strip().splitlines()
]
FIRST, ASK, WHY, AGAIN, LEADS, ABOUT, EDIT, WHY_EDITED, PYTEST = range(len(COMMANDS))


@pytest.fixture(scope="module")
def copy(tiny, tmp_path_factory) -> Checkout:
    """A checkout with the files of the page; the raw files of its scale are there."""
    copy = Checkout.beside(tiny, tmp_path_factory.mktemp("own-metric"))
    for name, text in FILES.items():
        assert not (copy.folder / name).exists()
        (copy.folder / name).write_text(text)
    return copy


@dataclass
class Told:
    """What happened.

    Attributes:
        printed: by the commands of the page, one after the other.
        planned: jobs before the metric was asked for again.
        before, after: receipts in the store before and after they ran, with time and content.
    """

    printed: list[str] = field(default_factory=list)
    planned: Counter[str] = field(default_factory=Counter)
    before: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    after: dict[str, tuple[int, bytes]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def told(copy) -> Told:
    """The commands of the page, one after the other."""
    found = Told()
    for number, command in enumerate(COMMANDS):
        if number == AGAIN:
            found.before, found.planned = copy.receipts(), copy.planned("--configfile", SCALE)
        found.printed.append(copy.succeed("bash", "-c", command, STP_RAW_MIRROR=""))
        found.after = copy.receipts()
    return found


def test_the_page_adds_one_file_one_entry_a_scale_and_a_test():
    assert list(FILES) == [
        "stp/metrics/sharpness.py",
        "config/conventions/sharpness.yaml",
        "config/sharp.yaml",
        "tests/metrics/test_metric_sharpness.py",
    ]
    assert COMMANDS[FIRST] == COMMANDS[AGAIN] and TABLE in COMMANDS[FIRST]


def test_only_scores_of_video_are_made_again(told):
    again = Counter({f"score_short_term {model}": 1 for model in ("persistence", "context_mean")})
    assert told.planned - Counter(["collect_short_term", "render_short_term"]) == again
    new = set(told.after) - set(told.before)
    assert len(new) == 2 and all(path.startswith("scores/predbench/short_term/") for path in new)
    assert all("/moving_mnist/" in path for path in new)
    assert {path: told.after[path] for path in told.before} == told.before
    assert "sharpness.pooled" in told.printed[WHY] and "predict" not in told.printed[WHY]


def test_it_is_a_column_of_the_table_and_in_the_database(copy, told):
    rows = {(row["dataset"], row["model"]): row for row in csv_rows(copy.folder / TABLE)}
    sharp = {key: row["Sharpness"] for key, row in rows.items()}
    copied, mean = (sharp["Moving-MNIST", name] for name in ("Persistence", "Context mean"))
    assert 0.9 < float(copied) < 1.1 and float(mean) < 0.8
    assert sharp["ICAR-ENSO", "Persistence"] == ""
    page = (copy.folder / TABLE).with_suffix(".md").read_text()
    assert "| Sharpness → 1 |" in page and f"| **{float(copied):#.4g}**" in page
    assert (
        len(re.findall(r"^(?:persistence|context_mean) +\d+ +[\d.]+$", told.printed[LEADS], re.M))
        == 20
    )
    assert re.search(r"^Sharpness +1$", told.printed[ABOUT], re.MULTILINE)


def test_the_page_shows_what_comes_out(copy, told):
    with (copy.folder / TABLE).open(newline="") as file:
        for row in csv.DictReader(file):
            if row["dataset"] == "Moving-MNIST":
                shown = re.search(rf"\| {row['model']} \| (.*) \| (.*) \|", PAGE)
                values = [f"{float(row[name]):#.4g}" for name in ("SSIM", "Sharpness")]
                assert [text.strip("*") for text in shown.groups()] == values


def test_an_edit_is_explained_and_the_test_passes(told):
    assert "module stp.metrics.sharpness changed: _steps" in told.printed[WHY_EDITED]
    assert " passed" in told.printed[PYTEST]
