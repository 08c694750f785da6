"""One small file says what differs from site to site."""

import re
from pathlib import Path

import pytest
import yaml
import yte
from fake_slurm import answer

from stp.core.errors import StpError
from stp.run.cluster.site import Site

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "site.example.yaml"
PROFILE = ROOT / "profiles" / "slurm" / "config.yaml"


@pytest.fixture
def write(monkeypatch, tmp_path):
    """Write a site file and name it in STP_SITE."""

    def write(text: str) -> Path:
        path = tmp_path / f"site{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(text)
        monkeypatch.setenv("STP_SITE", str(path))
        return path

    return write


def profile() -> dict:
    with PROFILE.open() as file:
        return yte.process_yaml(file, require_use_yte=True)


def test_the_example_changes_nothing(write):
    write(EXAMPLE.read_text())
    assert Site.load() == Site()


def test_the_example_shows_every_key_with_its_default(write):
    shown = re.sub(r"(?m)^( *)# ([a-z_]+: )", r"\1\2", EXAMPLE.read_text())
    write(shown)
    assert Site.load() == Site()
    keys = yaml.safe_load(shown)
    assert set(keys) == set(Site.model_fields)
    assert set(keys["cpu"]) == set(Site().cpu.model_dump())
    assert set(keys["gpu"]) == set(Site().gpu.model_dump())


def test_the_profile_takes_over_what_the_site_says(write):
    write("accounting: off\njobs: 7\nretries: 4\nfirst_status_seconds: 5\n")
    keys = profile()
    assert keys["executor"] == "slurm"
    assert (keys["jobs"], keys["retries"]) == (7, 4)
    assert keys["slurm-status-command"] == "squeue"
    assert keys["slurm-init-seconds-before-status-checks"] == 5
    assert keys["group-components"]["small-kth"] == 10


def test_accounting_is_asked_for_unless_stated(write, monkeypatch, tmp_path):
    answer(
        monkeypatch, tmp_path / "bin",
        scontrol="AccountingStorageType = accounting_storage/slurmdbd",
    )  # fmt: skip
    write("jobs: 1\n")
    assert profile()["slurm-status-command"] == "sacct"
    write("accounting: off\n")
    assert profile()["slurm-status-command"] == "squeue"
    write("accounting: on\n")
    assert profile()["slurm-status-command"] == "sacct"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("partion: gpu\n", "unknown key partion"),
        ("gpu: {request: gpux}\n", r"gpu\.request is 'gpux'"),
        ("gpu: {type: 'a 100'}\n", r"gpu\.type is 'a 100'"),
        ("requeues: -1\n", "requeues is -1"),
        ("gpu: [\n", "not YAML"),
    ],
)
def test_mistakes_are_named_with_their_file(write, text, problem):
    path = write(text)
    with pytest.raises(StpError, match=problem) as error:
        Site.load()
    assert str(path) in str(error.value)


def test_a_missing_file_is_an_error_only_if_it_was_named(monkeypatch, tmp_path):
    monkeypatch.setenv("STP_SITE", str(tmp_path / "nowhere.yaml"))
    with pytest.raises(StpError, match=r"site\.example\.yaml"):
        Site.load()


def test_scratch_is_used_inside_slurm_jobs_only(write):
    write("scratch: /scratch/$SLURM_JOB_ID\n")
    setup = Site.load().job_setup()
    assert 'export TMPDIR="/scratch/$SLURM_JOB_ID"' in setup
    assert setup.startswith('if [ -n "${SLURM_JOB_ID:-}" ]')
    assert Site().job_setup() == ""
