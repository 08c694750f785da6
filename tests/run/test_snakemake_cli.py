"""What happens before a run begins: calls that are refused, and errors without frames.

Mistakes that one process can make are in tests/run/test_user_mistakes.py.
"""

import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
import yaml
from snakemake_interface_logger_plugins.common import LogEvent

from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, merge
from stp.run import snakemake_cli
from stp.run.cluster import resume
from stp.run.readable_traceback import WHOLE, format_traceback

TINY = yaml.safe_load((CONFIG_FOLDER.parent / "tests" / "workflow" / "tiny.yaml").read_text())
DEMO = str(CONFIG_FOLDER / "demo.yaml")
TABLE = "results/tables/short_term.csv"
KNOWN = [TABLE, "results/tables/long_term.csv", "results/demo/report/index.html"]
RULES = [SimpleNamespace(name="all", is_producer=KNOWN.__contains__)]


def test_good_calls_pass():
    snakemake_cli.check_configfiles(["--profile", "local", "--configfile", DEMO, "--", TABLE])
    snakemake_cli.check_configfiles([TABLE, "-n"])
    snakemake_cli.check_targets([TABLE, "all", __file__], RULES, KNOWN)
    snakemake_cli.check_device({"device": "auto"})
    Plan(config.load(merge(TINY, {"models": {"convlstm": {"options": {"filter_size": 3}}}})))


def test_an_error_of_the_snakefile_is_printed_without_frames(tmp_path, capsys):
    with snakemake_cli.exits_plainly():
        pass
    with pytest.raises(SystemExit, match="1"), snakemake_cli.exits_plainly():
        config.load({"scale": "x"})
    printed = capsys.readouterr().err
    assert printed.startswith("stp: error: ") and "Traceback" not in printed
    with pytest.raises(SystemExit, match="1"), snakemake_cli.exits_plainly():
        (tmp_path / "none" / "file").write_text("")
    assert f"{tmp_path}/none/file" in capsys.readouterr().err


def test_a_plan_is_told_from_a_run():
    assert snakemake_cli.is_dry_run(["-np", TABLE]) and snakemake_cli.is_dry_run(["--dry-run"])
    assert not snakemake_cli.is_dry_run(["--profile", "local", TABLE])


def test_the_table_of_jobs_is_printed_once():
    count = snakemake_cli._LastCount()
    records = [logging.makeLogRecord({"event": event}) for event in (None, LogEvent.RUN_INFO)]
    assert [count.filter(record) for record in 2 * records] == [True, False, True, True]


def test_a_second_snakemake_is_told_of_the_first(tmp_path, monkeypatch, capsys):
    (tmp_path / resume.LOCKS).mkdir(parents=True)
    (tmp_path / resume.LOCKS / "0.output.lock").write_text(TABLE)
    monkeypatch.setattr(resume.driver, "running_drivers", lambda folder: [4242])
    resume.tell_of_owner(tmp_path)
    said = capsys.readouterr().err
    assert str(tmp_path) in said and "4242" in said


def test_a_traceback_begins_with_the_code_of_the_model(tmp_path, monkeypatch):
    class Convolution(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.conv2d(x, torch.zeros(1, 2, 3, 3))

    monkeypatch.setattr("stp.run.readable_traceback.PACKAGE", tmp_path)
    (tmp_path / "models").mkdir()
    source = tmp_path / "models" / "mine.py"
    source.write_text("def forward(network, x):\n    return network(x)\n")
    scope = {}
    exec(compile(source.read_text(), str(source), "exec"), scope)
    with pytest.raises(RuntimeError) as raised:
        scope["forward"](Convolution(), torch.zeros(1, 1, 5, 5))
    text = format_traceback(raised.value)
    files = [line.split('"')[1] for line in text.splitlines() if line.startswith('  File "')]
    assert files == [str(source), __file__]
    assert "expected input" in text and "4 frames" not in text and "left out" in text
    monkeypatch.setenv(WHOLE, "1")
    assert len(format_traceback(raised.value)) > len(text) and "left out" not in format_traceback(
        raised.value
    )


def test_a_traceback_of_our_own_code_is_whole():
    try:
        sys.intern(1)
    except TypeError as error:
        assert "test_snakemake_cli.py" in format_traceback(
            error
        ) and "left out" not in format_traceback(error)


def test_verbs_read_the_scale_that_was_run_last(tmp_path):
    (tmp_path / "results" / "plan").mkdir(parents=True)
    (tmp_path / "results" / "plan" / "last-run").write_text("mine")
    (tmp_path / "results" / "results.duckdb").touch()
    script = (
        "from stp.verbs import lists, results as verbs; from inspect import signature\n"
        "default = lambda verb, name: signature(verb).parameters[name].default\n"
        "print(default(verbs.compare, 'results'), default(lists.metrics, 'study'))\n"
        "print(default(verbs.query, 'database'), default(lists.store, 'database'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [
        *("results/mine", "results/mine/plan/video_distortions.json"),
        *("results/results.duckdb", "results/mine/results.duckdb"),
    ]
