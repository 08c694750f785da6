"""docs/training.md, followed literally: a loss, a schedule and a callback, one file each."""

import json
import re

import pandas as pd
import pytest
from checkout import ROOT, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="own")]
PAGE = (ROOT / "docs" / "training.md").read_text()
FILES = dict(re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)[1].strip().splitlines()


@pytest.fixture(scope="module")
def copy(tiny, tmp_path_factory) -> Checkout:
    """A checkout with the files of the page, after its commands."""
    copy = Checkout.beside(tiny, tmp_path_factory.mktemp("parts"))
    copy.forget("convlstm")
    for name, text in FILES.items():
        assert not (copy.folder / name).exists()
        (copy.folder / name).write_text(text)
    for command in COMMANDS:
        copy.succeed(*command.split())
    return copy


def plan(copy: Checkout) -> str:
    """Fingerprints of all that is planned for the demo."""
    code = (
        "from stp.plan.cells import Plan; from pathlib import Path\n"
        "for scale in ('mine', 'demo'):\n"
        "    for path in Plan.load(Path(f'config/{scale}.yaml')).artefacts: print(scale, path)"
    )
    return copy.run("python", "-c", code).stdout


def test_the_page_adds_one_file_of_each_kind():
    assert [name.split("/")[-2] for name in FILES] == [
        "losses",
        "schedules",
        "callbacks",
        "config",
    ]


def test_they_do_what_they_say(copy):
    (folder,) = (copy.store / "models" / "enso" / "convlstm").glob("*/*/*")
    history = pd.read_parquet(folder / "history.parquet")
    extras = json.loads((folder / "artefact.json").read_text())["extras"]
    assert extras["ended_early"].startswith("a weight of")  # after the first of five epochs
    assert len(history) == 1
    steps = extras["steps"]
    last_of_epoch = extras["steps_per_epoch"] - 1
    assert history["lr"].item() == pytest.approx(1e-3 / 10 ** (last_of_epoch * 3 // steps))


def test_each_is_part_of_what_names_it_and_of_nothing_else(copy):
    before = plan(copy)
    for kind in ("losses/log_cosh", "schedules/step_decay", "callbacks/largest_weight"):
        path = copy.folder / "stp" / "train" / f"{kind}.py"
        path.write_text(path.read_text() + "\nMORE = 1\n")
        after = plan(copy)
        changed = set(after.splitlines()) - set(before.splitlines())
        assert changed and all(line.startswith("mine ") for line in changed)
        assert not any("persistence" in line or "/data/" in line for line in changed)
        before = after
