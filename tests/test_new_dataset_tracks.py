"""`stp new-dataset` on detections of people: from a CSV to scores, and the guesses on the way."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from stp.core.errors import StpError
from stp.inspect.descriptions import Leakage
from stp.inspect.new_dataset import new_dataset
from stp.inspect.track_columns import guess_columns
from stp.inspect.tracks import lines
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.run import runner
from stp.tracks import prepared

PEOPLE, STEPS = 24, 40
WEIGHTS = np.array([0.000044, 0.000640, 0.005909, 0.034963, 0.132636, 0.322628, 0.503179])
"""Of seven velocities, as the released code of Atlas computes them."""


def walks(seconds: float = 0.4) -> pd.DataFrame:
    """Pairs that walk for 16 s, one pair after the other; frames of 1/25 s, metres."""
    random = np.random.default_rng(0)
    rows = []
    for person in range(PEOPLE):
        begin = (person // 2) * (STEPS + 10)
        velocity = np.array([1.2 * (-1) ** person, random.normal(0, 0.2)])
        turn = 0.3 * np.sin(np.arange(STEPS) / 6)
        for n in range(STEPS):
            x, y = velocity * seconds * n + (0, person % 2 + turn[n])
            rows.append((round((begin + n) * seconds * 25), f"p{person}", x, y))
    return pd.DataFrame(sorted(rows), columns=["frame", "id", "x", "y"])


@pytest.fixture
def facts(tmp_path, monkeypatch) -> Path:
    """A copy of config/, and folders of its own."""
    for name, folder in (("STP_STORE_DIR", "store"), ("STP_RAW_DIR", "raw")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.delenv("STP_RAW_MIRROR", raising=False)
    shutil.copytree(CONFIG_FOLDER, tmp_path / "config")
    monkeypatch.setattr(config, "CONFIG_FOLDER", tmp_path / "config")
    (tmp_path / "data").mkdir()
    return tmp_path / "config"


def scored(plan: Plan) -> float:
    """The mean displacement of the only cell."""
    runner.fetch(plan, plan.raw("hall"))
    for artefact in plan.artefacts.values():
        runner.make(plan, artefact)
    (cell,) = plan.cells
    rows = pq.read_table(plan.store / cell.scores.folder / "scores.parquet").to_pylist()
    return next(
        row["value"] for row in rows
        if row["lead"] is None and row["statistic"] == "mean"
        and row["convention"] == "displacement.by_scenario"
    )  # fmt: skip


def test_from_a_csv_to_scores(facts, tmp_path):
    """The draft is used as it is; the score is that of a loop over scenarios."""
    walks().to_csv(tmp_path / "data" / "hall.csv", index=False)
    (tmp_path / "data" / "goals.txt").write_text("20 0\n-20 0\n")
    printed = "\n".join(new_dataset(tmp_path / "data" / "hall.csv", None, facts))
    assert "snakemake --profile local" in printed and "atlas_transfer.csv" in printed
    written = yaml.safe_load((facts / "datasets" / "hall.yaml").read_text())
    assert written["prepare"] == {
        "columns": {"frame": "frame", "person": "id", "x": "x", "y": "y"},
        "units": "m", "fps": 25.0, "step": 10, "goals": "goals.txt",
    }  # fmt: skip
    assert (written["context"], written["horizon"]) == (8, 12)

    scale = yaml.safe_load((facts / "hall.yaml").read_text())
    assert scale["dimensions"]["atlas_transfer"] == {
        "models": ["constant_velocity", "social_force"],
        "cells": [{"trained_on": "hall", "train_subset": "strict", "subset": "strict"}],
    }, "both models are evaluated alike, so that they can be compared"
    scale["dimensions"]["atlas_transfer"]["models"] = ["constant_velocity"]
    plan = Plan(config.load(scale, facts))
    ours = scored(plan)
    place = prepared.read(plan.store / plan.data("hall").folder)
    receipt = json.loads((plan.store / plan.data("hall").receipt).read_text())["extras"]
    assert place.goals.tolist() == [[20, 0], [-20, 0]] and receipt["people"] == PEOPLE
    found = place.scenarios("test", "strict", 8, 12)
    assert receipt["scenarios"]["strict"]["test"]["scenarios"] == len(found) > 20
    means = []
    for scene in range(len(found)):
        errors = []
        for person in range(found.present[scene].sum()):
            seen = found.observed[scene, person]
            step = WEIGHTS @ np.diff(seen, axis=0)
            for lead in range(12):
                guess = seen[-1] + step * (lead + 1)
                errors.append(np.linalg.norm(guess - found.future[scene, person, lead]))
        means.append(np.mean(errors))
    assert ours == pytest.approx(np.mean(means), rel=1e-4)
    described = next(lines(plan, "hall", Leakage([], [], ""), 120))
    assert "960 " in described and "24 people" in described


NINE_LINES = """\
title: Hall
kind: tracks
context: 8
horizon: 12
metrics: [displacement.by_scenario]
reader: tracks
prepare: {columns: {time: t, person: i, x: x_mm, y: y_mm}, units: mm, dt: 0.4, map: {discs: d.txt}}
release: own
releases: {own: {source: own, files: [{path: hall.parquet}, {path: d.txt}]}}
"""


def test_nine_lines_are_enough(facts, tmp_path):
    """The same people in millimetres, with seconds: the same score."""
    table = walks()
    seconds = pd.DataFrame({"t": table.frame / 25, "i": table.id})
    seconds["x_mm"], seconds["y_mm"] = 1000 * table.x, 1000 * table.y
    seconds.to_parquet(tmp_path / "data" / "hall.parquet")
    (tmp_path / "data" / "d.txt").write_text("0 30 1\n")
    scale = {
        "scale": "hall", "suite": "atlas", "paths": {"mirror": str(tmp_path / "data")},
        "dimensions": {"atlas_transfer": {"models": ["constant_velocity"], "cells": [
            {"trained_on": "hall", "subset": "strict", "models": ["constant_velocity"]}
        ]}},
    }  # fmt: skip
    in_mm = scored(Plan(config.load({**scale, "datasets": {"hall": yaml.safe_load(NINE_LINES)}})))
    table.to_csv(tmp_path / "data" / "hall.csv", index=False)
    metres = yaml.safe_load(NINE_LINES)
    metres["prepare"] = {
        "columns": {"frame": "frame", "person": "id", "x": "x", "y": "y"}, "fps": 25, "step": 10
    }  # fmt: skip
    metres |= {
        "release": "m",
        "releases": {"m": {"source": "own", "files": [{"path": "hall.csv"}]}},
    }
    in_metres = scored(Plan(config.load({**scale, "datasets": {"hall": metres}})))
    assert in_mm == pytest.approx(in_metres, abs=1e-6)


@pytest.mark.parametrize(
    ("header", "columns", "unit"),
    [
        ("frame,id,x,y", {"frame": "frame", "person": "id", "x": "x", "y": "y"}, None),
        (
            "Timestamp,Track ID,x_mm,y_mm,speed",
            {"time": "Timestamp", "person": "Track ID", "x": "x_mm", "y": "y_mm"},
            "mm",
        ),
        (
            "agent_id,frame_id,pos_x,pos_y",
            {"frame": "frame_id", "person": "agent_id", "x": "pos_x", "y": "pos_y"},
            None,
        ),
    ],
)
def test_guessed_columns(tmp_path, header, columns, unit):
    (tmp_path / "a.csv").write_text(header + "\n")
    guessed = guess_columns(tmp_path / "a.csv")
    assert (guessed.columns, guessed.length) == (columns, unit)


def test_centimetres_faster_frames_and_a_jump_are_noticed(facts, tmp_path):
    """25 annotations a second, of which every tenth is enough; one person jumps."""
    table = walks(seconds=0.04)
    table[["x", "y"]] *= 100
    who = table.index[table.id == "p3"]
    table.loc[who[20:], "x"] += 2000
    table.to_csv(tmp_path / "data" / "hall.csv", index=False)
    written = "\n".join(new_dataset(tmp_path / "data" / "hall.csv", "fast", facts))
    prepare = yaml.safe_load((facts / "datasets" / "fast.yaml").read_text())["prepare"]
    assert prepare["units"] == "cm" and prepare["decimate"] == 10 and "step" not in prepare
    assert prepare["teleports"] == "exclude"
    assert "teleports: " in written


def drafted(facts, table, name, **options):
    """The dataset that is drafted of a table, and what is printed."""
    file = facts.parent / "data" / f"{name}.csv"
    table.to_csv(file, index=False)
    printed = "\n".join(new_dataset(file, None, facts, **options))
    return yaml.safe_load((facts / "datasets" / f"{name}.yaml").read_text()), printed


def test_consecutive_frames_at_two_and_a_half_a_second_become_a_score(facts):
    """Frames 0, 1, 2, ... of 0.4 s: at 25 a second people would walk at 12 m/s."""
    table = walks()
    table.frame //= 10
    entry, printed = drafted(facts, table, "hall")
    assert entry["prepare"]["fps"] == 2.5 and "teleports" not in entry["prepare"]
    assert "decimate" not in entry["prepare"] and "walk at 1.2 m/s" in printed
    given, printed = drafted(facts, table, "given", fps=2.5)
    assert given["prepare"] == entry["prepare"] and "fps" not in printed
    scale = yaml.safe_load((facts / "hall.yaml").read_text())
    wanted = scale["dimensions"]["atlas_transfer"]
    wanted |= {"models": ["constant_velocity"], "cells": wanted["cells"][:1]}
    assert 0 < scored(Plan(config.load(scale, facts))) < 2


def test_where_strict_leaves_no_scenario_the_relaxed_protocol_is_tried(facts):
    """Somebody new is seen for one position at every step: nobody is ever there alone."""
    table = walks()
    steps = sorted(set(table.frame))
    passers = pd.DataFrame({"frame": steps, "id": [f"q{n}" for n in range(len(steps))]})
    passers["x"], passers["y"] = 50.0, 50.0
    _, printed = drafted(facts, pd.concat([table, passers]).sort_values("frame"), "busy")
    assert "strict-relaxed" in printed
    cells = yaml.safe_load((facts / "busy.yaml").read_text())["dimensions"]["atlas_transfer"]
    assert {cell["subset"] for cell in cells["cells"]} == {"strict-relaxed"}


def test_too_few_episodes_are_told_with_what_would_give_an_interval(facts):
    few = walks()
    few = few[few.id.isin([f"p{n}" for n in range(6)])]
    _, printed = drafted(facts, few, "few")
    assert "No confidence interval" in printed
    assert "# No confidence interval" in (facts / "datasets" / "few.yaml").read_text()
    _, printed = drafted(facts, walks(), "hall")
    episodes = int(re.search(r"test: \d+ scenarios of (\d+) episodes", printed)[1])
    assert ("No confidence interval" in printed) == (episodes < 10)


def test_a_rate_is_for_frame_numbers_of_people_only(facts, tmp_path):
    table = walks().rename(columns={"frame": "t"})
    table.t = table.t / 25
    table.to_csv(tmp_path / "data" / "timed.csv", index=False)
    with pytest.raises(StpError, match="--fps"):
        list(new_dataset(tmp_path / "data" / "timed.csv", None, facts, fps=25))
    np.save(tmp_path / "data" / "a.npy", np.zeros((40, 8, 8)))
    with pytest.raises(StpError, match="--fps 25"):
        list(new_dataset(tmp_path / "data" / "a.npy", None, facts, fps=25))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "frame,id,x\n0,1,2\n", "frame, id, x"),
        ("a.csv", "frame,id,x,y\n0,1,2\n", "line 2"),
        ("a.csv", "frame,id,x,y\n0,1,2,3\n1,1,2,3\n", "scenario"),
        ("a.parquet", "PAR1", r"a\.parquet"),
        ("a.ndjson", "{", "line 1"),
    ],
)
def test_what_cannot_be_a_dataset_of_people(facts, tmp_path, name, text, says):
    (tmp_path / "data" / name).write_text(text)
    with pytest.raises(StpError, match=says):
        list(new_dataset(tmp_path / "data" / name, "mine", facts))
    assert not (facts / "datasets" / "mine.yaml").exists()


def test_pictures_with_a_table_beside_them_are_pictures(facts, tmp_path):
    """Only a map may lie beside detections."""
    walks().to_csv(tmp_path / "data" / "labels.csv", index=False)
    (tmp_path / "data" / "0001.png").write_bytes(b"?")
    with pytest.raises(StpError, match=r"0001\.png"):
        list(new_dataset(tmp_path / "data", "mine", facts))
