"""`stp list datasets` and `stp draw clips` on tracks of people: counts and reasons."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from stp.cli import app
from stp.inspect.report import as_json, describe, describe_prepared, lines
from stp.plan.cells import Plan
from stp.plan.manifests import _steps
from stp.run import runner

SCALE = {
    "scale": "small", "suite": "atlas", "dimensions": {}, "prepared": ["hall"],
    "datasets": {"hall": {
        "title": "Hall", "kind": "tracks", "context": 4, "horizon": 4, "reader": "tracks",
        "prepare": {
            "columns": {"frame": "frame", "person": "id", "x": "x", "y": "y"}, "dt": 0.4,
            "goals": "goals.txt", "calibration": 0.5, "teleports": "exclude",
        },
        "release": "own",
        "releases": {"own": {"source": "own", "files": [
            {"path": "hall.csv"}, {"path": "goals.txt"}
        ]}},
    }},
}  # fmt: skip


@pytest.fixture
def scale(tmp_path, monkeypatch) -> Path:
    """A scale file: two people for 40 steps, then two for 20, one of whom jumps."""
    for name in ("store", "raw"):
        monkeypatch.setenv(f"STP_{name.upper()}_DIR", str(tmp_path / name))
    monkeypatch.delenv("STP_RAW_MIRROR", raising=False)
    (tmp_path / "raw").mkdir()
    rows = [(n, p, 0.4 * n, p) for n in range(40) for p in (1, 2)]
    rows += [
        (n, p, 0.4 * n + 40 * (p == 5) * (n > 70), p) for n in range(60, 80) for p in (3, 4, 5)
    ]
    np.savetxt(
        tmp_path / "raw" / "hall.csv", sorted(rows), fmt="%g", delimiter=",",
        header="frame,id,x,y", comments="",
    )  # fmt: skip
    (tmp_path / "raw" / "goals.txt").write_text("1 2\n0 152397.12\n")
    (tmp_path / "scale.yaml").write_text(yaml.safe_dump(SCALE))
    return tmp_path / "scale.yaml"


def prepare(scale: Path) -> Plan:
    plan = Plan.load(scale)
    runner.fetch(plan, plan.raw("hall"))
    for artefact in plan.prepared_data:
        runner.make(plan, artefact)
    return plan


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(words), env={"COLUMNS": "160"})
    return found.exit_code, found.output


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [
        ({"dt": 0.4}, 0.4),
        ({"fps": 25, "step": 10}, 0.4),
        ({"fps": 25, "step": 5, "decimate": 4}, 0.8),
        ({"dt": 0.4, "step": 10}, 0.4),
    ],
)
def test_seconds_of_a_step_are_those_of_the_scenarios(rate, seconds):
    given = yaml.safe_load(yaml.safe_dump(SCALE))
    options = given["datasets"]["hall"]["prepare"]
    del options["dt"]
    options |= rate
    assert _steps(Plan.load(given), ["hall"]) == {"hall": seconds}


def test_before_it_is_prepared(scale):
    code, text = run("list", "datasets", "hall", "--configfile", str(scale))
    assert code == 0 and "stp prepare hall" in text
    failed = CliRunner().invoke(app, ["draw", "clips", "hall", "--configfile", str(scale)])
    assert failed.exit_code == 1 and "hall" in str(failed.exception)


def test_what_is_in_it_and_what_is_left_out_is_told_and_drawn(scale, tmp_path, monkeypatch):
    plan = prepare(scale)
    monkeypatch.chdir(tmp_path)
    code, text = run("draw", "clips", "hall", "--configfile", str(scale))
    assert code == 0 and "results/clips/hall.png\n" in text
    assert (tmp_path / "results/clips/hall.png").read_bytes().startswith(b"\x89PNG")
    for said in (
        "120 detections of 4 people in 32 s",
        "0 obstacles",
        "1 goals",
        "hall.csv: person 5 ",
        "(0, 152397)",
        "2 (50.0 %)",
    ):
        assert said in text
    code, text = run("list", "datasets", "hall", "--configfile", str(scale), "--format", "json")
    told = json.loads(text)
    by_split = {row["split"]: row["prepared"] for row in told["counts"]}
    # 60 rows are for calibration: 30 steps of two people; then 10 steps, and 20 steps of two others
    assert by_split["atlas-paper-train"] == 30 - 8 + 1
    assert "strict-train" not in by_split  # the two are in the test
    assert by_split["strict"] == (10 - 8 + 1) + (20 - 8 + 1)
    for about in told["tracks"]["hall"]["scenarios"]["atlas-paper"].values():
        assert about["scenarios"] + sum(about["left_out"].values()) == about["moments"]
    counts, leaks = describe(plan, ["hall"], leakage=True)
    written = "\n".join(lines(plan, counts, leaks, 150))
    assert "episode" in written and as_json(plan, counts, leaks)["leakage"]["hall"]["reason"]
    assert "people" in describe_prepared(plan) and "4 -> 4" in describe_prepared(plan)
