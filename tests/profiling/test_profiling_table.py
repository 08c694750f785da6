"""Table 19 from measurement files, and docs/models.md."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from latex import complaints, needs_latex
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.published import COLUMNS
from stp.core.errors import StpError
from stp.page.formats import markdown
from stp.plan import config
from stp.plan.profiled_networks import describe_network, networks
from stp.profiling import page, table
from stp.profiling.published import published_complexity
from stp.run import workflow_files

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "config" / "paper.yaml"
PAGE = ROOT / "docs" / "models.md"


@pytest.fixture(scope="module")
def paper():
    return config.load(PAPER)


def measured(name, **changes):
    """What `stp profile` could have written; made-up numbers."""
    found = {
        "model": name,
        "dataset": "moving_mnist",
        "title": name,
        "size": {
            "parameters": 11_000_000,
            "evaluations_per_forecast": 251,
            "multiply_adds": {"context": 1e9, "evaluation": 10**10, "forecast": 2511 * 10**9},
        },
        "as_published": {"parameters": 54_000_000, "multiply_adds": 30 * 10**9, "how": "otherwise"},
        "speed": {
            "batch": 1,
            "evaluation": {"evaluations_per_s": 26.17, "frames_per_s": 261.7},
            "forecast": {"forecasts_per_s": 0.1, "frames_per_s": 1.0, "basis": "derived"},
        },
        "memory": {"forward_bytes": 300_000_000, "training_bytes": 900_000_000},
        "compute": {"device": "cpu", "threads": 2, "precision": {"used": "float32"}},
        "machine": {
            "host": "node7",
            "processor": "A CPU",
            "torch": "2.0",
            "busy": False,
            "other_work_cpus": 0.0,
        },
    }
    return {**found, **changes}


def write(folder, found):
    path = folder / found["model"] / "moving_mnist.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))
    return path


def rows(paper, folder):
    """The rows of what was measured."""
    return table.rows(paper, table.measurements(folder, paper))


def as_markdown(found):
    """The table to read."""
    return markdown.text(table.as_grid(found, "model_speed"))


def test_published_values_stand_beside_ours(paper, tmp_path):
    write(tmp_path, measured("mcvd"))
    found = {row.model: row for row in rows(paper, tmp_path)}
    row = found["mcvd"]
    assert (row.parameters, row.parameters_published) == (11_000_000, 54_290_000)
    assert row.parameters_difference_percent == round(100 * (54 / 54.29 - 1), 2)
    assert (row.gmacs_per_evaluation, row.gmacs_per_forecast) == (10.0, 2511.0)
    assert (row.gmacs_as_published, row.gmacs_published) == (30.0, 29.15)
    assert row.gmacs_difference_percent == round(100 * (30 / 29.15 - 1), 2)
    assert (row.evaluations_per_s_published, row.evaluations_per_s_ratio) == (261.7, 0.1)
    assert (row.forecasts_per_s, row.frames_per_s_by_forecast) == (0.1, 1.0)
    assert (row.peak_memory_forecast_mb, row.peak_memory_training_step_mb) == (300.0, 900.0)
    assert (row.host, row.device, row.precision) == ("node7", "A CPU", "float32")
    assert row.notes == "otherwise; forecasts per second: derived"


@needs_latex
def test_it_compiles(paper, tmp_path):
    write(tmp_path, measured("mcvd"))
    table.write(rows(paper, tmp_path), tmp_path / "model_speed.csv")
    assert complaints(tmp_path / "model_speed.tex") == []


def test_what_was_not_measured_is_named(paper, tmp_path):
    write(tmp_path, measured("mcvd"))
    found = rows(paper, tmp_path)
    assert [row.model for row in found] == list(published_complexity(paper)), (
        "all of them, in this order"
    )
    row = found[0]
    assert row.parameters is None and row.parameters_published == 12_090_000
    assert row.notes == "not measured: stp profile convlstm moving_mnist"
    assert "- ConvLSTM: not measured" in as_markdown(found)


def test_a_table_says_which_machine_it_is_from(paper, tmp_path):
    for name in published_complexity(paper):
        write(tmp_path, measured(name))
    text = as_markdown(rows(paper, tmp_path))
    assert (
        "Speed and memory of all models: measured on node7, A CPU, 2 threads, float32, torch 2.0, "
        "batches of 1." in text
    )
    other = {**measured("tau")["machine"], "host": "node8", "busy": True, "other_work_cpus": 2.5}
    write(tmp_path, measured("tau", machine=other))
    text = as_markdown(rows(paper, tmp_path))
    assert "Speed and memory of TAU: measured on node8" in text
    assert "**CAUTION, TAU: other work ran on this machine" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1, "every line has a cell for every column"


def test_without_a_training_step_its_memory_is_a_dash(paper, tmp_path):
    write(tmp_path, measured("tau", memory={"forward_bytes": 10**6}))
    found = rows(paper, tmp_path)
    row = next(row for row in found if row.model == "tau")
    assert row.peak_memory_training_step_mb is None and "no training step" in row.notes
    assert re.search(r"\| TAU \|.*\| 1 \| – \|$", as_markdown(found), re.MULTILINE)


@pytest.mark.parametrize("damage", ["{", "[]", '{"model": "tau"}', '{"model": 1, "dataset": 2}'])
def test_a_damaged_measurement(paper, tmp_path, damage):
    path = write(tmp_path, measured("tau"))
    path.write_text(damage)
    with pytest.raises(StpError, match=r"moving_mnist\.json") as error:
        rows(paper, tmp_path)
    assert "stp profile tau moving_mnist " in error.value.remedy
    assert f"--out {path}" in error.value.remedy


def test_the_verb_writes_the_table_and_names_gaps(tmp_path):
    write(tmp_path / "profile", measured("mcvd"))
    out = tmp_path / "tables" / "model_speed.csv"
    given = ["list", "models", "--table", str(out), "--configfile", str(PAPER)]
    given += ["--measurements", str(tmp_path / "profile")]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0 and "without ConvLSTM, E3D-LSTM" in done.stderr
    found = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(found) == 12 and found[-1]["title"] == "MCVD"
    assert found[-1]["parameters"] == "11000000"
    assert out.with_suffix(".md").read_text().startswith("# Size, speed and memory of models")


@pytest.mark.slow
@pytest.mark.long(part="docs")
def test_sizes_are_counted_without_measuring(paper, tmp_path):
    """Parameters to the printed digits, multiply-adds within 1 %; no column of speeds."""
    out = tmp_path / "model_size.csv"
    given = ["check", "facts", "predbench", "--table", str(out), "--configfile", str(PAPER)]
    CliRunner().invoke(app, given, catch_exceptions=False)
    found = {row["model"]: row for row in csv.DictReader(io.StringIO(out.read_text()))}
    assert (
        list(found) == list(published_complexity(paper)) and "evaluations_per_s" not in found["tau"]
    )
    assert found["tau"]["parameters"] == "44656001" and found["mcvd"]["gmacs_published"] == "29.15"
    for row in found.values():
        assert abs(float(row["parameters_difference_percent"])) < 0.03
        assert abs(float(row["gmacs_difference_percent"])) < 1
    for kind in ("md", "tex", "html"):
        assert "MCVD" in out.with_suffix(f".{kind}").read_text()


def test_a_published_table_with_gaps(paper, tmp_path):
    file = tmp_path / "published.csv"
    file.write_text(f"{','.join(COLUMNS)}\nT19_complexity,,ConvLSTM,,,,,,,params,12.09,12.09M,\n")
    with pytest.raises(StpError, match="T19_complexity has 'ConvLSTM' with params"):
        published_complexity(paper, file)


def test_a_measurement_is_made_again_when_its_network_changes(paper, tmp_path, monkeypatch):
    path = workflow_files.write_profile_input("tau", "moving_mnist", results=tmp_path)
    assert path.read_text() == describe_network(paper, "tau", "moving_mnist")
    before = path.stat().st_mtime_ns
    workflow_files.write_profile_input("tau", "moving_mnist", results=tmp_path)
    assert path.stat().st_mtime_ns == before, "the same text"
    other = paper.models["tau"].model_copy(update={"options": {"hid_s": 32}})
    changed = paper.model_copy(update={"models": {**paper.models, "tau": other}})
    assert describe_network(changed, "tau", "moving_mnist") != path.read_text()
    assert describe_network(changed, "simvpv1", "kth") == describe_network(paper, "simvpv1", "kth")


def test_every_network_has_notes(paper):
    known = page.notes(paper)
    assert set(known) == set(networks(paper))
    assert {name for name, about in known.items() if about.table19} == set(
        published_complexity(paper)
    )


@pytest.mark.slow
@pytest.mark.long(part="docs")
def test_the_page_is_up_to_date(paper):
    assert PAGE.read_text() == page.page(paper), "run: make pages"


def test_one_model_in_detail():
    given = ["list", "models", "small_convnet", "--configfile", str(PAPER)]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0
    assert re.search(r"(?m)^taxibj +2 x 32 x 32 +4 +4 +90,104 +0.09201$", done.stdout)
    # The model's file sets the epochs, the scale file the threads.
    assert re.search(r"(?m)^  .*taxibj.*: \{.*epochs: 20, threads: 8\}$", done.stdout)
    lines = CliRunner().invoke(app, ["list", "models", "persistence"]).stdout.splitlines()
    assert lines == [
        "Persistence (persistence): the last context frame, repeated",
        "fitted by: nothing to learn",
    ]
    done = CliRunner().invoke(app, ["list", "models", "convlsmt"])
    assert isinstance(done.exception, StpError) and "did you mean convlstm?" in str(done.exception)


def test_planning_needs_no_torch():
    """The Snakefile imports these; it is read by every job."""
    code = (
        "import sys, stp.run.workflow_files, stp.profiling.table; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
