"""docs/own_data.md, followed to the letter: somebody's videos and detections, to their tables."""

import re
import shutil

import numpy as np
import own_data as made
import pytest
from asking import csv_rows
from checkout import ROOT, TABLE, Checkout

from stp.tracks import generators

pytestmark = [pytest.mark.slow, pytest.mark.long(part="own")]
PAGE = (ROOT / "docs" / "own_data.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.strip().splitlines()
]
DRAFTED, TRACKS = (i for i, line in enumerate(COMMANDS) if line.startswith("stp new-dataset"))


def follow(checkout: Checkout, commands: list[str]) -> str:
    """Run commands of the page; returns what they printed."""
    return "".join(checkout.succeed("bash", "-c", line, STP_RAW_MIRROR="") for line in commands)


def hall() -> str:
    """Detections of groups who meet six times, as CSV."""
    lines = ["frame,id,x,y"]
    for turn in range(6):
        met = generators.groups_meeting(size=2, speed=1.0 + 0.1 * turn).decimated(4)
        noise = np.random.default_rng(turn).normal(0, 0.02, met.position.shape)
        for frame, person, (x, y) in zip(met.frame, met.person, met.position + noise, strict=True):
            when, number = 1000 * turn + int(frame / 4) * 10, 10 * turn + int(person)
            lines.append(f"{when},{number},{x:.3f},{y:.3f}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    """A checkout with the table of a folder of videos, and small models."""
    folder = tmp_path_factory.mktemp("own")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    rng = np.random.default_rng(0)
    for i in range(20):
        levels = np.clip(120 + np.cumsum(rng.integers(-9, 10, 40)), 20, 220).tolist()
        made.video(folder / "billiard" / f"shot{i:02d}.mp4", levels, (16, 24), "mpeg4")
    assert "test: 6 clips in 3 clusters" in follow(checkout, COMMANDS[DRAFTED : DRAFTED + 1])
    scale = checkout.folder / "config" / "billiard.yaml"
    text = scale.read_text()
    for pattern, smaller in (
        (r"models: \[.*\]", "models: [persistence, simvpv2]"),
        (r"hid_s: 8, hid_t: 64, n_s: 4, n_t: 3", "hid_s: 4, hid_t: 8, n_s: 2, n_t: 2"),
        (r"epochs: 10", "epochs: 1"),
    ):
        text, found = re.subn(pattern, smaller, text)
        assert found == 1
    scale.write_text(text)
    follow(checkout, COMMANDS[DRAFTED + 1 : TRACKS])
    return checkout


def test_the_table(checkout):
    rows = csv_rows(checkout.folder / TABLE)
    assert [row["model"] for row in rows] == ["Persistence", "SimVPv2"]
    for row in rows:
        assert (row["source"], row["dataset"], row["n"]) == ("own", "Billiard", "6")
        assert row["comparable"] == "NO" and row["ssim.range1 published"] == ""
        assert row["notes"].startswith("own data, billiard protocol: ")
        assert float(row["mse.pixel_sum"]) > 0
    text = (checkout.folder / TABLE).with_suffix(".md").read_text()
    assert "## Billiard" in text and "NOT COMPARABLE" not in text and "ssim.range1 ↑" in text


def test_nothing_is_made_twice(checkout):
    again = checkout.snakemake("-n", config="config/billiard.yaml", STP_RAW_MIRROR="")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout


def test_the_pages_of_datasets_know_it(checkout):
    for command, expected in (
        (("stp", "list", "datasets", "billiard", "--configfile", "config/billiard.yaml"), "own"),
        (("stp", "list", "datasets", "--page", "page.md"), "page.md"),
    ):
        done = checkout.run(*command, STP_RAW_MIRROR="")
        assert done.returncode == 0 and expected in done.stdout, done.stdout
    assert "own data" in (checkout.folder / "page.md").read_text()


def test_detections_become_a_table_and_new_data_are_forecast(checkout):
    here = checkout.folder
    (here / "hall.csv").write_text(hall())
    (here / "today.csv").write_text(hall())
    (here / "new_shots").mkdir()
    shutil.copy(here.parent / "billiard" / "shot00.mp4", here / "new_shots")
    shutil.copy(here.parent / "billiard" / "shot00.mp4", here / "clip.mp4")
    follow(checkout, COMMANDS[TRACKS:])
    rows = csv_rows(here / "results/tables/atlas_transfer.csv")
    assert {row["dataset"].partition(",")[0] for row in rows} == {"Hall"}
    for name in ("new_shots/simvpv2", "today/constant_velocity", "clip/persistence"):
        assert list((here / "results/forecast" / name).glob("predictions*")), name
