"""Wrong calls end in one message that says what is wrong, what was expected, and what to do."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
import yaml

from stp.core.errors import StpError, nearest
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, merge
from stp.prepare.own.splits import check_splits
from stp.run import snakemake_cli
from stp.run.cluster import resume
from stp.run.readable_traceback import WHOLE, readable

TINY = yaml.safe_load((CONFIG_FOLDER.parent / "tests" / "workflow" / "tiny.yaml").read_text())
DEMO = str(CONFIG_FOLDER / "demo.yaml")
TABLE = "results/tables/short_term.csv"
KNOWN = [TABLE, "results/tables/long_term.csv", "results/demo/report/index.html"]
RULES = [SimpleNamespace(name="all", is_producer=KNOWN.__contains__)]


def call(*words):
    return lambda folder: snakemake_cli.check_configfiles([word.format(folder) for word in words])


def plan(**changes):
    return lambda _: Plan(config.load(merge(TINY, changes)))


def without(key):
    content = {name: value for name, value in TINY.items() if name != key}
    return lambda _: config.load(content)


def target(name):
    return lambda _: snakemake_cli.check_targets([name], RULES, KNOWN)


BAD = {
    "a forgotten --": (
        call("--profile", "local", "--configfile", DEMO, TABLE, "-n"),
        [f"{TABLE} follows --configfile", f"--configfile {DEMO} -n -- {TABLE}"],
    ),
    "a forgotten -- before a rule": (
        call("--configfile", DEMO, "all_tables"),
        [f"snakemake --configfile {DEMO} -- all_tables"],
    ),
    "a file that is not there": (
        call("--configfile", f"{CONFIG_FOLDER}/dmeo.yaml", "--", TABLE),
        [f"no configuration file {CONFIG_FOLDER}/dmeo.yaml", f"did you mean {DEMO}?"],
    ),
    "broken YAML": (
        call("--configfile", "{}/broken.yaml", "--", TABLE),
        ["broken.yaml, line 3"],
    ),
    "a device that does not exist": (
        plan(runtime={"device": "gpu"}),
        ["runtime.device is 'gpu'", "'auto', 'cpu' or 'cuda'"],
    ),
    "no thread": (plan(runtime={"score_threads": 0}), ["runtime.score_threads is 0", "1"]),
    "a key twice": (
        call("--configfile", "{}/twice.yaml"),
        ["twice.yaml, line 4", "'epochs'", "line 2"],
    ),
    "a key twice in a line": (
        call("--configfile", "{}/flow.json"),
        ["flow.json, line 1", "'a'"],
    ),
    "a tab": (call("--configfile", "{}/tab.yaml"), ["tab.yaml, line 2"]),
    "an unknown target": (
        target("shortterm.csv"),
        ["no rule that makes shortterm.csv", f"did you mean {TABLE}?"],
    ),
    "an unknown path": (target("results/tables/shortterm.csv"), [f"did you mean {TABLE}?"]),
    "a target like no other": (target("xyz"), ["snakemake --list"]),
    "a missing key": (without("dimensions"), ["dimensions is missing", "add `dimensions: ...`"]),
    "an option that a model does not have": (
        plan(models={"small_convnet": {"options": {"widht": 3}}}, dimensions={
            "short_term": {"models": ["small_convnet"]}
        }),
        ["small_convnet on moving_mnist", "unknown key 'widht'", "did you mean width?"],
    ),
    "an option of a model without any": (
        plan(models={"persistence": {"options": {"width": 3}}}),
        ["persistence on moving_mnist", "width", "has no options"],
    ),
    "a setting of the training by another name": (
        plan(train={"learning_rate": 0.1}),
        ["unknown key 'learning_rate'", "did you mean lr?"],
    ),
    "a negative split": (
        lambda _: check_splits({"by": "file", "train": 1.1, "val": -0.2, "test": 0.1}),
        ["splits.train is 1.1", "a fraction between 0 and 1"],
    ),
    "a GPU that is not there": (
        lambda _: snakemake_cli.check_device({"device": "cuda"}),
        ["torch finds no GPU", "set runtime.device to auto or cpu"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_call_gets_one_clear_message(name, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (tmp_path / "broken.yaml").write_text("scale: x\nmodels: [a\nseeds: 0\n")
    (tmp_path / "twice.yaml").write_text("train:\n  epochs: 1\n  lr: 0.1\n  epochs: 2\n")
    (tmp_path / "flow.json").write_text('{"a": 1, "a": 1}')
    (tmp_path / "tab.yaml").write_text("scale: x\n\tseeds: [0]\n")
    run, parts = BAD[name]
    with pytest.raises(StpError) as refused:
        run(tmp_path)
    assert all(part in str(refused.value) for part in parts), str(refused.value)
    assert len(str(refused.value)) < 600


def test_good_calls_pass():
    snakemake_cli.check_configfiles(["--profile", "local", "--configfile", DEMO, "--", TABLE])
    snakemake_cli.check_configfiles([TABLE, "-n"])
    snakemake_cli.check_targets([TABLE, "all", __file__], RULES, KNOWN)
    snakemake_cli.check_device({"device": "auto"})
    Plan(config.load(merge(TINY, {"models": {"convlstm": {"options": {"filter_size": 3}}}})))


def test_frames_of_our_code_are_left_out_of_an_error_of_the_plan():
    with pytest.raises(StpError, match="dimensions is missing") as refused:
        snakemake_cli.plainly(without("dimensions"), None)
    assert [frame.name for frame in refused.traceback] == [refused.traceback[0].name, "plainly"]
    assert snakemake_cli.plainly(int, "3") == 3


def test_a_plan_is_told_from_a_run():
    assert snakemake_cli.is_dry_run(["-np", TABLE]) and snakemake_cli.is_dry_run(["--dry-run"])
    assert not snakemake_cli.is_dry_run(["--profile", "local", TABLE])


def test_a_disk_that_refuses_is_an_error_for_people(tmp_path):
    def write():
        (tmp_path / "none" / "file").write_text("")

    with pytest.raises(StpError, match=f"No such file.*{tmp_path}/none/file"):
        snakemake_cli.plainly(write)


def test_initials_are_understood():
    assert nearest("learning_rate", ["lr", "loss", "epochs"]) == "did you mean lr?"
    assert nearest("zzz", ["lr"]) == "known: lr"


def test_a_second_snakemake_is_told_of_the_first(tmp_path, monkeypatch, capsys):
    (tmp_path / resume.LOCKS).mkdir(parents=True)
    (tmp_path / resume.LOCKS / "0.output.lock").write_text(TABLE)
    monkeypatch.setattr(resume.driver, "living", lambda folder: [4242])
    resume.tell_of_owner(tmp_path)
    assert f"running in {tmp_path}: process 4242; wait until" in capsys.readouterr().err


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
    text = readable(raised.value)
    files = [line.split('"')[1] for line in text.splitlines() if line.startswith('  File "')]
    assert files == [str(source), __file__]
    assert "expected input" in text and "4 frames" not in text and "left out" in text
    monkeypatch.setenv(WHOLE, "1")
    assert len(readable(raised.value)) > len(text) and "left out" not in readable(raised.value)


def test_a_traceback_of_our_own_code_is_whole():
    try:
        sys.intern(1)
    except TypeError as error:
        assert "test_bad_calls.py" in readable(error) and "left out" not in readable(error)


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
